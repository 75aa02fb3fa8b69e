"""Details of files that no other test looks at: each was changed once without any test noticing."""

import json

import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError
from shoal.io.csv_stream import Hashed
from shoal.io.formats import locate
from shoal.io.labels import KEY, field_labels


def test_a_file_without_a_size_is_read(tmp_path):
    """Such as those of /proc, and files that are emptied meanwhile."""
    (tmp_path / "empty").touch()
    said = []
    file = Hashed(tmp_path / "empty", said.append)
    assert file.read(10) == b""
    assert said == [0.0]
    file.close()


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.list_(pa.int64())], ids=str)
def test_what_is_no_text_is_not_written_as_csv(kind, tmp_path):
    value = [1] if kind == pa.list_(pa.int64()) else b"x"
    with pytest.raises(DataError, match="x"):
        shoal.io.write(pa.table({"x": pa.array([value], kind)}), tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("target", "standard"), [("-", True), ("x.csv", False), ("postgresql://host/db", False)])
def test_a_database_server_is_not_the_standard_output(target, standard):
    assert locate(target, None, "target").standard is standard


def test_the_labels_of_a_column_come_before_those_of_its_source():
    def labelled(words):
        return pa.field("x", pa.int64(), metadata={KEY: json.dumps({"label": words}).encode()})

    table = pa.table({"x": [1]}, schema=pa.schema([labelled("own")]))
    assert field_labels(table, "x", pa.schema([labelled("other")])) == {"label": "own"}
    bare = pa.table({"x": [1]})
    assert field_labels(bare, "x", pa.schema([labelled("other")])) == {"label": "other"}
    assert field_labels(bare, "x", pa.schema([pa.field("y", pa.int64())])) == {}
