"""The registry of measures of risk: what each answers, how it is computed, who described it, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.entry import Entry


@dataclass(frozen=True)
class Measure(Entry):
    """A measure of risk: of "keys", "links" or "attributes"."""

    package: ClassVar[str] = "risk"


NONE = "none: figures of single records help an intruder"
SHARE = "shares over all records of a release, rounded; nothing of single records or of the original"

_MEASURES = (
    Measure(
        name="key_counts",
        kind="keys",
        question="How many records share the key of each record, in the table and in the population?",
        figure="sample, population",
        formula="f: the number of records with the same key; F: the sum of their weights",
        baseline="the required k",
        paper="Willenborg, L., de Waal, T. (2001): Elements of statistical disclosure control. Springer",
        cost="n log n for each attribute",
        shareable=NONE,
    ),
    Measure(
        name="individual_risk",
        kind="keys",
        question="How likely is it that a link of this record, or of its household, to a person is right?",
        figure="record, household; reidentifications",
        formula="p / f * 2F1(1, 1; f + 1; 1 - p) with p = f / F; household: 1 - product of (1 - risk)",
        baseline="1 / f, the risk if the table were the population",
        paper="Franconi, L., Polettini, S. (2004): Individual risk estimation in mu-Argus: a review. PSD, LNCS 3050",
        cost="as key_counts, and once for each different key",
        shareable="reidentifications of the release",
    ),
    Measure(
        name="reidentification",
        kind="keys",
        question="Whom does an intruder find who knows that somebody is there, who does not, who wants them all?",
        figure="prosecutor, journalist, marketer",
        formula="highest, mean and share above a threshold of 1 / f (prosecutor) and of 1 / F (journalist)",
        baseline="1 / k",
        paper="El Emam, K., Dankar, F. K. (2008): Protecting privacy using k-anonymity. JAMIA 15(5)",
        cost="as key_counts",
        shareable="all of the release",
    ),
    Measure(
        name="suda",
        kind="keys",
        question="Which records do few attributes single out, and which attributes do it?",
        figure="scores, dis_scores, attributes",
        formula="sum of (d - s)! over the minimal sample uniques of s attributes",
        baseline="0, where no set of attributes is unique",
        paper="Manning, A. M., Haglin, D. J., Keane, J. A. (2008): A recursive search algorithm for statistical "
        "disclosure assessment. Data Mining and Knowledge Discovery 16",
        cost="2^d sets of attributes, each of the records that are unique in none of its parts",
        shareable="the contributions of attributes",
    ),
    Measure(
        name="population_uniques",
        kind="keys",
        question="How many people in the population have a key that nobody else has?",
        figure="pitman, zayatz, snb",
        formula="Pitman: Gamma(theta + 1) / Gamma(theta + alpha) N^alpha; Zayatz: Bayes' rule; SNB: K beta^alpha",
        baseline="the number of sample uniques",
        paper="Hoshino, N. (2001): Applying Pitman's sampling formula to microdata disclosure risk assessment. JOS 17; "
        "Zayatz, L. (1991): Estimation of the number of unique population elements using a sample; Chen, G., "
        "Keller-McNulty, S. (1998): Estimation of identification disclosure risk in microdata. JOS 14",
        cost="as key_counts, and a fit of two parameters for each model",
        shareable="all of the release",
    ),
    Measure(
        name="linkage",
        kind="links",
        question="How many records does an intruder link to the right row who knows all these columns?",
        figure="correct, nearest",
        formula="mean of [no row nearer] / (rows at the same distance)",
        baseline="baseline: the mean of 1 / size; untouched: the original released as it is",
        paper="Domingo-Ferrer, J., Torra, V. (2001): A quantitative comparison of disclosure control methods for "
        "microdata; Domingo-Ferrer, J. et al. (2006), section 3. VLDB Journal 15",
        cost="n searches among g groups, each bounded by the distance to the own one; exact, on all cores",
        shareable=SHARE,
    ),
    Measure(
        name="partial_linkage",
        kind="links",
        question="And one who knows a few of them, exactly or roughly?",
        figure="mean, highest, worst",
        formula="that of linkage, for subsets of the columns",
        baseline="baseline and untouched, subset by subset",
        paper="Domingo-Ferrer, J., Torra, V. (2001), as above",
        cost="as linkage, for each subset",
        shareable=SHARE,
    ),
    Measure(
        name="probabilistic_linkage",
        kind="links",
        question="And one who learns from the tables themselves what agreement in each column is worth?",
        figure="correct, nearest",
        formula="weights log2(m / u) or log2((1 - m) / (1 - u)), m and u by expectation-maximisation",
        baseline="baseline: the mean of 1 / size; untouched: the original released as it is",
        paper="Fellegi, I. P., Sunter, A. B. (1969): A theory for record linkage. JASA 64",
        cost="2^d sets of attributes, each n log n; no pairs",
        shareable=SHARE,
    ),
    Measure(
        name="linkability",
        kind="links",
        question="Does the release join two files about the same people that have no column in common?",
        figure="correct, interval",
        formula="mean of [own record nearest to what the row nearest in the first half publishes of the second] / ties",
        baseline="baseline: 1 / n; groups: the mean of 1 / size; untouched: the original released as it is",
        paper="D'Orazio, M., Di Zio, M., Scanu, M. (2006): Statistical matching. Wiley",
        cost="two searches for each record; a sample is enough",
        shareable=SHARE,
    ),
    Measure(
        name="deviation_disclosure",
        kind="links",
        question="How many original numbers lie within some standard deviations of the published ones?",
        figure="records, values",
        formula="share of |x - y| <= width * sd(y)",
        baseline="baseline: published rows dealt out at random",
        paper="Mateo-Sanz, J. M., Sebé, F., Domingo-Ferrer, J. (2004): Outlier protection in continuous microdata "
        "masking. PSD, LNCS 3050",
        cost="n log n for each column",
        shareable=SHARE,
    ),
    Measure(
        name="rank_disclosure",
        kind="links",
        question="How many original numbers have nearly the rank of the published ones?",
        figure="records, values",
        formula="share of |rank(x) - rank(y)| <= width * n, mid-ranks among the published values",
        baseline="baseline: published rows dealt out at random",
        paper="Domingo-Ferrer, J., Torra, V. (2001): Disclosure control methods and information loss for microdata",
        cost="n log n for each column",
        shareable=SHARE,
    ),
    Measure(
        name="robust_disclosure",
        kind="links",
        question="Are outliers, which are easier to find, still close to their published values?",
        figure="records, isolated",
        formula="share of records with any |x - y| < 0.05 width * robust Mahalanobis distance",
        baseline="0",
        paper="Templ, M., Meindl, B. (2008): Robust statistics meets SDC. PSD, LNCS 5262",
        cost="n d^2, and a robust covariance of at most 5000 records",
        shareable=SHARE,
    ),
    Measure(
        name="attribute_gain",
        kind="attributes",
        question="How much better does an intruder guess a sensitive value who knows the group?",
        figure="guessed, gain, certain",
        formula="share of records with the most frequent value of their group",
        baseline="baseline: the most frequent value of the table; shuffled: values dealt out at random",
        paper="Machanavajjhala, A. et al. (2007): l-diversity: privacy beyond k-anonymity. TKDD 1(1)",
        cost="n log n for each attribute, 20 times",
        shareable="all but the chances of single records",
    ),
    Measure(
        name="model_gain",
        kind="attributes",
        question="How much better does a model that learnt from the release guess a sensitive value of those in it?",
        figure="guessed, without, gain, interval",
        formula="share of right guesses, less that of models trained without the group of the record",
        baseline="without; baseline: the most frequent value; untouched: models trained on the original",
        paper="Yeom, S. et al. (2018): Privacy risk in machine learning: analyzing the connection to overfitting. CSF",
        cost="twice as many fits of a scikit-learn model as folds, for each attribute; at most 100,000 records",
        shareable=SHARE,
    ),
    Measure(
        name="inference",
        kind="attributes",
        question="How well does somebody who knows some attributes of a person guess another one?",
        figure="guessed, gain, interval",
        formula="share of records with the most frequent value of the published rows nearest in what is known",
        baseline="baseline: the most frequent value of the table; untouched: the original released as it is",
        paper="Machanavajjhala, A. et al. (2007), as above",
        cost="a search among g groups for each record and attribute; a sample is enough",
        shareable=SHARE,
    ),
    Measure(
        name="singling_out",
        kind="attributes",
        question="Can words be found in the release that are true of exactly one person of the original?",
        figure="univariate, multivariate",
        formula="share of predicates of weight expected / n, around published rows, with exactly one match",
        baseline="baseline: n w (1 - w)^(n - 1), blind predicates of the same weight; untouched",
        paper="Cohen, A., Nissim, K. (2020): Towards formalizing the GDPR's notion of singling out. PNAS 117(15)",
        cost="n log n for each column, and a count of matches for each of some thousand predicates",
        shareable=SHARE,
    ),
    Measure(
        name="membership",
        kind="attributes",
        question="Does the release tell who is in it?",
        figure="advantage, interval, area",
        formula="share of members within a distance of the nearest group, less that of others; this is one attack",
        baseline="0, and 0.5 for the area: a guess",
        paper="Yeom, S. et al. (2018), as above",
        cost="a search among g groups for each record; needs people set aside before the release was made",
        shareable=SHARE,
    ),
)


def measures() -> tuple[Measure, ...]:
    """Return all measures of risk, as the registry describes them.

    Examples
    --------
    >>> import shoal
    >>> [measure.name for measure in shoal.risk.measures() if measure.kind == "attributes"]
    ['attribute_gain', 'model_gain', 'inference', 'singling_out', 'membership']
    """
    return _MEASURES
