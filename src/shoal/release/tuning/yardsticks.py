"""The registry of figures by which releases are wanted, tuned and drawn: what each is, and what is known of it.

Most are figures of `shoal.assess` and of the audit. What is *expected* when k grows is no theorem: a search may rely on
it only if it looks whether it holds. What is *proven* needs no looking.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shoal.errors import OptionError, near_names


@dataclass(frozen=True)
class Yardstick:
    """A figure of a release that has a name.

    Attributes
    ----------
    name : str
    words : str
        What it is, in plain words.
    better : "lower" or "higher"
    source : "release", "model", "risk" or "utility"
        Where it comes from: the release itself, a privacy model of sensitive attributes, or a question of `assess`.
    by_k : "falls", "rises" or ""
        What is expected of it when k grows; "" if nothing is.
    proof : "1/k", "k", "0" or ""
        What is proven of every release with groups of at least k records: it is at most 1 / k, at least k, or 0.
    question, figure : str
        Of an assessment; a question that ends in ":" is asked of each sensitive attribute, and the worst one counts.
    model : str
        The privacy model.
    share : bool
        Whether it is a share of 1, and shown in per cent.
    """

    name: str
    words: str
    better: Literal["lower", "higher"]
    source: Literal["release", "model", "risk", "utility"]
    by_k: Literal["falls", "rises", ""] = ""
    proof: Literal["1/k", "k", "0", ""] = ""
    question: str = ""
    figure: str = ""
    model: str = ""
    share: bool = True

    @property
    def sign(self) -> str:
        """Return how it is compared: ``<=`` if lower is better."""
        return "<=" if self.better == "lower" else ">="

    def shown(self, value: float | None) -> str:
        """Return a value as it is shown: shares in per cent, others with three digits; "-" if it is not defined."""
        if value is None:
            return "-"
        if self.share:
            return f"{100 * value:.3g} %" if abs(value) < 0.9995 else f"{100 * value:.4g} %"
        return f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.3g}"


def _counted(name: str, words: str, better: str, **more: object) -> Yardstick:
    return Yardstick(name, words, better, "release", **more)  # type: ignore[arg-type]


def _model(name: str, words: str, better: str, model: str) -> Yardstick:
    return Yardstick(name, words, better, "model", "rises" if better == "higher" else "falls", model=model, share=False)  # type: ignore[arg-type]


def _risk(name: str, words: str, asked: str, proof: str = "") -> Yardstick:
    question, figure = asked.rsplit(".", 1)
    return Yardstick(name, words, "lower", "risk", "falls", proof, question, figure)  # type: ignore[arg-type]


def _use(name: str, words: str, better: str, asked: str, by_k: str, share: bool = True) -> Yardstick:
    question, figure = asked.rsplit(".", 1)
    return Yardstick(name, words, better, "utility", by_k, "", question, figure, share=share)  # type: ignore[arg-type]


YARDSTICKS: dict[str, Yardstick] = {
    one.name: one
    for one in (
        _counted(
            "k", "records, or units, that publish alike, at least", "higher", by_k="rises", proof="k", share=False
        ),
        _counted("k_all", "the same for all published columns together", "higher", by_k="rises", share=False),
        _counted("unique", "records that are unique in all published columns", "lower", by_k="falls"),
        _counted("risk", "highest chance that a record is found by its key", "lower", by_k="falls", proof="1/k"),
        _counted(
            "average_risk", "average chance that a record is found by its key", "lower", by_k="falls", proof="1/k"
        ),
        _counted("loss", "variation that is lost (SSE / SST)", "lower", by_k="rises"),
        _counted("ncp", "width of groups (NCP)", "lower", by_k="rises"),
        _counted("total_il", "width of groups in levels (Total-IL)", "lower", by_k="rises"),
        _counted("c_dm", "sum of squared group sizes (C_DM)", "lower", by_k="rises", share=False),
        _counted("c_avg", "average group size over k (C_AVG)", "lower", share=False),
        _counted("left_out", "records that are left out", "lower"),
        _model("l", "different sensitive values in every group, at least", "higher", "distinct-diversity"),
        _model("entropy_l", "the same, by the entropy of the values", "higher", "entropy-diversity"),
        _model("t", "distance of a group's sensitive values from the table's", "lower", "t-closeness"),
        _model("alpha", "share of the most frequent sensitive value in a group", "lower", "alpha"),
        _model("beta", "growth of a value's share within a group", "lower", "beta-likeness"),
        _model("delta", "change of a value's share within a group, as a log", "lower", "delta-disclosure"),
        _risk("linkage", "records linked correctly by all quasi-identifiers", "linkage.correct", "1/k"),
        _risk("nearest", "records whose own group is the nearest one", "linkage.nearest"),
        _risk("partial_linkage", "records linked correctly by two of them, on average", "partial_linkage.mean", "1/k"),
        _risk("worst_pair", "the same, by the two that link most", "partial_linkage.highest", "1/k"),
        _risk("close_values", "numbers within 5 % of a standard deviation", "intervals.deviation"),
        _risk("close_ranks", "numbers within 5 % of all ranks", "intervals.rank"),
        _risk("special_uniques", "records that any set of columns singles out", "special_uniques.share", "0"),
        _risk("guessed", "right guesses of a sensitive value by the group", "learnt:.guessed"),
        _risk("certain", "records in groups with a single sensitive value", "learnt:.certain"),
        _use(
            "distance",
            "mean distance of numbers from the originals (IL1s)",
            "lower",
            "distance.average",
            "rises",
            False,
        ),
        _use("variance_kept", "variance that is left", "higher", "moments.variance_kept", "falls"),
        _use("tails_kept", "tails that are left", "higher", "quantiles.tails_kept", "falls"),
        _use(
            "quantile_shift", "shift of quantiles, in standard deviations", "lower", "quantiles.shift", "rises", False
        ),
        _use("associations", "change of relations between columns", "lower", "associations.change", "rises", False),
        _use("tables", "records that move in tables of two columns", "lower", "tables.two", "rises"),
        _use("c_statistic", "how well a model tells published rows", "lower", "propensity.c_statistic", "rises", False),
        _use("overlap", "overlap of confidence intervals of regressions", "higher", "regressions.overlap", "falls"),
        _use("queries", "error of counts in random ranges", "lower", "queries.mean", "rises"),
    )
}


def find(name: object) -> Yardstick:
    """Return a figure by its name, or refuse the name and say which one was probably meant."""
    given = str(name).strip().lower().replace("-", "_")
    if given not in YARDSTICKS:
        listed = f"the figures are {', '.join(YARDSTICKS)}."
        hint = near_names(given, YARDSTICKS, listed)
        raise OptionError(f"A figure must be one that Shoal knows. Got {str(name).strip()!r}.", hint)
    return YARDSTICKS[given]


def minimised(name: object) -> Yardstick:
    """Return a figure that can be minimised."""
    found = find(name)
    if found.source == "model":
        raise OptionError(
            f"A figure to minimise must be one of a whole release. Got {found.name!r}, which is demanded of groups.",
            f"want it instead, such as '{found.name} {found.sign} {3 if found.better == 'higher' else 0.2}'.",
        )
    if found.better == "higher":
        lower = [one.name for one in YARDSTICKS.values() if one.better == "lower" and one.source != "model"]
        raise OptionError(
            f"A figure to minimise must be better when it is lower. Got {found.name!r}, which is better when higher.",
            f"want it instead, or minimise one of {', '.join(lower)}.",
        )
    return found
