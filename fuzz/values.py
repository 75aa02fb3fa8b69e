"""Random values of every type, with awkward ones among them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from random import Random
from typing import Any

from fuzz import markers

Values = list[Any]

WORDS = ("north", "south", "east", "west", "blue", "green", "red", "flu", "cold", "none", "a", "b", "c")
AWKWARD = (
    *("", " ", "  x", "x  ", "x", "X", "x\u200b", "\u00e9", "e\u0301", "\u00a0", "a\tb", "a\nb", 'say "hi"', "a, b"),
    *("{a, b}", "[1, 2]", "*", "NA", "null", "nan", "1", "01", "1.0", "1e3", "-0", "=1+1", "@x", "'", ";", "\u202ex"),
    *("\U0001f600", "\u00df", "SS", "\u0130", "i", "true", "True", "2024-01-01", "12:00", "\x1b[31m", "#N/A", "\ufeff"),
)
EXTREMES = (
    *(0.0, -0.0, 1.0, -1.0, 1e300, -1e300, 1e150, 1e149, 1e-320, 5e-324, 1e-300, float("inf"), float("-inf")),
    *(float("nan"), 1.7976931348623157e308, 2.0**53, 2.0**53 + 2, 1e16, 0.1, 1 / 3, 123456789.123456789),
)
TAME = (0.0, -0.0, 1.0, -1.0, 1e149, -1e149, 1e-320, 5e-324, 1e-300, 2.0**53, 1e16, 0.1, 1 / 3, 1e100)
ZONES = ("", "", "UTC", "Europe/Paris", "America/New_York", "Asia/Kathmandu")
PER_SECOND = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}


def from_pool(random: Random, n: int, one: Callable[[], Any], most: int = 8) -> Values:
    """Return n values drawn from a small pool, so that many are equal."""
    pool = [one() for _ in range(random.randint(1, most))]
    weights = [random.random() ** 2 + 0.01 for _ in pool]
    return random.choices(pool, weights, k=n)


def integers(random: Random, n: int) -> Values:
    """Return whole numbers: ages, few different ones, large ones or markers."""
    how = random.randrange(6)
    if how == 0:
        return from_pool(random, n, lambda: random.randint(-3, 9))
    if how == 1:
        return [random.choice((0, 1, -1, 2**31, -(2**31), 2**53, 10**12)) for _ in range(n)]
    if how == 2:
        return [markers.number(random) for _ in range(n)]
    low, high = random.choice(((0, 99), (0, 99), (1900, 2020), (-1000, 1000), (0, 10**6)))
    return [random.randint(low, high) for _ in range(n)]


def floats(random: Random, n: int) -> Values:
    """Return ordinary measurements."""
    how = random.randrange(4)
    if how == 0:
        return [round(random.lognormvariate(7, 1), 2) for _ in range(n)]
    if how == 1:
        return from_pool(random, n, lambda: round(random.uniform(-10, 10), random.randint(0, 3)))
    if how == 2:
        return [float(random.randint(0, 50)) for _ in range(n)]
    scale = 10.0 ** random.randint(-12, 12)
    offset = random.choice((0.0, 0.0, 1e6 * scale))
    return [offset + random.gauss(0, scale) for _ in range(n)]


def extremes(random: Random, n: int) -> Values:
    """Return the ends of double precision, more often those that Shoal accepts."""
    pool = EXTREMES if random.random() < 0.2 else TAME
    some = random.sample(pool, k=min(len(pool), random.randint(1, 6)))
    return [random.choice(some) for _ in range(n)]


def words(random: Random, n: int) -> Values:
    """Return categories, some of them markers."""
    return from_pool(random, n, lambda: markers.word(random) if random.random() < 0.3 else random.choice(WORDS))


def awkward(random: Random, n: int) -> Values:
    """Return texts with blanks, quotes, control characters, and several forms of the same letters."""
    return from_pool(random, n, lambda: random.choice(AWKWARD))


def codes(random: Random, n: int) -> Values:
    """Return codes whose first characters matter most."""
    length = random.randint(2, 5)
    digits = "0123456789"[: random.randint(2, 10)]

    def one() -> str:
        size = length if random.random() < 0.9 else random.randint(1, length)
        return random.choice(("", "", "E")) + "".join(random.choices(digits, k=size))

    return from_pool(random, n, one, most=14)


def booleans(random: Random, n: int) -> Values:
    """Return truth values."""
    share = random.choice((0.5, 0.5, 0.1, 0.0))
    return [random.random() < share for _ in range(n)]


def dates(random: Random, n: int) -> Values:
    """Return dates in ISO 8601."""
    if random.random() < 0.1:
        return [random.choice(("0001-01-01", "9999-12-31", "1970-01-01", "1582-10-15", "2024-02-29")) for _ in range(n)]
    start, spread = date(random.randint(1900, 2020), 1, 1), random.choice((3, 40, 20000))
    return [(start + timedelta(days=random.randrange(spread))).isoformat() for _ in range(n)]


def moments(random: Random, n: int, unit: str) -> Values:
    """Return moments in a unit since 1970, some of them all at midnight."""
    second = PER_SECOND[unit]
    step = random.choice((86400 * second, 3600 * second, second, 1))
    start = random.randrange(-(10**9), 10**9) * second // step
    return [(start + random.randrange(10**4)) * step for _ in range(n)]


def decimals(random: Random, n: int) -> Values:
    """Return decimals with two places, as texts."""
    return [f"{random.randint(-9999, 99999) / 100:.2f}" for _ in range(n)]


def with_gaps(random: Random, values: Values, *, nan: bool = False) -> Values:
    """Return values some, most or all of which are missing, in one or two ways."""
    share = random.choice((0.05, 0.2, 0.2, 0.5, 0.95, 1.0))
    gaps = [None, float("nan")] if nan and random.random() < 0.5 else [float("nan")] if nan else [None]
    return [random.choice(gaps) if random.random() < share else value for value in values]
