"""Synthetic tables: the two families of the microaggregation literature, and two of a controlled shape.

Every generator takes ``random_state`` (None, an integer of at least 0, or a
:class:`numpy.random.Generator`), and the same integer gives the same bits. The arrays are float64,
C-contiguous, of shape (n, d), and not standardised.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import OptionError

__all__ = ["collection", "correlated_gaussian", "sim_c", "sim_u", "skewed"]

RandomState = int | np.random.Generator | None
Floats = NDArray[np.float64]

_HALF_SIDE = 10_000.0  # both papers draw from [-10000, 10000]^d ...
_SPREAD = 50.0  # ... and SimC's groups from [-50, 50]^d around their centre
_CENTRES = 100
_MEMBERS = (3, 20)  # both ends included
# exp(sigma * z) stays far below the largest float64 for every z that a generator can draw.
_LARGEST_SIGMA = 50.0


def sim_u(random_state: RandomState = None, *, n: int = 1000, d: int = 10) -> Floats:
    """Draw a SimU table: records uniform on the cube [-10000, 10000]^d.

    Parameters
    ----------
    random_state : None, int or numpy.random.Generator
        The source of randomness.
    n : int, default 1000
        The number of records; both papers use 1000.
    d : int, default 10
        The number of attributes; both papers use 10.

    Returns
    -------
    ndarray of float64, shape (n, d)

    References
    ----------
    Domingo-Ferrer et al., The VLDB Journal 15 (2006), section 5; Thaeter, dissertation (2021),
    section 5.2. Both average over 25 tables: see :func:`collection`.

    Examples
    --------
    >>> sim_u(0).shape
    (1000, 10)
    """
    n = _integer("sim_u", "n", n)
    d = _integer("sim_u", "d", d)
    return _uniform(_generator("sim_u", random_state), n, d, _HALF_SIDE)


def sim_c(
    random_state: RandomState = None,
    *,
    d: int = 10,
    noise: Literal["inclusive", "third"] = "inclusive",
) -> Floats:
    """Draw a SimC table: 100 tight groups of 4 to 21 records, and noise between them.

    A hundred centres are uniform on [-10000, 10000]^d. Each gets 3 to 20 further records: its own position plus
    a vector uniform on [-50, 50]^d. To these m records, noise records are added, uniform on the large cube. The
    rows are in the order of algorithm 7: centres, members centre by centre, noise.

    Parameters
    ----------
    random_state : None, int or numpy.random.Generator
        The source of randomness.
    d : int, default 10
        The number of attributes; both papers use 10.
    noise : {"inclusive", "third"}, default "inclusive"
        The number of noise records: floor(m/3) + 1 or floor(m/3). See the notes.

    Returns
    -------
    ndarray of float64, shape (n, d)
        n varies with the draw: 534 to 2801, about 1667 on average.

    Notes
    -----
    The two sources agree in everything but one noise record. Domingo-Ferrer et al. add "m/3" records. In
    Thaeter's algorithm 7, i runs over {0, ..., floor(m/3)}, which is one record more; that is the default
    here, as printed. The sizes he reports, 1528 to 1765, cannot all come from it: 1528 is a multiple of 4,
    and m + floor(m/3) + 1 never is, while m + floor(m/3) can be both 1528 and 1765. So "third" agrees with
    the other paper and with his sizes.

    References
    ----------
    Domingo-Ferrer et al., The VLDB Journal 15 (2006), section 5; Thaeter, dissertation (2021),
    algorithm 7.

    Examples
    --------
    >>> sim_c(0).shape[1]
    10
    """
    d = _integer("sim_c", "d", d)
    if noise not in ("inclusive", "third"):
        raise OptionError(f"The 'noise' option of sim_c must be 'inclusive' or 'third'. Got {_shown(noise)}.")
    generator = _generator("sim_c", random_state)
    centres = _uniform(generator, _CENTRES, d, _HALF_SIDE)
    sizes = generator.integers(_MEMBERS[0], _MEMBERS[1], size=_CENTRES, endpoint=True)
    members = np.repeat(centres, sizes, axis=0)
    members += _uniform(generator, len(members), d, _SPREAD)
    extra = (len(centres) + len(members)) // 3 + (noise == "inclusive")
    return np.concatenate([centres, members, _uniform(generator, extra, d, _HALF_SIDE)])


def correlated_gaussian(n: int, d: int, *, correlation: float = 0.5, random_state: RandomState = None) -> Floats:
    """Draw standard normal attributes with the same correlation between any two.

    Parameters
    ----------
    n, d : int
        The numbers of records and attributes.
    correlation : float, default 0.5
        The correlation of any two attributes, from 0 (independent) to 1 (all attributes equal).
    random_state : None, int or numpy.random.Generator
        The source of randomness.

    Returns
    -------
    ndarray of float64, shape (n, d)

    Notes
    -----
    One factor: x_j = sqrt(c) f + sqrt(1 - c) e_j with f, e_1, ..., e_d independent standard normal.
    A negative common correlation is possible only down to -1/(d - 1), and is not offered.
    """
    n = _integer("correlated_gaussian", "n", n)
    d = _integer("correlated_gaussian", "d", d)
    correlation = _number("correlated_gaussian", "correlation", correlation, 0.0, 1.0)
    return _one_factor(_generator("correlated_gaussian", random_state), n, d, correlation)


def skewed(n: int, d: int, *, sigma: float = 1.0, correlation: float = 0.0, random_state: RandomState = None) -> Floats:
    """Draw heavy-tailed positive attributes, such as incomes, turnovers and company sizes.

    Parameters
    ----------
    n, d : int
        The numbers of records and attributes.
    sigma : float, default 1.0
        The standard deviation of the logarithm, from 0 (constant data) to 50. The larger, the longer
        the tail: the skewness is (exp(s) + 2) sqrt(exp(s) - 1) with s = sigma^2, which is 6.2 for 1.0.
    correlation : float, default 0.0
        The correlation of any two attributes' logarithms, from 0 to 1.
    random_state : None, int or numpy.random.Generator
        The source of randomness.

    Returns
    -------
    ndarray of float64, shape (n, d)
        All values are positive; each attribute is log-normal with median 1.
    """
    n = _integer("skewed", "n", n)
    d = _integer("skewed", "d", d)
    sigma = _number("skewed", "sigma", sigma, 0.0, _LARGEST_SIGMA)
    correlation = _number("skewed", "correlation", correlation, 0.0, 1.0)
    logarithms = _one_factor(_generator("skewed", random_state), n, d, correlation)
    return np.exp(sigma * logarithms)


def collection(
    generate: Callable[..., Floats], random_state: RandomState = None, *, count: int = 25, **options: object
) -> list[Floats]:
    """Draw several independent tables from one seed, as both papers do with SimU and SimC.

    Parameters
    ----------
    generate : callable
        A generator of this module; it is called as ``generate(random_state=..., **options)``.
    random_state : None, int or numpy.random.Generator
        The source of randomness. A Generator spawns new ones, so a second call gives other tables.
    count : int, default 25
        The number of tables. From an integer seed, table i does not depend on it.
    **options
        Passed on to `generate`.

    Returns
    -------
    list of ndarray

    Examples
    --------
    >>> len(collection(sim_c, 0)), collection(sim_u, 0, count=2, n=50)[1].shape
    (25, (50, 10))
    """
    count = _integer("collection", "count", count)
    children = _generator("collection", random_state).spawn(count)
    return [generate(random_state=child, **options) for child in children]


def _uniform(generator: np.random.Generator, n: int, d: int, half_side: float) -> Floats:
    return generator.uniform(-half_side, half_side, size=(n, d))


def _one_factor(generator: np.random.Generator, n: int, d: int, correlation: float) -> Floats:
    factor = generator.standard_normal((n, 1))
    own = generator.standard_normal((n, d))
    return math.sqrt(correlation) * factor + math.sqrt(1.0 - correlation) * own


def _generator(function: str, random_state: object) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    # In Python, bool is an int, but True as a seed is a mistake.
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise OptionError(
        f"The 'random_state' option of {function} must be None, an integer of at least 0 or a "
        f"numpy.random.Generator. Got {_shown(random_state)}."
    )


def _integer(function: str, option: str, value: object) -> int:
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 1:
        return int(value)
    raise OptionError(f"The '{option}' option of {function} must be an integer of at least 1. Got {_shown(value)}.")


def _number(function: str, option: str, value: object, low: float, high: float) -> float:
    numeric = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    # NaN fails the comparison, so it is refused too.
    if numeric and low <= float(value) <= high:  # type: ignore[arg-type]
        return float(value)  # type: ignore[arg-type]
    raise OptionError(
        f"The '{option}' option of {function} must be a number from {low:g} to {high:g}. Got {_shown(value)}."
    )


def _shown(value: object) -> str:
    """Return the value of an option for a message, or only its type if it may be data."""
    if value is None or isinstance(value, bool | int | float | str | np.integer | np.floating):
        return repr(value.item() if isinstance(value, np.generic) else value)
    return f"an object of type {type(value).__name__}"
