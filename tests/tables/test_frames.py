"""Any data frame in, the same kind out: index, order, types and categories are kept, or it is said why not."""

import subprocess
import sys
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from invariants import check_release
from shoal.errors import DataError, DisclosureWarning
from shoal.tables.frames import has_labels, names_of, rebuilt, to_arrow

N = 12
X = [1.5, 1.25, 9.5, 9.75, 4.5, 4.25, 1.0, 9.0, 4.0, 1.75, 9.25, 4.75]
pytestmark = pytest.mark.filterwarnings("error", "ignore::shoal.errors.DisclosureWarning")


def release_of(table, **fields):
    said = {"k": 3, "method": "mdav", "quasi_identifiers": ["x"], "rest": "other"}
    release = shoal.anonymize(table, **{**said, **fields})
    check_release(release, table)
    return release


def spread(*values):
    """Return N values in turn."""
    return [values[i % len(values)] for i in range(N)]


# --- the index and the order of pandas ---

INDICES = {
    "range": pd.RangeIndex(N),
    "range from 10 in steps": pd.RangeIndex(10, 10 + 3 * N, 3),
    "named": pd.Index([100 + i * i for i in range(N)], name="row"),
    "texts": pd.Index([f"r{i}" for i in range(N)]),
    "duplicates": pd.Index([0, 0, 1, 1] * 3),
    "multi": pd.MultiIndex.from_product([["a", "b"], range(6)], names=["letter", "number"]),
    "times": pd.date_range("2024-01-01", periods=N, freq="D"),
    "reversed": pd.Index(list(range(N - 1, -1, -1))),
}


@pytest.mark.parametrize("name", INDICES)
def test_the_index_is_kept(name):
    table = pd.DataFrame({"x": X, "note": [f"n{i % 3}" for i in range(N)]}, index=INDICES[name])
    release = release_of(table, other="note")
    assert release.table.index.equals(table.index)
    assert release.table.index.names == table.index.names
    assert type(release.table.index) is type(table.index)
    # Labels are not positions: the groups are those of the same table with other labels.
    plain = release_of(table.reset_index(drop=True), other="note")
    assert release.table["x"].tolist() == plain.table["x"].tolist()


@pytest.mark.parametrize("name", INDICES)
def test_labels_of_rows_are_warned_of(name):
    table = pd.DataFrame({"x": X}, index=INDICES[name])
    labelled = not name.startswith("range")
    assert has_labels(table) == labelled
    release = release_of(table)
    assert [("index" in words) for words in release.warnings] == [True] * labelled


def test_rows_that_were_dropped_leave_no_trace_in_row_numbers():
    table = pd.DataFrame({"x": [None, *X], "note": [*spread(1, 2), 3]})
    release = release_of(table, missing="drop", other="note")
    assert release.rows_dropped == 1
    assert release.table.index.equals(pd.RangeIndex(N))


def test_labels_stay_with_their_rows_when_others_are_dropped():
    table = pd.DataFrame(
        {"x": [None, *X], "note": [f"n{i}" for i in range(N + 1)]}, index=[f"r{i}" for i in range(N + 1)]
    )
    release = release_of(table, missing="drop", other="note")
    assert release.table.index.tolist() == [f"r{i}" for i in range(1, N + 1)]
    assert release.table["note"].tolist() == [f"n{i}" for i in range(1, N + 1)]


def test_shuffled_rows_have_new_labels():
    table = pd.DataFrame({"x": X, "note": [f"n{i // 2}" for i in range(N)]}, index=INDICES["texts"])
    release = release_of(table, shuffle=True, random_state=1, other="note")
    assert release.table.index.equals(pd.RangeIndex(N))
    assert release.table["note"].tolist() != table["note"].tolist()
    assert not release.warnings


def test_columns_stay_in_their_order():
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        table = make({"z": spread(1, 2), "x": X, "id": spread("a", "b"), "a": spread(3, 4)})
        release = release_of(table, identifiers="id")
        assert names_of(release.table, "test") == ["z", "x", "a"]


# --- types ---

PANDAS = {
    "int64": [1, 2, 7],
    "int8": np.array([1, 2, 7], np.int8),
    "uint16": np.array([1, 2, 7], np.uint16),
    "Int64": pd.array([1, None, 7], dtype="Int64"),
    "float32": np.array([1.5, np.nan, 7], np.float32),
    "Float64": pd.array([1.5, None, 7], dtype="Float64"),
    "bool": [True, False, True],
    "boolean": pd.array([True, None, False], dtype="boolean"),
    "str": ["a", None, "b"],
    "string": pd.array(["a", None, "b"], dtype="string"),
    "object": pd.Series(["a", None, "b"], dtype=object),
    "object dates": pd.Series([date(2000, 1, 1), None, date(2001, 1, 1)], dtype=object),
    "object decimals": pd.Series([Decimal("1.50"), None, Decimal("2.25")], dtype=object),
    "category": pd.Categorical(["a", None, "b"], categories=["z", "b", "a"]),
    "ordered": pd.Categorical(["a", None, "b"], categories=["z", "b", "a"], ordered=True),
    "category of numbers": pd.Categorical([10, None, 20], categories=[20, 10, 30]),
    "datetime64[ns]": pd.to_datetime(["2000-01-01 10:00", None, "2001-01-01 00:00"]).astype("datetime64[ns]"),
    "datetime64[s]": pd.to_datetime(["2000-01-01 10:00", None, "2001-01-01 00:00"]).astype("datetime64[s]"),
    "midnights": pd.to_datetime(["2000-01-01", None, "2001-01-01"]),
    "zoned": pd.to_datetime(["2000-01-01 10:00", None, "2001-07-01 00:00"]).tz_localize("Europe/Berlin"),
    "arrow int": pd.array([1, None, 7], dtype=pd.ArrowDtype(pa.int64())),
    "arrow text": pd.array(["a", None, "b"], dtype=pd.ArrowDtype(pa.string())),
    "arrow time": pd.array([datetime(2000, 1, 1, 10), None], dtype=pd.ArrowDtype(pa.timestamp("us"))),
}
POLARS = {
    "int": pl.Series([1, None, 7]),
    "uint8": pl.Series([1, 2, 7], dtype=pl.UInt8),
    "float32": pl.Series([1.5, None, float("nan")], dtype=pl.Float32),
    "bool": pl.Series([True, None, False]),
    "text": pl.Series(["a", None, "b"]),
    "enum": pl.Series(["a", None, "b"], dtype=pl.Enum(["z", "b", "a"])),
    "categorical": pl.Series(["a", None, "b"], dtype=pl.Categorical),
    "decimal": pl.Series([Decimal("1.50"), None, Decimal("2.25")], dtype=pl.Decimal(10, 2)),
    "date": pl.Series([date(2000, 1, 1), None, date(2001, 1, 1)]),
    "datetime ms": pl.Series([datetime(2000, 1, 1, 10), None, datetime(2001, 1, 1)], dtype=pl.Datetime("ms")),
    "zoned": pl.Series([datetime(2000, 1, 1, 10), None]).dt.replace_time_zone("Europe/Berlin"),
}
ARROW = {
    "dictionary": pa.array(["a", None, "b"]).dictionary_encode(),
    "large text": pa.array(["a", None, "b"], pa.large_string()),
    "decimal": pa.array([Decimal("1.50"), None, Decimal("2.25")], pa.decimal128(12, 2)),
    "date64": pa.array([date(2000, 1, 1), None], pa.date64()),
    "ns": pa.array([datetime(2000, 1, 1, 10), None], pa.timestamp("ns", "UTC")),
    "int16": pa.array([1, None, 7], pa.int16()),
    "null": pa.nulls(3),
}


def filled(values):
    """Return a column of N rows."""
    turns = [i % len(values) for i in range(N)]
    if isinstance(values, pl.Series):
        return values.gather(turns)
    if isinstance(values, pa.Array):
        return values.take(pa.array(turns))
    return pd.Series(values).take(turns).reset_index(drop=True)


CASES = [
    *((pd.DataFrame, name, values) for name, values in PANDAS.items()),
    *((pl.DataFrame, name, values) for name, values in POLARS.items()),
    *((pa.table, name, values) for name, values in ARROW.items()),
]


@pytest.mark.parametrize(("make", "name", "values"), CASES, ids=[f"{m.__module__}-{name}" for m, name, _ in CASES])
def test_types_are_kept(make, name, values):
    """As a quasi-identifier, as the first one of two, and passed on; check_release compares the types."""
    table = make({"x": X, name: filled(values)})
    release_of(table, other=name)
    release_of(table, quasi_identifiers=["x", name])
    release_of(table, quasi_identifiers=[name])


def test_categories_that_do_not_occur_are_removed_and_the_others_keep_their_order():
    table = pd.DataFrame({"x": X, "c": filled(PANDAS["ordered"])})
    for roles in ({"quasi_identifiers": ["x", "c"]}, {"other": "c"}):
        found = release_of(table, **roles).table["c"]
        assert found.cat.categories.tolist() == ["b", "a"]
        assert found.cat.ordered
    for roles in ({"quasi_identifiers": ["x", "e"]}, {"other": "e"}):
        series = release_of(pl.DataFrame({"x": X, "e": filled(POLARS["enum"])}), **roles).table["e"]
        assert series.dtype == pl.Enum(["b", "a"])


@pytest.mark.parametrize(
    ("make", "values", "text"),
    [
        (pd.DataFrame, PANDAS["int64"], "str"),
        (pd.DataFrame, PANDAS["category"], "str"),
        (pd.DataFrame, PANDAS["string"], "string"),
        (pd.DataFrame, PANDAS["object"], "object"),
        (pl.DataFrame, POLARS["int"], pl.String),
        (pl.DataFrame, POLARS["enum"], pl.String),
        (pl.DataFrame, POLARS["categorical"], pl.String),
        (pa.table, ARROW["int16"], pa.string()),
        (pa.table, ARROW["large text"], pa.large_string()),
        (pa.table, ARROW["dictionary"], pa.string()),
    ],
)
def test_words_where_there_were_none_are_texts(make, values, text):
    table = make({"x": X, "q": filled(values)})
    release = release_of(table, quasi_identifiers=["x", "q"], representatives={"q": "suppression"})
    found = release.table["q"]
    assert set(found.to_pylist() if make is pa.table else found.to_list()) == {"*"}
    assert (found.type if make is pa.table else found.dtype) == text


def test_whole_numbers_that_become_missing_stay_whole():
    """NumPy's integers cannot be missing: pandas' nullable ones can."""
    values = [-999] * 6 + [3, 4, 5, 6, 7, 8]
    table = pd.DataFrame({"q": values, "flag": [True] * N})
    release = release_of(table, quasi_identifiers=["q", "flag"], missing_values=[-999])
    assert release.table["q"].dtype == "Int64"
    assert release.table["q"].isna().sum() == 6
    assert release.table["flag"].dtype == bool


def test_huge_whole_numbers_do_not_pass_through_floats():
    huge = pd.array([None] * 4 + [2**60 + 1] * 4 + [2**60 + 3] * 4, dtype="Int64")
    release = release_of(pd.DataFrame({"q": huge}), quasi_identifiers=["q"], types={"q": "nominal"})
    assert set(release.table["q"].dropna().tolist()) == {2**60 + 1, 2**60 + 3}


# --- what is passed on may hold anything ---


@pytest.mark.parametrize(
    "values",
    [
        spread(1, "a", None, 2.5),
        spread([1], [2, 3], None),
        spread({"a": 1}, {"b": 2}),
        spread(1j, 2j),
        [object() for _ in range(N)],
        list(pd.period_range("2020-01", periods=N, freq="M")),
        list(pd.interval_range(0, N)),
        pd.to_timedelta(range(N), unit="s"),
        spread(timedelta(1), None),
        spread(b"a", b"b"),
    ],
    ids=["mixed", "lists", "dicts", "complex", "objects", "periods", "intervals", "timedelta", "python", "bytes"],
)
def test_columns_that_are_passed_on_are_untouched(values):
    table = pd.DataFrame({"x": X, "any": values})
    found = release_of(table, other="any").table["any"]
    assert found.dtype == table["any"].dtype
    assert all(a is b or a == b or (pd.isna(a) and pd.isna(b)) for a, b in zip(found, table["any"], strict=True))
    assert "any" not in release_of(table, identifiers="any").table


def test_mixed_columns_without_a_role_are_refused():
    table = pd.DataFrame({"x": X, "any": spread(1, "SECRET")})
    with pytest.raises(DataError) as caught:
        release_of(table)
    assert str(caught.value) == (
        "The column 'any' must hold values of one type that Arrow has. Got others. "
        "Hint: give it one type first, or pass it on as it is (other=['any'])."
    )


def test_the_input_is_never_changed():
    table = pd.DataFrame({"x": X, "q": filled(PANDAS["ordered"]), "o": spread([1], [2])})
    copy = table.copy(deep=True)
    release = release_of(table, quasi_identifiers=["x", "q"], other="o")
    published = release.table
    published["x"] = 0.0
    published.loc[0, "q"] = "a"
    pd.testing.assert_frame_equal(table, copy)


# --- what is refused ---


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (pd.DataFrame([[1, 2]] * 5, columns=["a", "a"]), "must have columns with different names. Got 2 columns"),
        (pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), "must have columns with different names"),
        (pd.DataFrame([[1, 2]] * 5), "must have texts as column names"),
        (pd.DataFrame({("a", "b"): [1]}), "must have texts as column names"),
        (pd.DataFrame(index=[1, 2]), "must have columns with different names. Got 0 columns"),
        (pl.DataFrame(), "must have columns with different names. Got 0 columns"),
        (pd.DataFrame({"a": []}), "must have rows. Got none"),
        (pl.DataFrame({"a": []}), "must have rows. Got none"),
        (pa.table({"a": pa.array([], pa.int64())}), "must have rows. Got none"),
        (
            pl.LazyFrame({"a": [1]}),
            "(pandas, polars, pyarrow). Got LazyFrame. Hint: collect it first.",
        ),
        (pd.Series([1, 2], name="a"), "must be a data frame (pandas, polars, pyarrow). Got Series."),
        ({"a": [1]}, "Got dict. Hint: to read a file, use shoal.anonymize_file or shoal.io.read."),
        ("people.csv", "Got str. Hint: to read a file, use shoal.anonymize_file"),
        (np.ones((3, 2)), "Got ndarray."),
        (None, "Got NoneType."),
    ],
)
def test_refused(table, said):
    for function, caller in ((shoal.anonymize, "anonymize"), (shoal.verify, "verify")):
        with pytest.raises(DataError) as caught:
            function(table)
        assert said in str(caught.value)
        assert f"The table of {caller} must" in str(caught.value)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_one_row(make):
    table = make({"a": [1]})
    with pytest.raises(shoal.ShoalError, match=r"from 2 to the number of rows. Got 2 for 1 rows"):
        shoal.anonymize(table, k=2)
    assert shoal.verify(table).k == 1


def test_only_what_is_needed_is_converted():
    table = to_arrow(pd.DataFrame({"a": [1], "any": [object()]}), "test", ["a"])
    assert table.column_names == ["a"]


def test_rebuilt_with_rows_in_another_order():
    changed = {"b": pa.chunked_array([[7, 8]])}
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        table = make({"a": [1, 2, 3], "b": [4, 5, 6], "c": ["x", "y", "z"]})
        found = to_arrow(rebuilt(table, ["c", "b"], np.array([2, 0]), changed, relabel=True), "test")
        assert found.to_pydict() == {"c": ["z", "x"], "b": [7, 8]}


@pytest.mark.parametrize("name", ["*", "^.*$", "^ident$"])
@pytest.mark.parametrize("frame", [pa.table, pd.DataFrame, pl.DataFrame])
def test_names_that_look_like_patterns_bring_no_dropped_column_back(frame, name):
    table = frame({name: X, "ident": [f"p{i}" for i in range(N)]})
    release = shoal.anonymize(table, k=3, quasi_identifiers=[name], identifiers=["ident"], method="mdav")
    assert names_of(release.table, "the test") == [name]


def test_warnings_are_of_their_own_kind():
    with pytest.warns(DisclosureWarning, match="The index of the data frame is kept"):
        shoal.anonymize(pd.DataFrame({"x": X}, index=INDICES["texts"]), k=3, method="mdav")


def test_metadata_of_arrow_tables_is_not_passed_on():
    inner = pa.field("item", pa.float64(), metadata={"n": "SECRET"})
    schema = pa.schema(
        [
            pa.field("x", pa.float64(), metadata={"note": "SECRET", "shoal": '{"label": "the x", "more": "SECRET"}'}),
            pa.field("s", pa.struct([pa.field("a", pa.int64(), metadata={"note": "SECRET"})])),
            pa.field("l", pa.list_(inner)),
            pa.field("f", pa.list_(inner, 1)),
            pa.field("m", pa.map_(pa.string(), pa.field("value", pa.list_(inner)))),
        ],
        metadata={"title": "SECRET", "geo": "SECRET"},
    )
    columns = {"x": X, "s": [{"a": 1}] * N, "l": [[1.0]] * N, "f": [[1.0]] * N, "m": [{"k": [1.0]}] * N}
    found = release_of(pa.table(columns, schema=schema), other=["s", "l", "f", "m"]).table
    assert "SECRET" not in found.schema.to_string()
    assert found.schema.field("x").metadata == {b"shoal": b'{"label": "the x"}'}
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, found.schema) as file:
        file.write_table(found)
    assert b"SECRET" not in sink.getvalue().to_pybytes()


# --- categories and values of records that are not published ---

MARK = "only one"
WORDS = [*["a", "b"] * 6, MARK]


def with_gap(make, **columns):
    """Return a table whose last record has no x, and is dropped."""
    return make({"x": [*X, None], **columns})


def stored(table):
    """Return the bytes of a table in an Arrow file and in a pickle."""
    import pickle

    sink = pa.BufferOutputStream()
    arrow = to_arrow(table, "test")
    with pa.ipc.new_file(sink, arrow.schema) as file:
        file.write_table(arrow)
    return sink.getvalue().to_pybytes() + pickle.dumps(table)


COLUMNS = {
    "pandas categories": (pd.DataFrame, pd.Categorical(WORDS, ["b", MARK, "a"], ordered=True)),
    "pandas categories of Arrow": (
        pd.DataFrame,
        pd.array(pa.array(WORDS).dictionary_encode(), pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
    ),
    "polars enum": (pl.DataFrame, pl.Series(WORDS, dtype=pl.Enum(["b", MARK, "a"]))),
    "polars categorical": (pl.DataFrame, pl.Series(WORDS, dtype=pl.Categorical)),
    "arrow dictionary": (pa.table, pa.DictionaryArray.from_arrays([0, 1] * 6 + [2], ["a", "b", MARK])),
    "arrow view": (pa.table, pa.array([word * 20 for word in WORDS], pa.string_view())),
    "pandas view of Arrow": (
        pd.DataFrame,
        pd.array(pa.array([word * 20 for word in WORDS], pa.string_view()), pd.ArrowDtype(pa.string_view())),
    ),
    "arrow dictionary of views": (
        pa.table,
        pa.DictionaryArray.from_arrays([0, 1] * 6 + [2], pa.array(["a", "b", MARK], pa.string_view())),
    ),
    "arrow runs": (pa.table, pa.RunEndEncodedArray.from_arrays([6, 12, 13], pa.array(["a", "b", MARK]))),
    "arrow list of categories": (
        pa.table,
        pa.array([[word] for word in WORDS], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    ),
    "arrow structure of categories": (
        pa.table,
        pa.array([{"a": word} for word in WORDS], pa.struct([("a", pa.dictionary(pa.int8(), pa.string()))])),
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("role", ["other", "sensitive_attributes"])
def test_categories_of_dropped_records_are_gone(name, role):
    make, values = COLUMNS[name]
    table = with_gap(make, c=values)
    assert MARK.encode() in stored(table)
    release = shoal.anonymize(table, k=3, method="mdav", quasi_identifiers=["x"], missing="drop", **{role: "c"})
    assert len(release.table) == N
    assert MARK.encode() not in stored(release.table)
    assert MARK not in str(release.table)


@pytest.mark.parametrize("name", [name for name in COLUMNS if "of categories" not in name])
def test_categories_of_quasi_identifiers_that_were_replaced_are_gone(name):
    make, values = COLUMNS[name]
    table = make({"x": [*X, 1.1], "c": values})
    release = shoal.anonymize(table, k=5, method="mdav", quasi_identifiers=["x", "c"], representatives={"c": "mode"})
    assert MARK.encode() not in stored(release.table)
    assert release.warnings == ()


def test_chunks_with_categories_of_their_own():
    chunks = [pa.array(["a", "b"] * 3).dictionary_encode(), pa.array(["b", "c", MARK] * 2).dictionary_encode()]
    table = pa.table({"x": X, "c": pa.chunked_array(chunks)})
    found = release_of(table, quasi_identifiers=["x", "c"]).table["c"]
    assert set(found.to_pylist()) <= {"a", "b", "c", MARK}
    assert release_of(table, other="c").table["c"].to_pylist() == table["c"].to_pylist()


def test_attributes_of_pandas_are_not_passed_on():
    index = pd.MultiIndex.from_arrays([pd.Categorical([*"ab" * 6, MARK]), [*range(N), 99]], names=["letter", "number"])
    table = pd.DataFrame({"x": [*X, None], MARK: 1, "y": 2}, index=index)
    table.attrs["source"] = "SECRET"
    table.columns = pd.CategoricalIndex(table.columns, name="SECRET")
    before = table.copy()
    release = shoal.anonymize(
        table, k=3, method="mdav", quasi_identifiers=["x"], missing="drop", identifiers=MARK, other="y"
    )
    found = release.table
    assert found.attrs == {}
    assert list(found.columns) == ["x", "y"]
    assert b"SECRET" not in stored(found)
    assert MARK.encode() not in stored(found)
    assert table.attrs == {"source": "SECRET"}
    pd.testing.assert_frame_equal(table, before)


def test_nothing_lies_beneath_nulls():
    number = 7_234_567_890_123_456_789
    hidden = number.to_bytes(8, "little")
    validity = pa.py_buffer(bytes([0b11111110, 0b1111]))
    values = pa.py_buffer(np.array([number, *range(N - 1)], np.int64).tobytes())
    table = pa.table({"x": X, "y": pa.Array.from_buffers(pa.int64(), N, [validity, values])})
    assert hidden in stored(table)
    assert hidden not in stored(release_of(table, other="y").table)
    frame = pd.DataFrame({"x": X, "y": pd.array([number, *range(N - 1)], "Int64")})
    frame.loc[0, "y"] = pd.NA
    assert hidden in stored(frame)
    found = release_of(frame, other="y").table
    assert hidden not in stored(found)
    assert found["y"].dtype == "Int64"
    assert found["y"].isna().tolist() == [True] + [False] * (N - 1)


def test_other_libraries_of_data_frames_are_not_needed():
    code = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "polars"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import pyarrow as pa
import shoal

release = shoal.anonymize(pa.table({"x": [1.0, 2.0, 8.0, 9.0]}), k=2, method="mdav")
sys.exit(0 if release.k == 2 else 1)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_rows_of_a_pandas_frame_with_views_of_texts_are_taken():
    words = pd.array(list("abcdef"), dtype=pd.ArrowDtype(pa.string_view()))
    frame = pd.DataFrame({"a": range(6), "word": words})
    found = rebuilt(frame, ["a", "word"], np.array([4, 0]), {}, relabel=True)
    assert found.to_dict("list") == {"a": [4, 0], "word": ["e", "a"]}
