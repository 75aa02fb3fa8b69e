"""Nothing of the input that is not in the release is in a certificate, a report, a log or a message.

Every value, name and path that goes in is a marker that can be found again. What the release publishes is public; all
other markers are looked for in everything that may go out.
"""

import json
import tempfile
import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

import shoal
from release.marked import TREE, as_csv, inputs, listening, markers
from shoal.errors import ShoalError

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.DisclosureWarning")


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(inputs())
def test_no_marker_goes_out(given_):
    rows, fields = given_
    values, names = markers(rows, fields)
    with listening() as heard, tempfile.TemporaryDirectory() as place, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        folder = Path(place) / "foldermarkx"
        folder.mkdir()
        source, tree = folder / "peoplemarkx.csv", folder / "tree.json"
        tree.write_text(json.dumps(TREE))
        if fields["hierarchies"].get("town") == "tree.json":
            fields = {**fields, "hierarchies": {**fields["hierarchies"], "town": str(tree)}}
        source.write_text(as_csv(rows))
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
