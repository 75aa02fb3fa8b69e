"""A synthetic household health survey with names, dates, codes, gaps and weights, drawn from a seed.

Nobody in it exists. The country is invented too, and lies in the Atlantic, so that no real home is meant. The columns
depend on each other as in a real survey: postcodes lie in their region, households share an address and an interview,
education depends on the generation, income on education, age and work, weight on height, and illness on age, weight and
smoking.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.datasets.generators import RandomState, _generator, _integer

__all__ = ["EDUCATION", "PEOPLE", "survey"]

# The levels of column 'education', from least to most.
EDUCATION = ("primary", "lower secondary", "upper secondary", "bachelor", "master", "doctorate")

# The columns of the table that examples begin with.
PEOPLE = ("person_id", "region", "birth_date", "sex", "education", "income", "diagnosis")

# name, share of the people, latitude and longitude of the centre, level of incomes
_REGIONS = (
    ("Alderfen", 0.22, 47.2, -31.5, 1.10),
    ("Brackmoor", 0.17, 48.6, -33.0, 0.92),
    ("Corvale", 0.15, 46.1, -32.8, 1.05),
    ("Dunmarsh", 0.13, 49.4, -30.6, 0.88),
    ("Estwick", 0.12, 45.3, -30.2, 1.00),
    ("Fennholt", 0.10, 48.1, -29.0, 0.95),
    ("Greyhaven", 0.08, 44.6, -33.9, 1.18),
    ("Harrowdale", 0.03, 50.3, -33.4, 0.81),
)
# Districts in a region, towns in a district, delivery areas in a town: digits 2, 3 and 4-5 of a postcode.
_DISTRICTS = 6
_TOWNS = 5
_AREAS = 4

# Occupations: pay relative to the average, and frequency with primary, secondary and higher education.
_OCCUPATIONS = (
    ("agriculture", 0.78, (9, 4, 1)),
    ("construction", 0.95, (16, 11, 2)),
    ("cleaning", 0.66, (18, 5, 1)),
    ("transport", 0.90, (14, 9, 2)),
    ("manufacturing", 0.98, (18, 15, 6)),
    ("sales", 0.86, (14, 17, 8)),
    ("office work", 1.00, (3, 17, 15)),
    ("health care", 1.08, (4, 10, 17)),
    ("teaching", 1.04, (0, 4, 18)),
    ("engineering", 1.34, (0, 5, 20)),
    ("management", 1.72, (1, 3, 10)),
    ("public service", 1.03, (3, 8, 13)),
)
_NOT_WORKING = (("student", 0.30), ("unemployed", 0.42), ("retired", 0.58))

# Diagnoses: log-odds against none: base, per decade of age above 50, per 5 kg/m2 above 25, for smoking.
_DIAGNOSES = (
    ("none", 0.0, 0.0, 0.0, 0.0),
    ("hypertension", -1.35, 0.55, 0.50, 0.25),
    ("diabetes", -2.35, 0.40, 0.80, 0.10),
    ("asthma", -2.60, -0.05, 0.15, 0.30),
    ("depression", -2.30, -0.10, 0.10, 0.35),
    ("heart disease", -3.00, 0.75, 0.40, 0.60),
    ("cancer", -3.30, 0.55, 0.10, 0.70),
    ("HIV", -5.90, -0.15, 0.00, 0.20),
)


class _Homes(NamedTuple):
    """Values that the people of a household share, one entry per person."""

    household: Array  # int64[n], 0, 0, 1, 2, 2, 2, ...
    size: Array
    region: Array
    postcode: list[str]
    latitude: Array
    longitude: Array
    interview: Array  # datetime64[D][n]
    fortune: Array  # what incomes of a household have in common, standard normal


class _People(NamedTuple):
    """Values that later columns depend on."""

    age: Array
    birth: Array  # datetime64[D][n]
    male: Array
    education: Array
    work: Array  # positions in _OCCUPATIONS followed by _NOT_WORKING


def survey(n: int = 1000, *, random_state: RandomState = 0) -> dict[str, Any]:
    """Draw a household health survey of `n` adults.

    Parameters
    ----------
    n : int, default 1000
        The number of people, ordered by household.
    random_state : None, int or numpy.random.Generator, default 0
        The source of randomness. The same integer gives the same table.

    Returns
    -------
    dict of str to ndarray or list
        One entry per column, each of length n, as ``pandas.DataFrame``, ``polars.DataFrame`` and
        ``pyarrow.table`` accept it. Columns of text and columns with gaps are lists, with None where
        there is no value; the others are arrays.

        ================  ============================================================
        person_id         text, different for each person: an identifier
        household         int64, the same for all people of a household
        region            one of 8 names; the rarest has 3 % of the people
        postcode          5 digits as text, with leading zeros; region, district, town, area
        latitude          of the home, 4 decimals
        longitude
        birth_date        datetime64[D]
        sex               female, male or, rarely, diverse
        education         one of :data:`EDUCATION`, in that order; 1 % missing
        occupation        one of 15
        income            per month, 2 decimals, skewed; 5 % missing, high ones more often
        height_cm         1 decimal; 1 % missing
        weight_kg         int64
        children          int64
        smoker            bool
        interview_date    datetime64[D], in 2024
        diagnosis         one of 8, some rare: sensitive
        survey_weight     number of people that a person stands for, 2 decimals
        ================  ============================================================

    Examples
    --------
    >>> table = survey(5)
    >>> table["region"]
    ['Greyhaven', 'Greyhaven', 'Dunmarsh', 'Estwick', 'Dunmarsh']
    """
    n = _integer("survey", "n", n)
    rng = _generator("survey", random_state)
    homes = _homes(rng, n)
    people = _people(rng, homes)
    height, weight, bmi = _bodies(rng, people)
    smoker = rng.random(n) < _logistic(
        -0.9 - 0.28 * (people.education - 2) - 0.018 * (people.age - 45) + 0.3 * people.male
    )
    income = _incomes(rng, homes, people)
    wealth = np.log(income)
    silent = rng.random(n) < 0.045 * np.exp(np.clip(0.5 * (wealth - wealth.mean()) / (wealth.std() + 1e-9), -2, 2))
    children = rng.poisson(np.clip((people.age - 22) / 15, 0, 1) * (1.9 - 0.13 * people.education))
    return {
        "person_id": [f"P{i:07d}" for i in rng.permutation(n).tolist()],
        "household": homes.household + 100_001,
        "region": _texts([name for name, *_ in _REGIONS], homes.region),
        "postcode": homes.postcode,
        "latitude": homes.latitude,
        "longitude": homes.longitude,
        "birth_date": people.birth,
        "sex": _texts(["female", "male", "diverse"], np.where(rng.random(n) < 0.004, 2, people.male)),
        "education": _texts(EDUCATION, people.education, missing=rng.random(n) < 0.01),
        "occupation": _texts([name for name, *_ in (*_OCCUPATIONS, *_NOT_WORKING)], people.work),
        "income": _gaps(income, silent),
        "height_cm": _gaps(height, rng.random(n) < 0.01),
        "weight_kg": weight,
        "children": np.minimum(children, 9),
        "smoker": smoker,
        "interview_date": homes.interview,
        "diagnosis": _texts([name for name, *_ in _DIAGNOSES], _diagnoses(rng, people.age, bmi, smoker)),
        "survey_weight": _survey_weights(rng, homes),
    }


def _homes(rng: np.random.Generator, n: int) -> _Homes:
    sizes = rng.choice(4, size=n, p=[0.36, 0.48, 0.11, 0.05]) + 1
    household = np.repeat(np.arange(n), sizes)[:n]
    h = int(household[-1]) + 1
    region = rng.choice(len(_REGIONS), size=h, p=[share for _, share, *_ in _REGIONS])
    # Powers of uniform numbers make the first district of a region and the first town of a district the largest.
    district = (_DISTRICTS * rng.random(h) ** 1.5).astype(np.int64)
    town = (_TOWNS * rng.random(h) ** 2).astype(np.int64)
    area = rng.integers(_AREAS, size=h)
    code = ((region * 10 + district) * 10 + town) * 100 + area * 13 + 1
    where = np.array([(latitude, longitude) for _, _, latitude, longitude, _ in _REGIONS])[region]
    for part, count, radius in ((district, _DISTRICTS, 0.42), (town, _TOWNS, 0.11), (area, _AREAS, 0.02)):
        angle = 2 * np.pi * part / count + 0.7 * count
        where += radius * np.stack([np.sin(angle), 1.4 * np.cos(angle)], axis=1) * (part > 0)[:, None]
    where = np.round(where + rng.normal(scale=0.008, size=(h, 2)), 4)
    interview = np.datetime64("2024-02-01") + rng.integers(300, size=h)
    fortune = rng.standard_normal(h)
    names = [f"{number:05d}" for number in range(len(_REGIONS) * 10_000)]
    return _Homes(
        household=household,
        size=np.bincount(household)[household],
        region=region[household],
        postcode=_texts(names, code[household]),
        latitude=where[household, 0],
        longitude=where[household, 1],
        interview=interview[household],
        fortune=fortune[household],
    )


def _people(rng: np.random.Generator, homes: _Homes) -> _People:
    n = len(homes.household)
    # People of a household are of similar age, and the country has an old population.
    together = rng.beta(1.25, 1.7, size=n)[homes.household]
    age = np.clip(18 + 80 * (0.75 * together + 0.25 * rng.random(n)) + rng.normal(scale=2.5, size=n), 18, 101)
    birth = homes.interview - np.floor(age * 365.2425).astype("timedelta64[D]")
    male = (rng.random(n) < 0.49 - 0.0025 * np.clip(age - 65, 0, None)).astype(np.int64)
    talent = rng.standard_normal(n) + 0.35 * homes.fortune - 0.022 * (age - 45)
    education = np.searchsorted([-1.75, -0.75, 0.55, 1.35, 2.45], talent)
    # Too young to have finished.
    education = np.minimum(education, np.select([age < 21, age < 24, age < 27], [2, 3, 4], 5))
    shares = np.array([share for *_, share in _OCCUPATIONS], dtype=float)
    stage = np.select([education == 0, education <= 2], [0, 1], 2)
    work = _drawn(rng, np.cumsum(shares / shares.sum(axis=0), axis=0).T, stage)
    chance = rng.random(n)
    first = len(_OCCUPATIONS)
    work = np.where(chance < 0.075 - 0.01 * education, first + 1, work)
    work = np.where((age < 27) & (chance > 0.2 + 0.08 * (age - 18)), first, work)
    work = np.where(chance < _logistic(1.1 * (age - 64)), first + 2, work)
    return _People(age, birth, male, education, work)


def _incomes(rng: np.random.Generator, homes: _Homes, people: _People) -> Array:
    """Return monthly incomes, log-normal around the level expected from education, age, work and region."""
    pay = np.log([pay for _, pay, *_ in (*_OCCUPATIONS, *_NOT_WORKING)])
    level = np.log([level for *_, level in _REGIONS])
    experience = np.clip(people.age, 18, 62) - 40
    expected: Array = 7.72 + 0.13 * people.education + 0.014 * experience - 0.0004 * experience**2
    expected = expected + pay[people.work] + level[homes.region] + 0.09 * people.male + 0.16 * homes.fortune
    return np.round(np.exp(expected + rng.normal(scale=0.34, size=len(expected))), 2)


def _bodies(rng: np.random.Generator, people: _People) -> tuple[Array, Array, Array]:
    """Return heights in cm, weights in whole kg, and the body mass index."""
    n = len(people.age)
    height: Array = np.where(people.male == 1, 178.5, 165.3) - 0.085 * (people.age - 45) + rng.normal(scale=6.6, size=n)
    height = np.round(np.clip(height, 138, 212), 1)
    bmi = 25.3 + 0.05 * np.clip(people.age - 45, -27, 25) - 0.35 * (people.education - 2)
    weight: Array = np.rint(bmi * np.exp(rng.normal(scale=0.155, size=n)) * (height / 100) ** 2).astype(np.int64)
    return height, weight, weight / (height / 100) ** 2


def _diagnoses(rng: np.random.Generator, age: Array, bmi: Array, smoker: Array) -> Array:
    """Return positions in _DIAGNOSES."""
    traits = np.stack([np.ones_like(age), (age - 50) / 10, (bmi - 25) / 5, smoker.astype(float)])
    odds = np.exp(np.array([effects for _, *effects in _DIAGNOSES]) @ traits)
    odds = np.cumsum(odds, axis=0)
    return np.asarray((odds < rng.random(len(age)) * odds[-1]).sum(axis=0))


def _survey_weights(rng: np.random.Generator, homes: _Homes) -> Array:
    """Return weights: small regions are over-sampled, and one adult stands for all adults of a home."""
    share = np.array([share for _, share, *_ in _REGIONS])
    asked = np.sqrt(share) / np.sqrt(share).sum()
    weight: Array = (
        1000 * (share / asked)[homes.region] * homes.size**0.5 * np.exp(rng.normal(scale=0.12, size=len(homes.size)))
    )
    return np.round(weight, 2)


def _drawn(rng: np.random.Generator, cumulative: Array, row: Array) -> Array:
    """Draw a position for each entry of `row`, by the cumulative probabilities in that row."""
    chance = rng.random(len(row))
    drawn = np.empty(len(row), dtype=np.int64)
    for r, limits in enumerate(cumulative):
        in_row = row == r
        drawn[in_row] = np.searchsorted(limits[:-1], chance[in_row])
    return drawn


def _logistic(x: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


def _texts(levels: tuple[str, ...] | list[str], codes: Array, missing: Array | None = None) -> list[Any]:
    texts = np.array(levels, dtype=object)[codes]
    if missing is not None:
        texts[missing] = None
    return list(texts)


def _gaps(values: Array, missing: Array) -> list[Any]:
    column = values.astype(object)
    column[missing] = None
    return list(column)
