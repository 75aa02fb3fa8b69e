"""Who verifies a release counts every block within every stratum, as was promised."""

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import shoal
from shoal import io
from shoal.cli.app import app
from shoal.errors import DisclosureError
from shoal.release.verification import verify_file

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.DisclosureWarning")
# Each value of x and of y three times in either stratum.
COLUMNS = {
    "x": [1.0] * 6 + [5.0] * 6,
    "y": [2.0, 2.0, 7.0, 2.0, 2.0, 7.0, 7.0, 7.0, 2.0, 7.0, 7.0, 2.0],
    "s": ["a", "a", "a", "b", "b", "b"] * 2,
}


@pytest.fixture
def published(tmp_path):
    """Return a release in a database, where no hash tells that it was changed, and its certificate."""
    io.write(pa.table(COLUMNS), tmp_path / "people.parquet")
    target, certificate = tmp_path / "out.sqlite", tmp_path / "c.json"
    fields = {"k": 3, "method": "mdav", "quasi_identifiers": ["x", "y"], "stratum": "s", "blocks": [["x"], ["y"]]}
    release = shoal.anonymize_file(tmp_path / "people.parquet", target, certificate=certificate, **fields)
    assert release.table.to_pydict() == COLUMNS
    return target, certificate


def verified(target, certificate):
    return CliRunner().invoke(app, ["verify", str(target), "--certificate", str(certificate)]).exit_code


def test_what_was_published_holds(published):
    target, certificate = published
    assert verify_file(io.read(target), certificate)
    assert verified(target, certificate) == 0


@pytest.mark.parametrize("block", ["x", "y"])
def test_a_record_in_another_stratum_is_found_in_every_block(published, block):
    """Each block still hides every record among six, but not within the strata."""
    target, certificate = published
    first = COLUMNS[block][0]
    alone = COLUMNS[block].index(first)
    changed = {
        "x": [0.0] * 12,
        "y": [0.0] * 12,
        block: COLUMNS[block],
        "s": ["b" if value != first or row == alone else "a" for row, value in enumerate(COLUMNS[block])],
    }
    io.write(pa.table(changed), target, force=True)
    table = io.read(target).table
    assert shoal.verify(table, ["x"]).k >= 6
    assert shoal.verify(table, ["y"]).k >= 6
    assert {name: shoal.verify(table, [name, "s"]).k for name in ("x", "y")} == {"x": 5, "y": 5, block: 1}
    with pytest.raises(DisclosureError, match="must hide every record among 3"):
        verify_file(io.read(target), certificate)
    assert verified(target, certificate) == 1
