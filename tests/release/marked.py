"""Inputs in which every value, name and path is a marker that can be found again."""

import logging
from contextlib import contextmanager

from hypothesis import strategies as st

from shoal.tables.hierarchy import Hierarchy

TOWNS = [f"qtown{i}x" for i in range(8)]
GRADES = [f"qgrade{i}x" for i in range(6)]
ILLS = [f"sill{i}x" for i in range(6)]
# One marker stands for missing values; the columns of identifiers and units are not published.
GONE, NAME, UNIT = "missx77", "idcolq", "unitcolq"
TREE = {"innerax": TOWNS[:3], "innerbx": {"innercx": TOWNS[3:6], "innerdx": TOWNS[6:]}}
SICK = {"sickax": ILLS[:2], "sickbx": [*ILLS[2:], "never heardx"]}

FORMS = st.sampled_from(["microaggregation", "local-recoding", "global-recoding", "strongly-safe"])


@st.composite
def inputs(draw):
    """Return the rows of a file and the fields of a plan."""
    n = draw(st.integers(12, 40) | st.just(260))
    rng = draw(st.randoms(use_true_random=False))
    gaps = draw(st.booleans())
    rows = [
        {
            NAME: f"person{i}x",
            UNIT: f"house{i // 2}x",
            "town": rng.choice(TOWNS[: rng.choice([1, 3, 8])]),
            "grade": GONE if gaps and i % 9 == 0 else rng.choice(GRADES[1:5]),
            # Odd, and far apart, so that neither a mean nor an axis of a drawing is one of them by chance.
            "pay": str(rng.choice([1_100_000, 5_500_000, 9_900_000]) + 2 * rng.randrange(20_000) + 1),
            "ill": rng.choice(ILLS[: rng.choice([3, 5])]),
            "area": rng.choice(["north", "south"]),
        }
        for i in range(n)
    ]
    form = draw(FORMS)
    fields = {
        **{"k": draw(st.integers(2, 4)), "release": form, "identifiers": [NAME], "sensitive_attributes": ["ill"]},
        **{"quasi_identifiers": ["town", "grade", "pay"], "levels": {"grade": GRADES}},
        **{"missing_values": [GONE], "missing": draw(st.sampled_from(["value", "drop"]))},
    }
    fields["hierarchies"] = draw(
        st.sampled_from([{}, {"town": Hierarchy.from_nested(TREE)}, {"town": TREE}, {"town": "tree.json"}])
    )
    if form == "strongly-safe":
        fields["cells"] = {
            "pay": draw(st.sampled_from([2_000_000, "*"])),
            "grade": draw(st.sampled_from(["*", "value"])),
        }
    else:
        fields["method"] = "mdav"
        fields["blocks"] = draw(st.sampled_from(["joint", "each"]))
        if fields["blocks"] == "joint" and draw(st.booleans()):
            fields |= {"l": 2, "t": 0.9, "hierarchies": {**fields["hierarchies"], "ill": SICK}}
    fields["unit" if draw(st.booleans()) else "other"] = UNIT
    fields["stratum"] = draw(st.sampled_from([(), ("area",)]))
    fields["shuffle"] = draw(st.booleans())
    return rows, fields


def texts_of(value):
    """Yield all texts in nested plain values."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield str(key)
            yield from texts_of(below)
    elif isinstance(value, list | tuple):
        for below in value:
            yield from texts_of(below)
    else:
        yield str(value)


def markers(rows, fields):
    """Return everything that can be found again: values first, then names and places."""
    values = {value for row in rows for value in row.values()} - {"north", "south"}
    values |= {*GRADES, *TOWNS, *ILLS, GONE, "never heardx", *texts_of(TREE), *texts_of(SICK)}
    return values, {NAME, UNIT, "foldermarkx", "peoplemarkx", "tree.json"}


class Heard(logging.Handler):
    """Keeps what is logged."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.words = []

    def emit(self, record):
        self.words.append(self.format(record))


@contextmanager
def listening():
    """Yield what hears everything that is logged meanwhile."""
    log, heard = logging.getLogger("shoal"), Heard()
    level = log.level
    log.addHandler(heard)
    log.setLevel(logging.DEBUG)
    try:
        yield heard
    finally:
        log.removeHandler(heard)
        log.setLevel(level)


def as_csv(rows):
    """Return the text of a file."""
    return "\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows), ""])
