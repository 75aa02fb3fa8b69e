"""Nothing of the input that is not in the release is in a certificate, a report, a log or a message.

Every value, name and path that goes in is a marker that can be found again. What the release publishes is public; all
other markers are looked for in everything that may go out.
"""

import json
import logging
import tempfile
import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import ShoalError
from shoal.tables.hierarchy import Hierarchy

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.DisclosureWarning")
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


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(inputs())
def test_no_marker_goes_out(given_):
    rows, fields = given_
    values, names = markers(rows, fields)
    log, heard = logging.getLogger("shoal"), Heard()
    level = log.level
    log.addHandler(heard)
    log.setLevel(logging.DEBUG)
    try:
        with tempfile.TemporaryDirectory() as place, warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            folder = Path(place) / "foldermarkx"
            folder.mkdir()
            source, tree = folder / "peoplemarkx.csv", folder / "tree.json"
            tree.write_text(json.dumps(TREE))
            if fields["hierarchies"].get("town") == "tree.json":
                fields = {**fields, "hierarchies": {**fields["hierarchies"], "town": str(tree)}}
            source.write_text("\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows), ""]))
            out, certificate, report = (Path(place) / name for name in ("out.csv", "m.json", "r.html"))
            try:
                made = shoal.anonymize_file(source, out, certificate=certificate, report=report, record=False, **fields)
            except ShoalError as error:
                said = str(error)
                assert not [one for one in values if one in said], said
                return
            published = out.read_text()
            documents = certificate.read_text() + report.read_text() + made._repr_html_()
            documents += " ".join(str(one.message) for one in warned)
            public = {one for one in values | names if one in published}
            assert not [one for one in (values | names) - public if one in documents]
            assert not [one for one in values - public if one in "\n".join(heard.words)]
    finally:
        log.removeHandler(heard)
        log.setLevel(level)


def test_markers_are_found_where_they_are():
    """The test above can fail: in the record, which is not published, all of them are there."""
    ages = [1_234_561, *range(2_000_001, 2_000_011)]
    table = pa.table({"age": ages, "town": ["qtown0x"] * 10 + ["qtown7x"]})
    release = shoal.anonymize(
        table, k=3, quasi_identifiers=["age", "town"], hierarchies={"town": TREE}, method="mdav", n_jobs=1
    )
    record, public = json.dumps(release.record), json.dumps(release.certificate) + release.report()
    for marker in ("qtown5x", "innerdx"):
        assert marker in record
        assert marker not in public
