"""The layout of a table that is read in pieces is that of memory: kinds, coordinates, groups, demands."""

import numpy as np
import pyarrow as pa
import pytest

from engines.in_pieces import PLAN, layout_of, people
from shoal.engines import columns as survey_columns
from shoal.engines.layout import Layout
from shoal.engines.survey import Survey
from shoal.errors import DataError, OptionError
from shoal.plan import Plan
from shoal.release.preparation import prepare


def in_memory(table, plan, text=False, decimal="."):
    prepared = prepare(table, plan, text=text, decimal=decimal)
    return prepared, prepared.embedded().together()


@pytest.mark.parametrize("many", [False, True], ids=["few values", "many values"])
def test_coordinates_are_those_of_memory_to_the_bit(monkeypatch, many):
    if many:
        monkeypatch.setattr(survey_columns, "MANY", 100)
    table, plan = people(), Plan.of(**PLAN)
    layout = layout_of(table, plan)
    prepared, X = in_memory(table, plan)
    assert layout.coordinates(layout.decode(table)).tobytes() == X.tobytes()
    for part, read in zip(layout.parts, prepared.reads, strict=True):
        assert part.writing == read.writings[0]
        one, other = part.attribute, read.attribute
        # Of many different numbers it is not counted how often they occur.
        if not (many and other.by_values):
            assert (one.kind, one.representative, one.importance) == (
                other.kind,
                other.representative,
                other.importance,
            )
        assert part.missing == int(read.values.missing.sum())


def as_text(table):
    words = {}
    for name in table.column_names:
        words[name] = pa.array([None if x is None else str(x) for x in table.column(name).to_pylist()])
    return pa.table(words)


@pytest.mark.parametrize("many", [False, True], ids=["few values", "many values"])
def test_text_is_read_as_in_memory(monkeypatch, many):
    if many:
        monkeypatch.setattr(survey_columns, "MANY", 100)
    table, plan = as_text(people()), Plan.of(**{**PLAN, **({"formats": {"day": "%Y-%m-%d"}} if many else {})})
    layout = layout_of(table, plan, text=True)
    prepared, X = in_memory(table, plan, text=True)
    assert layout.coordinates(layout.decode(table)).tobytes() == X.tobytes()
    assert [part.writing for part in layout.parts] == [read.writings[0] for read in prepared.reads]


def test_rows_with_missing_values_are_dropped_as_in_memory():
    table, plan = people(), Plan.of(**PLAN, missing="drop")
    layout = layout_of(table, plan)
    prepared, X = in_memory(table, plan)
    values = layout.decode(table)
    assert layout.rows_dropped == prepared.rows_dropped > 0
    assert values.column("__row").to_pylist() == prepared.keep.tolist()
    assert layout.coordinates(values).tobytes() == X.tobytes()


def test_demands_have_the_distribution_of_the_whole_table():
    table, plan = people(), Plan.of(**PLAN, l=2, t=0.3)
    layout = layout_of(table, plan)
    values = layout.decode(table.slice(0, 50))
    whole = prepare(table, plan).constraints.demands
    for mine, theirs in zip(layout.demands(values), whole, strict=True):
        from shoal.privacy.spectrum import spectrum_of

        one = spectrum_of(np.zeros(50, np.int64), mine.sensitive)
        other = spectrum_of(np.zeros(table.num_rows, np.int64), theirs.sensitive)
        assert sorted(one.whole.tolist()) == sorted(other.whole.tolist())
        assert str(mine.model) == str(theirs.model)


def test_a_layout_does_not_depend_on_the_pieces():
    table, plan = people(), Plan.of(**PLAN, stratum=("region",))
    one, other = layout_of(table, plan, pieces=2), layout_of(table, plan, pieces=13)
    a, b = one.decode(table), other.decode(table)
    for name in a.column_names:
        np.testing.assert_array_equal(a.column(name).to_numpy(), b.column(name).to_numpy())
    assert one.coordinates(a).tobytes() == other.coordinates(b).tobytes()


def test_a_table_that_changes_is_refused():
    table, plan = people(), Plan.of(**PLAN, stratum=("region",))
    layout = layout_of(table, plan)
    for name, value in (("job", "pilot"), ("region", "east")):
        at = table.column_names.index(name)
        with pytest.raises(DataError, match=f"change in the column '{name}'"):
            layout.decode(table.set_column(at, name, pa.array([value] * table.num_rows)))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("places", [("age", "income")]),
        ("blocks", "each"),
        ("suppress", 0.1),
        ("rounding", {"age": 5}),
        ("release", "global-recoding"),
        ("small_strata", "merge"),
        ("rest", None),
        ("models", {"ill": ["n-t-closeness t=0.2 n=20"]}),
    ],
)
def test_what_needs_the_whole_table_is_refused(field, value):
    others = {"quasi_identifiers": ("job",), "levels": {}, "hierarchies": {}} if field == "places" else {}
    plan = Plan.of(**{**PLAN, field: value, **others})
    with pytest.raises(OptionError, match="in pieces"):
        Survey.of(plan, people(50).schema)


@pytest.mark.parametrize(
    "role", [{}, {"sensitive_attributes": ["code"], "l": 2}, {"stratum": ["code"]}], ids=["qi", "sensitive", "stratum"]
)
@pytest.mark.parametrize("kind", [pa.struct({"x": pa.int64()}), pa.list_(pa.int64()), pa.map_(pa.int64(), pa.int64())])
def test_nested_values_are_refused_by_name_as_in_memory(kind, role):
    table = people(30).select(["age"]).append_column("code", pa.nulls(30, kind))
    plan = Plan.of(**{"k": 3, "quasi_identifiers": ["age"] if role else ["age", "code"], **role})
    with pytest.raises(DataError, match=r"must hold .*(The column 'code' holds|Got a column of type)"):
        prepare(table, plan, text=False, decimal=".")
    with pytest.raises(DataError, match=r"must hold numbers, texts, booleans or dates\. The column 'code' holds"):
        Survey.of(plan, table.schema)


def test_identifiers_without_a_role_are_refused():
    table = people(300).append_column("name", pa.array([f"p{i}" for i in range(300)]))
    survey = Survey.of(Plan.of(k=3), table.schema)
    survey.add(table)
    with pytest.raises(DataError, match="'name' looks like an identifier"):
        Layout.of(survey)


def test_long_texts_are_not_kept_and_identifiers_among_them_are_found_all_the_same():
    texts = [f"{at:05d}" + "x" * 995 for at in range(2000)]
    table = pa.table({"age": np.arange(2000) % 50, "note": texts})
    plan = Plan.of(k=3, quasi_identifiers=("age",), rest="other")
    surveys = []
    for size in (2000, 300):
        parts = [Survey.of(plan, table.schema) for _ in range(2)]
        for at in range(0, 2000, size):
            parts[at // size % 2].add(table.slice(at, size))
        parts[1].merge(parts[0])
        surveys.append(parts[1])
    for survey in surveys:
        own = survey.columns["note"]
        assert own.many
        assert own.values is None
        assert own.different == 2000
        with pytest.raises(DataError, match="'note'"):
            Layout.of(survey)
        assert not survey.columns["age"].many
