"""The scikit-learn estimator: standardise, partition, publish group means.

To add a parameter, store it untouched in ``__init__`` and check it in ``fit``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from shoal.arrays import Array
from shoal.errors import DataError, OptionError, ShoalError
from shoal.measure.bounds import gap
from shoal.measure.certificates import certificate
from shoal.measure.loss import information_loss
from shoal.partitioning import door
from shoal.partitioning.run import extent_for, generator_for, resolve, run
from shoal.progress import Progress, drawn


class _DataTypeError(DataError, TypeError):
    """Data of a wrong type, for which scikit-learn expects a TypeError."""


class Microaggregator(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Replace each record by the mean of a group of at least k similar records.

    Parameters
    ----------
    k : int, default 5
        Least number of records in a group.
    method : str, default "auto"
        A name from :func:`shoal.methods`, or ``"auto"``: the lowest loss that is expected within `time_limit`.
    standardize : bool, default True
        Whether to scale columns to mean 0 and variance 1 before records are compared. The means of groups stay in the
        units of the data.
    options : dict or None, default None
        Options of the method, such as ``{"gamma": "best"}``.
    refine : str or None, default None
        A name from :func:`shoal.refinements`, to improve the result of the method.
    time_limit : float or None, default None
        About how many seconds ``"auto"``, ``"anytime"`` or ``"exact"`` may take; see :func:`shoal.partition`.
    random_state : int, numpy.random.Generator or None
        Seed of methods that draw at random. For ``"auto"``, None is 0.
    n_jobs : int or None
        Threads (None: one; -1: all cores). The result does not depend on it, unless the clock ends a search.
    progress : callable, True or None
        A callable is called now and then with the fraction done, from 0 to 1. True draws a bar in a notebook or on a
        terminal.
    bound : "quick", "lp", "regions" or None, default "quick"
        How much effort to put into a lower bound on the loss; see :func:`shoal.lower_bound`. ``"lp"`` takes at most
        `time_limit` seconds (None: 60) and gives far better bounds, of large tables region by region (``"regions"``).

    Attributes
    ----------
    labels_ : int64[n]
        Group of each record.
    cluster_centers_ : float64[g, d]
        Mean of each group, in the units of the data.
    information_loss_ : float
        SSE / SST on the coordinates that were compared (standardised by default).
    lower_bound_ : float
        No partition into groups of at least k records has a smaller information loss. 0 if nothing is known, as for
        tables so large that even the quick bound would take long. Absent if `bound` is None.
    gap_ : float
        ``information_loss_ / lower_bound_ - 1``: the loss is at most ``100 * gap_`` % above the optimum. 0 if it is
        proven to be the optimum, infinity if nothing is known. Absent if `bound` is None.
    method_ : str
        The method that was run (what ``"auto"`` chose).
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the data have column names.

    Notes
    -----
    There is no ``transform`` and no ``predict``: a record that was not in the table cannot be hidden by it.
    In a pipeline the estimator is therefore the last step.

    Examples
    --------
    >>> import numpy as np
    >>> import shoal
    >>> X = np.array([[1.0, 10.0], [2.0, 11.0], [8.0, 30.0], [9.0, 31.0]])
    >>> shoal.Microaggregator(k=2).fit_transform(X).tolist()
    [[1.5, 10.5], [1.5, 10.5], [8.5, 30.5], [8.5, 30.5]]
    """

    def __init__(
        self,
        k: int = 5,
        method: str = "auto",
        *,
        standardize: bool = True,
        options: dict[str, Any] | None = None,
        refine: str | None = None,
        time_limit: float | None = None,
        random_state: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
        progress: Progress | bool | None = None,
        bound: str | None = "quick",
    ) -> None:
        self.k = k
        self.method = method
        self.standardize = standardize
        self.options = options
        self.refine = refine
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.bound = bound

    def fit(self, X: Any, y: Any = None) -> Microaggregator:
        """Partition the records of X.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : ignored
        """
        self._fit(X)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> Array:
        """Partition the records of X and return the group of each: int64[n].

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : ignored
        """
        self._fit(X)
        return self.labels_

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Partition the records of X and return them, each replaced by the mean of its group.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : ignored

        Returns
        -------
        ndarray of shape (n, d)
            In the units of X and in its precision if X is float32, else in float64; a pandas or polars
            frame after ``set_output``.
        """
        dtype = self._fit(X).dtype
        published: Array = self.cluster_centers_[self.labels_]
        return published.astype(dtype, copy=False)

    def _fit(self, X: Any) -> Array:
        """Fit, and return X as an array of its own precision."""
        caller = type(self).__name__
        door.look(X, caller)
        given = self._validated(np.asarray(X) if isinstance(X, np.matrix) else X)
        k = door.group_size(self.k, len(given), caller)
        n_jobs = door.threads(self.n_jobs, caller)
        rng = generator_for(self.method, self.random_state, caller)
        if not isinstance(self.standardize, bool | np.bool_):
            raise OptionError(f"The 'standardize' option of {caller} must be True or False. Got {self.standardize!r}.")
        if self.options is not None and not isinstance(self.options, dict):
            raise OptionError(
                f"The 'options' option of {caller} must be None or a dict of names and values. "
                f"Got {type(self.options).__name__}."
            )
        if self.bound not in (None, "quick", "lp", "regions"):
            raise OptionError(
                f"The 'bound' option of {caller} must be None, 'quick', 'lp' or 'regions'. Got {self.bound!r}."
            )
        data = door.own(given)
        compared = standardized(data) if self.standardize else data
        door.check_magnitude(compared, f"The 'X' of {caller}")
        shape = (compared.shape[0], compared.shape[1])
        extent = extent_for(self.method, compared)
        procedure = resolve(self.method, self.options or {}, self.refine, self.time_limit, shape, k, extent)
        with drawn(self.progress, caller) as progress:
            self.labels_ = run(compared, k, procedure, rng, n_jobs, progress)
        self.method_ = procedure.method.name
        self.cluster_centers_ = _exact_means(data, self.labels_)
        self.information_loss_ = information_loss(compared, self.labels_)
        self._bound(compared, k, optimal=procedure.method.optimal)
        return np.asarray(given)

    def _validated(self, X: Any) -> Array:
        """Return X as an array of floats, and set what scikit-learn keeps of it."""
        try:
            given: Array = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        except ShoalError:
            raise
        except Exception as error:  # scikit-learn's own and those of data frames, whose messages may quote the data
            refusal = _DataTypeError if isinstance(error, TypeError) else DataError
            raise refusal(
                f"The 'X' of {type(self).__name__} must be an array of real numbers, or a data frame of them with "
                f"texts as different column names. Got a {type(X).__name__} that is neither.",
                hint="convert it with numpy.asarray(X, dtype=float), whose argument must be a string or a real number "
                "in every place.",
            ) from None
        return given

    def _bound(self, compared: Array, k: int, *, optimal: bool) -> None:
        """Set `lower_bound_` and `gap_`."""
        if self.bound is None:
            self.__dict__.pop("lower_bound_", None)  # of an earlier fit
            self.__dict__.pop("gap_", None)
            return
        bound: float | None = self.information_loss_
        if not optimal:
            bound = certificate(
                compared, k, self.bound, labels=self.labels_, time_limit=self.time_limit, n_jobs=self.n_jobs
            )
        self.lower_bound_ = 0.0 if bound is None else min(bound, self.information_loss_)
        self.gap_ = gap(self.information_loss_, self.lower_bound_)


def standardized(X: Array) -> Array:
    """Return X with columns of mean 0 and variance 1; constant columns become 0.

    Each column is first divided by a power of two, so that neither squares nor sums overflow.
    """
    scaled = X / _powers(X)
    deviation = scaled.std(axis=0)
    deviation[X.max(axis=0) == X.min(axis=0)] = np.inf
    return np.ascontiguousarray((scaled - scaled.mean(axis=0)) / deviation)


def _exact_means(X: Array, labels: Array) -> Array:
    """Return the mean of each group, from exact sums and within the range of the group: float64[g, d]."""
    from shoal.partitioning.pool import all_means

    powers = _powers(X)
    scaled = np.ascontiguousarray(X / powers)
    means = all_means(scaled, labels)
    # The division may round a mean out of the range of its group, which would alter a column that is constant there.
    order = np.argsort(labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels))[:-1]])
    low, high = np.minimum.reduceat(scaled[order], starts), np.maximum.reduceat(scaled[order], starts)
    return np.asarray(np.clip(means, low, high) * powers)


def _powers(X: Array) -> Array:
    """Return, for each column, a power of two that its values do not exceed: float64[d]."""
    largest = np.maximum(X.max(axis=0), -X.min(axis=0))
    return np.asarray(np.ldexp(1.0, np.minimum(np.frexp(largest)[1], 1023)))
