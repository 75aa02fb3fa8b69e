"""The registry of measures of utility: what each answers, how it is computed, who described it, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.entry import Entry


@dataclass(frozen=True)
class Measure(Entry):
    """A measure of what an analyst can still do with a release: of "numbers", "relations" or "work"."""

    package: ClassVar[str] = "measure"


ROUNDED = "rounded, as averages over all attributes and records"
KARR = (
    "Karr, A. F. et al. (2006): A framework for evaluating the utility of data altered to protect confidentiality. The "
    "American Statistician 60(3)"
)

_MEASURES = (
    Measure(
        name="distance_loss",
        kind="numbers",
        question="How far are published numbers from the original ones?",
        figure="average, total",
        formula="|x - y| / (sqrt(2) s), s the standard deviation of the original column (IL1s)",
        baseline="0 if nothing is lost; 0.8 for numbers of a bell curve that are dealt out at random",
        paper="Yancey, W. E., Winkler, W. E., Creecy, R. H. (2002): Disclosure risk assessment in perturbative "
        "microdata protection. LNCS 2316",
        cost="n d",
        shareable=ROUNDED,
    ),
    Measure(
        name="moments",
        kind="numbers",
        question="What is left of means, variances and covariances?",
        figure="mean_shift, variance_kept, covariance_change, eigenvalue_loss",
        formula="|mean(y) - mean(x)| / s; var(y) / var(x); sum of |a - b| / a over eigenvalues of correlations",
        baseline="mean_shift 0, variance_kept 1, eigenvalue_loss 0 if nothing is lost",
        paper="Templ, M., Meindl, B. (2008): Robustification of microdata masking methods and the comparison with "
        "existing methods. PSD, LNCS 5262",
        cost="n d^2",
        shareable=ROUNDED,
    ),
    Measure(
        name="quantiles",
        kind="numbers",
        question="Where do quantiles move, and is anything left of the tails?",
        figure="shift, tails_kept",
        formula="|Q(y) - Q(x)| / s; share of y beyond the outermost quantiles of x over that of x",
        baseline="shift 0, tails_kept 1 if nothing is lost",
        paper="Domingo-Ferrer, J., Torra, V. (2001): Disclosure control methods and information loss for microdata",
        cost="n log n for each column",
        shareable="tails_kept, rounded",
    ),
    Measure(
        name="associations",
        kind="relations",
        question="Are columns still related as they were?",
        figure="change, highest",
        formula="Pearson's or Spearman's correlation; Cramer's V of categories; correlation ratio of both",
        baseline="change 0 if nothing is lost",
        paper="Cramer, H. (1946): Mathematical methods of statistics. Princeton University Press",
        cost="n d^2",
        shareable=ROUNDED,
    ),
    Measure(
        name="cross_tabulations",
        kind="relations",
        question="Would the tables of counts that an office prints be the same?",
        figure="means, highest",
        formula="1/2 sum of |p - q| over the cells of all tables of one, two and some of three columns",
        baseline="0 if nothing is lost, 1 if no record is in its cell's place",
        paper=KARR,
        cost="n for each table: d + d (d - 1) / 2 + triples of them",
        shareable=ROUNDED,
    ),
    Measure(
        name="propensity",
        kind="relations",
        question="Can a model tell published rows from original ones?",
        figure="pmse, c_statistic",
        formula="mean of (score - 1/2)^2, scores by a logistic model with squares and products of columns",
        baseline="0 and 0.5 if it cannot; expected: two samples of one population; 0.25 and 1 if it always can",
        paper="Woo, M.-J. et al. (2009): Global measures of data utility for microdata masked for disclosure "
        "limitation. JPC 1(1); Snoke, J. et al. (2018): General and specific utility measures for "
        "synthetic data. JRSS A 181(3)",
        cost="n p^2 for each step of Newton's method, p of at most 250 terms; a sample is enough",
        shareable=ROUNDED,
    ),
    Measure(
        name="regression",
        kind="work",
        question="Does a regression on the release say the same as one on the original?",
        figure="overlap, same_sign, determination",
        formula="least squares; mean of the shares of both confidence intervals that lie in the other",
        baseline="overlap 1 if nothing is lost, 0 if the intervals are apart",
        paper=KARR,
        cost="n p^2 for p terms",
        shareable="overlap, rounded",
    ),
    Measure(
        name="prediction",
        kind="work",
        question="Does a model that learnt from the release predict new records as well?",
        figure="after, before",
        formula="share of right predictions, or R squared, on records that were set aside before the release was made",
        baseline="before: the model that learnt from the original; baseline: the most frequent value, or the mean",
        paper="Hundepool, A. et al. (2012): Statistical disclosure control, section 3. Wiley",
        cost="two fits of a scikit-learn model",
        shareable="all, rounded",
    ),
    Measure(
        name="range_queries",
        kind="work",
        question="How wrong are counts of records in a range?",
        figure="mean, median, high",
        formula="|count(y) - count(x)| / max(count(x), floor) for random ranges of up to three columns",
        baseline="0 if nothing is lost",
        paper="Xiao, X., Tao, Y. (2006): Anatomy: simple and effective privacy preservation. VLDB",
        cost="n for each query",
        shareable=ROUNDED,
    ),
    Measure(
        name="subgroups",
        kind="work",
        question="Who pays for the anonymity?",
        figure="losses, whole",
        formula="that of distance_loss, over the records of each subgroup",
        baseline="whole: the loss of all records",
        paper="Yancey, W. E., Winkler, W. E., Creecy, R. H. (2002), as above",
        cost="n d",
        shareable="rounded, for subgroups of many records",
    ),
)


def measures() -> tuple[Measure, ...]:
    """Return all measures of utility, as the registry describes them.

    Examples
    --------
    >>> import shoal
    >>> [measure.name for measure in shoal.measure.measures() if measure.kind == "numbers"]
    ['distance_loss', 'moments', 'quantiles']
    """
    return _MEASURES
