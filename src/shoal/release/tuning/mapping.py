"""Finished releases, and methods that were tried on a table, as a comparison that has a map of risk and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.plan import Plan
from shoal.release.assessments.tables import Roles
from shoal.release.finished import Compared, Published, compare_finished, listed, published_of, source_of
from shoal.release.front import Comparison
from shoal.release.run import table_of
from shoal.release.tuning.measuring import Measuring, known_of_compared
from shoal.release.tuning.search import named
from shoal.release.tuning.yardsticks import Yardstick

if TYPE_CHECKING:
    from shoal.io import Source
    from shoal.release.comparison import Trial
    from shoal.release.suppression import Formed


def compare_releases(
    original: Any,
    releases: Sequence[Any],
    quasi_identifiers: Sequence[str] | None = None,
    k: int | None = None,
    *,
    key: str | None = None,
    risk: str = "linkage",
    utility: str = "loss",
    **fields: Any,
) -> Comparison[Compared]:
    """Compare finished releases of one table: the k that holds, and what was lost by attribute.

    Parameters
    ----------
    original : path, Source or data frame
        The table that the releases were made from.
    releases : paths, Sources, data frames or Releases
        Certificates are read if they stand beside files, as OUT.manifest.json.
    quasi_identifiers : names or None
        None: those of the certificates, or else all columns that the original and all releases have.
    k : int or None
        The k that was wanted, for the average group size; None: that of the certificate, or the one that holds.
    key : name or None
        A column of the original and of all releases with a different value in each row, by which rows are matched.
        None: rows are matched by their order.
    risk, utility : str
        The figures of the map, both of which are better when lower; they are measured when it is asked for.
    **fields
        Roles and types of columns, as in :class:`shoal.Plan`: those that the releases were made with.

    Returns
    -------
    Comparison
        A sequence of Compared in the order of `releases`, with the ``front`` of those that no other beats in risk and
        loss, and ``map(path)``, a page that shows it.

    Raises
    ------
    DataError, OptionError
        If rows cannot be matched: their numbers differ or they were shuffled, and there is no key.

    Examples
    --------
    >>> import pyarrow as pa, shoal
    >>> people = pa.table({"age": [20, 22, 40, 44], "sex": ["f", "f", "m", "m"]})
    >>> coarse = pa.table({"age": ["20-22", "20-22", "40-44", "40-44"], "sex": ["f", "f", "m", "m"]})
    >>> (found,) = shoal.compare_releases(people, [coarse])
    >>> found.k, round(found.loss, 4), found.by_attribute["sex"]
    (2, 0.0111, 0.0)
    """
    source = source_of(original, "the original")
    named: dict[str, Any] = {} if quasi_identifiers is None else {"quasi_identifiers": list(quasi_identifiers)}
    published = [published_of(one, at) for at, one in enumerate(listed(releases), 1)]
    if k is not None:
        named["k"] = k
    plan = Plan.of(**named, **fields)
    found = compare_finished(source, published, plan, key=key, k=k)
    return comparison_of_releases(source, published, found, plan, key=key, risk=risk, utility=utility)


def comparison_of_releases(
    original: Source,
    releases: Sequence[Published],
    found: Sequence[Compared],
    plan: Plan,
    *,
    key: str | None = None,
    risk: str = "linkage",
    utility: str = "loss",
) -> Comparison[Compared]:
    """Return finished releases that were compared, with their map.

    Parameters
    ----------
    original : Source
    releases : Published
    found : Compared
        One for each release.
    plan : Plan
        The roles and types that were given.
    key : name or None
    risk, utility : str
    """
    given = tuple(plan.quasi_identifiers or ())
    sensitive = tuple(name for name in plan.sensitive_attributes if name not in given)

    def figures(at: int, wanted: Sequence[Yardstick]) -> Mapping[str, float | None]:
        release, compared = releases[at], found[at]
        if not compared.certified:
            release = release._replace(certificate=None)  # there is none, or it belongs to another file
        names = given or _common(original, release, sensitive, key, plan)
        types = {name: kind for name, kind in plan.types.items() if name in names}
        roles = Roles(names, sensitive, plan.weight, types)
        return Measuring(original, release, roles, known_of_compared(compared), key).figures(wanted)

    files = [Path(one.name).name for one in found]
    if len(set(files)) < len(files):
        files = [one.name for one in found]
    names = [f"{name}, k = {one.k}" for name, one in zip(files, found, strict=True)]
    return Comparison(found, names, figures, risk=risk, utility=utility)


def _common(
    original: Source, release: Published, sensitive: Sequence[str], key: str | None, plan: Plan
) -> tuple[str, ...]:
    """Return the quasi-identifiers of a release without a certificate: the columns that both tables have."""
    if release.certificate is not None:
        return ()
    others = {key, plan.weight, plan.unit, *sensitive, *plan.other, *plan.identifiers}
    theirs = release.source.table.column_names
    return tuple(name for name in original.table.column_names if name in theirs and name not in others)


def figures_of_groups(groups: Formed, original: Source, wanted: Sequence[Yardstick]) -> dict[str, float | None]:
    """Return figures of groups that were formed, from what they would publish; those of a trial are known already.

    Parameters
    ----------
    groups : Formed
    original : Source
    wanted : sequence of Yardstick
    """
    prepared = groups.prepared
    plan = prepared.plan
    names = tuple(name for one in prepared.attributes for name in one.columns) + tuple(prepared.strata)
    types = {name: kind for name, kind in plan.types.items() if name in names}
    sensitive = tuple(name for name in plan.sensitive_attributes if name not in names)
    table: Any = table_of(prepared, groups.blocks, None)[0]
    source = replace(source_of(table, "the release"), text=prepared.text, dialect=original.dialect)
    roles = Roles(names, sensitive, plan.weight, types)
    return Measuring(original, Published(source, None, prepared.keep), roles, {}).figures(wanted)


def comparison_of_trials(trials: Sequence[Trial], risk: str, utility: str) -> Comparison[Trial]:
    """Return methods that were tried, with their map; their figures were measured when they were tried."""
    tried = [trial for trial in trials if not trial.error]

    def figures(at: int, wanted: Sequence[Yardstick]) -> Mapping[str, float | None]:
        one = tried[at]
        known: dict[str, float | None] = {
            "k": one.smallest,
            "risk": None if not one.smallest else 1 / one.smallest,
            "average_risk": None if not one.mean else 1 / one.mean,
            "loss": one.loss,
            "ncp": one.certainty_penalty,
            "total_il": one.total_information_loss,
            "c_dm": one.discernability,
            "c_avg": one.average_group_size,
        }
        return known | dict(one.figures or {})

    names = [f"k = {one.k}, {named(one.method, one.form)}" for one in tried]
    return Comparison(tried, names, figures, risk=risk, utility=utility)
