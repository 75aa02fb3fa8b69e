import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from shoal.datasets import load, names
from shoal.datasets._sources import (
    DATASETS,
    Dataset,
    WrongContentError,
    by_header,
    by_position,
    content_hash,
    verified,
)
from shoal.datasets.loaders import _cache_folder, _data_folders
from shoal.errors import DatasetNotFoundError, OptionError

SHAPES = {
    "census": (1080, 13),
    "tarragona": (834, 13),
    "eia": (4092, 11),
    "cloud1": (1024, 10),
    "cloud2": (1024, 10),
    "adult": (48842, 3),
    "creditcard": (30000, 24),
    "covtype": (20000, 10),
}
FOUND = {name: any((folder / DATASETS[name].file).is_file() for folder in _data_folders()) for name in SHAPES}
real = pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=pytest.mark.skipif(not FOUND[name], reason="benchmark data not found; SHOAL_DATA names it"),
        )
        for name in SHAPES
    ],
)

VALUES = np.array([[1.0, 2.5], [-3.0, 0.1], [4.0, 1e-7]])
TINY = Dataset("a tiny table", "tiny.csv.gz", 3, ("a", "b"), content_hash(VALUES), (), by_header)
TINY_CSV = 'a,note,b\n1,x,2.5\n-3,"y, z",0.1\n4,,0.0000001\n'


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """Make 'tiny' a known table, with nothing on this machine but what the test writes."""
    monkeypatch.setitem(DATASETS, "tiny", TINY)
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "checkout").mkdir()
    monkeypatch.chdir(tmp_path / "checkout")
    return tmp_path


def put(folder, content=TINY_CSV):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "tiny.csv.gz"
    path.write_bytes(gzip.compress(content.encode()) if isinstance(content, str) else content)
    return path


def test_names_are_the_documented_ones():
    assert names() == tuple(SHAPES)
    for name, shape in SHAPES.items():
        assert (DATASETS[name].n, len(DATASETS[name].columns)) == shape
        assert f"    {name:<14}{shape[0]:<7}{shape[1]:<4}" in load.__doc__
        assert all(url.startswith("https://") for url in DATASETS[name].urls)


@real
def test_real_tables_have_the_documented_shape_and_values(name):
    table = load(name)
    assert table.data.shape == SHAPES[name]
    assert table.data.dtype == np.float64
    assert table.data.flags.c_contiguous
    assert np.isfinite(table.data).all()
    assert (table.data.std(axis=0) > 0).all()
    assert table.columns == table.quasi_identifiers == DATASETS[name].columns
    assert table.name == name
    assert table.source
    # Standardised, every attribute weighs the same: SST = n d.
    Z = (table.data - table.data.mean(axis=0)) / table.data.std(axis=0)
    assert np.isclose((Z**2).sum(), table.data.size)


@pytest.mark.skipif(not FOUND["adult"], reason="benchmark data not found; SHOAL_DATA names it")
def test_adult_has_the_documented_number_of_distinct_records():
    assert len(np.unique(load("adult").data, axis=0)) == 9953


@real
def test_real_tables_come_out_of_the_format_of_their_public_source(name):
    dataset, data = DATASETS[name], load(name).data
    rows = [[repr(x).removesuffix(".0") for x in row] for row in data.tolist()]
    if name.startswith("cloud"):
        other = "    1.0  2.0\n"
        marker = "\n;;;;;;;;\n;;; CLOUD COVER DB #2\n;;;;;;;;\n\n"
        block = "".join("   ".join(["", *row]) + "\n" for row in rows)
        head = "Source of data:\n\n\t(619)534\n;each vector includes 10 parameters and this line has ten words\n"
        texts = [head + (block + marker + other if name == "cloud1" else other + marker + block)]
    elif name == "adult":
        lines = [f"{a}, Private, 1, HS-grad, {e}, x, x, x, x, x, 0, 0, {h}, ?, <=50K" for a, e, h in rows]
        header = "age, workclass, f, e, education-num, m, o, r, r, s, g, l, hours-per-week, c, outcome\n"
        tail = ".\n".join(lines[32561:]) + ".\n"
        texts = ["\n".join(lines[:32561]) + "\n\n", header + tail]
        assert verified(dataset.parse([texts[0], "|1x3 Cross validator\n" + tail], dataset.columns), dataset).size
    elif name == "covtype":
        texts = ["".join(",".join([*row, *["0"] * 44, "2"]) + "\n" for row in rows)]
    else:
        # These end their lines with a bare carriage return, and the credit card table begins with its ID.
        texts = ["\r".join(",".join(["7", *row]) for row in [dataset.columns, *rows]) + "\r"]
    assert np.array_equal(verified(dataset.parse(texts, dataset.columns), dataset), data)


def test_a_local_file_may_have_more_columns(tiny):
    put(tiny / "data")
    table = load("tiny", data_home=tiny / "data")
    assert np.array_equal(table.data, VALUES)
    assert table.columns == ("a", "b")
    assert np.array_equal(load("tiny", data_home=str(tiny / "data")).data, VALUES)


def test_where_a_table_is_looked_for(tiny, monkeypatch):
    with pytest.raises(DatasetNotFoundError):
        load("tiny")
    cached = put(tiny / "cache" / "shoal")
    assert load("tiny").name == "tiny"
    cached.unlink()
    beside = put(tiny / "shared" / "data")
    assert load("tiny").name == "tiny"
    # A folder that was named replaces the one beside the checkout.
    monkeypatch.setenv("SHOAL_DATA", str(tiny / "named"))
    with pytest.raises(DatasetNotFoundError):
        load("tiny")
    put(tiny / "named")
    beside.unlink()
    assert load("tiny").name == "tiny"
    # And data_home replaces all of them.
    with pytest.raises(DatasetNotFoundError):
        load("tiny", data_home=tiny / "elsewhere")


def test_the_folders_beside_the_checkout_and_the_cache(tiny, monkeypatch):
    folders = _data_folders()
    assert folders[0] == tiny / "shared" / "data"
    root = Path(__file__).resolve().parents[2]
    if (root / "src" / "shoal").is_dir():
        assert folders[1:] == [root.parent / "shared" / "data"]
    monkeypatch.setenv("SHOAL_DATA", "")
    assert _data_folders() == folders
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("LOCALAPPDATA", str(tiny / "local"))
    assert _cache_folder() == tiny / "local" / "shoal"
    monkeypatch.delenv("LOCALAPPDATA")
    assert _cache_folder() == Path.home() / ".cache" / "shoal"


def test_a_missing_file_says_where_it_looked_and_what_helps(tiny):
    with pytest.raises(DatasetNotFoundError) as caught:
        load("tiny")
    message = str(caught.value)
    assert message.startswith("The table 'tiny' must be in a data folder as tiny.csv.gz. Got no such file in ")
    assert str(tiny / "shared" / "data") in message
    assert str(tiny / "cache" / "shoal") in message
    assert "download=True" in message
    assert "SHOAL_DATA" in message
    assert isinstance(caught.value, FileNotFoundError)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (TINY_CSV.replace("2.5", "2.25"), "Got values with another SHA-256."),
        (TINY_CSV.replace("a,note,b", "b,note,a"), "Got values with another SHA-256."),
        (TINY_CSV.rsplit("\n", 2)[0], "Got 2 records that can be read, not 3."),
        (TINY_CSV.replace("a,note,b", "a,note,c"), "Got no column 'b'."),
        (TINY_CSV.replace("2.5", "secret"), "Got a field that is not a number."),
        (TINY_CSV + "1\n", "Got a line that is not CSV."),
        ("", "Got no column 'a'."),
        ("a,b\n", "Got 0 records that can be read, not 3."),
        (b"a,b\n1,2\n", "Got a file that is damaged or not gzip-compressed."),
        (gzip.compress(TINY_CSV.encode(), mtime=0)[:-12], "Got a file that is damaged or not gzip-compressed."),
        (b"", "Got no column 'a'."),
    ],
)
def test_a_wrong_file_is_refused_and_left_alone(tiny, content, reason):
    path = put(tiny / "data", content)
    before = path.read_bytes()
    # Not even a download replaces a file of the user's.
    for download in (False, True):
        with pytest.raises(DatasetNotFoundError) as caught:
            load("tiny", data_home=tiny / "data", download=download)
        assert str(caught.value).startswith(f"The file {path} must hold the published table 'tiny'. {reason}")
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None
    assert path.read_bytes() == before


def test_a_file_that_unpacks_to_too_much_is_refused(tiny, monkeypatch):
    monkeypatch.setattr("shoal.datasets.loaders.LARGEST", 100)
    put(tiny / "data", TINY_CSV + "\n" * 100)
    with pytest.raises(DatasetNotFoundError, match="Got more than 100 bytes"):
        load("tiny", data_home=tiny / "data")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_that_may_not_be_read_is_named(tiny):
    path = put(tiny / "data")
    path.chmod(0)
    with pytest.raises(DatasetNotFoundError, match="Got a file without permission to read it"):
        load("tiny", data_home=tiny / "data")


def test_unknown_names_and_wrong_options_are_refused(tiny):
    with pytest.raises(OptionError, match=r"Got 'cesus'\. Hint: did you mean 'census'"):
        load("cesus")
    with pytest.raises(OptionError, match="Got an object of type int"):
        load(3)
    with pytest.raises(OptionError, match="The 'download' option of load must be True or False"):
        load("tiny", download="yes")
    with pytest.raises(OptionError, match=r"must be the path of a folder\. Got ''"):
        load("tiny", data_home="")
    with pytest.raises(OptionError, match="Got an object of type int"):
        load("tiny", data_home=3)


def test_by_position_leaves_out_what_is_no_record():
    text = "x y z\n1 a 2\n\n3 b 4 5\n6 c 7\n8 d e\n"
    data = by_position([text, "9 f 10"], ("p", "q"), positions=(0, 2), width=3, separator=None)
    assert data.tolist() == [[1, 2], [6, 7], [9, 10]]
    assert by_position(["none"], ("p", "q"), positions=(0, 2), width=3).shape == (0, 2)


def test_cloud_without_its_marker_is_refused():
    with pytest.raises(WrongContentError, match="no marker"):
        DATASETS["cloud1"].parse(["1 2 3"], DATASETS["cloud1"].columns)


def test_content_hash_depends_on_values_only():
    assert content_hash(np.asfortranarray(VALUES)) == content_hash(VALUES)
    assert content_hash(VALUES.astype(">f8")) == content_hash(VALUES)
    assert content_hash(VALUES[::-1]) != content_hash(VALUES)


def test_import_loads_nothing_heavy():
    heavy = {"numba", "pandas", "sklearn", "scipy", "polars", "pyarrow", "urllib.request", "http.client"}
    code = f"import sys, shoal.datasets; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
