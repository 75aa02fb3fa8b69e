"""Hierarchies: built in every way, asked everything, and refused with the lines where they are wrong."""

import contextlib
import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_tables import common_ancestor, path, tree_distance

from shoal.errors import DataError, OptionError, ShoalError
from shoal.tables.hierarchy import Hierarchy

REAL = Path(os.environ.get("SHOAL_DATA") or Path(__file__).parents[3] / "shared" / "data") / "hierarchies"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="benchmark data not found; SHOAL_DATA names it")


@st.composite
def trees(draw):
    """A tree of unique labels as a dict from label to parent; the first is the root."""
    count = draw(st.integers(1, 14))
    return {f"v{i}": None if i == 0 else f"v{draw(st.integers(0, i - 1))}" for i in range(count)}


def nested(tree):
    def below(label):
        return {child: below(child) for child, above in tree.items() if above == label}

    return {"v0": below("v0")}


def write(folder, text, name="h.csv", encoding="utf-8"):
    file = folder / name
    file.write_bytes(text.encode(encoding))
    return file


# --- what a hierarchy is asked ---


@given(trees())
def test_paths_ancestors_and_distances(tree):
    hierarchy = Hierarchy.from_nested(nested(tree))
    assert sorted(hierarchy.labels) == sorted(tree)
    assert set(hierarchy.leaves) == set(tree) - set(tree.values())
    labels = list(tree)
    nodes = hierarchy.nodes_of(labels)
    assert [hierarchy.labels[node] for node in nodes] == labels
    for label, node in zip(labels, nodes, strict=True):
        assert hierarchy.ancestors(label) == tuple(path(tree, label)[1:])
        assert hierarchy.depths[node] == hierarchy.heights[node] == len(path(tree, label)) - 1
    distances = hierarchy.distance(nodes[:, None], nodes)
    assert distances.tolist() == [[tree_distance(tree, a, b) for b in labels] for a in labels]


@given(trees(), st.data())
def test_common_ancestors_of_groups(tree, data):
    hierarchy = Hierarchy.from_nested(nested(tree))
    groups = data.draw(st.lists(st.lists(st.sampled_from(list(tree)), min_size=1, max_size=5), min_size=1, max_size=6))
    nodes = hierarchy.nodes_of([label for group in groups for label in group])
    starts = np.cumsum([0, *map(len, groups)])[:-1]
    found = hierarchy.common_ancestor(nodes, starts)
    assert [hierarchy.labels[node] for node in found] == [common_ancestor(tree, group) for group in groups]


@given(trees())
def test_rows_and_back(tree):
    """Leaves that lie higher are repeated, so that all rows are of one length: what lies above each does not change."""
    hierarchy = Hierarchy.from_nested(nested(tree))
    rows = hierarchy.to_rows()
    assert len({len(row) for row in rows}) == 1
    assert [row[0] for row in rows] == list(hierarchy.leaves)
    if len(rows[0]) > 1:
        again = Hierarchy.from_rows(rows)
        assert again.leaves == hierarchy.leaves
        assert again.to_rows() == rows
        for leaf in hierarchy.leaves:
            assert dict.fromkeys((leaf, *again.ancestors(leaf))) == dict.fromkeys((leaf, *hierarchy.ancestors(leaf)))


def test_lengths_of_edges():
    hierarchy = Hierarchy.from_nested({"*": {"A": ["a", "b"], "B": ["c"]}})
    assert hierarchy.labels == ("*", "A", "a", "b", "B", "c")
    longer = hierarchy.with_lengths([9, 10, 1, 2, 0, 0.5])
    a, b, c = longer.nodes_of(["a", "b", "c"])
    assert longer.distance(np.array([a, a]), np.array([b, c])).tolist() == [3, 11.5]
    assert hierarchy.distance(np.array([a, a]), np.array([b, c])).tolist() == [2, 4]
    for bad in ([1, 2], [0, 1, 1, 1, 1, -1], [0, 1, 1, 1, 1, np.nan]):
        with pytest.raises(OptionError, match="6 finite numbers >= 0"):
            hierarchy.with_lengths(bad)


def test_it_cannot_be_changed():
    hierarchy = Hierarchy.from_nested(["a", "b"])
    with pytest.raises(AttributeError):
        hierarchy.labels = ()
    with pytest.raises(ValueError, match="read-only"):
        hierarchy.parents[1] = 2
    assert repr(hierarchy) == "<Hierarchy of 2 leaves, 3 nodes, 2 levels>"


def test_values_that_are_not_covered_are_counted_and_not_named():
    hierarchy = Hierarchy.from_nested({"all": {"Europe": ["France", "Italy"]}})
    assert hierarchy.uncovered(["France", "Secret", "Europe", "Spain"]) == ("Secret", "Spain")
    with pytest.raises(DataError, match=r"column 'home' must be in its hierarchy\. Got 2 of 4") as error:
        hierarchy.nodes_of(["France", "Secret", "Europe", "Spain"], "column 'home'")
    assert "Secret" not in str(error.value)


def test_a_label_on_several_levels_is_the_lowest():
    hierarchy = Hierarchy.from_rows([["Other", "Other", "*"], ["Misc", "Other", "*"], ["60", "60-80", "*"]])
    leaf = hierarchy.nodes_of(["Other"])[0]
    assert leaf in hierarchy.leaf_nodes
    assert hierarchy.ancestors("Other") == ("Other", "*")
    ages = Hierarchy.from_rows([["60", "60-80", "60-80", "*"], ["70", "60-80", "60-80", "*"]])
    assert ages.ancestors("60-80") == ("60-80", "*")


def test_a_million_rows_in_a_moment():
    hierarchy = Hierarchy.from_prefixes(f"{i:05d}" for i in range(10_000, 12_000))
    nodes = np.random.default_rng(0).choice(hierarchy.leaf_nodes, 1_000_000)
    found = hierarchy.common_ancestor(nodes, np.arange(0, 1_000_000, 2))
    few = np.arange(0, 500_000, 9_999)
    pairs = [(hierarchy.labels[nodes[2 * i]], hierarchy.labels[nodes[2 * i + 1]]) for i in few]
    for i, (a, b) in zip(few, pairs, strict=True):
        shared = next((j for j in range(5) if a[j] != b[j]), 5)
        assert hierarchy.labels[found[i]] == a[:shared].ljust(5, "*")


# --- builders ---


def test_prefixes():
    zips = Hierarchy.from_prefixes(["47677", "47602", "47602"])
    assert zips.ancestors("47677") == ("4767*", "476**", "47***", "4****", "*")
    assert len(zips.leaves) == 2
    icd = Hierarchy.from_prefixes(["E11", "E11.9", "F2"], (3, 1), mask="-")
    assert icd.ancestors("E11") == icd.ancestors("E11.9") == ("E11--", "E----", "*")
    assert icd.ancestors("F2") == ("F2---", "F----", "*")
    assert Hierarchy.from_prefixes(["a", "b"]).ancestors("a") == ("*",)


@pytest.mark.parametrize("lengths", [(1, 3), (3, 3), (0,), (6,), (3, -1)])
def test_prefixes_refuse_lengths_that_do_not_fall(lengths):
    with pytest.raises(OptionError, match="must fall"):
        Hierarchy.from_prefixes(["47677"], lengths)


@pytest.mark.parametrize("codes", [[], ["47*"], ["1", ""]])
def test_prefixes_refuse_codes(codes):
    with pytest.raises(DataError, match="none of them empty or with the mask"):
        Hierarchy.from_prefixes(codes)
    with pytest.raises(OptionError, match="one character"):
        Hierarchy.from_prefixes(["1"], mask="**")


def test_intervals_by_width():
    ages = Hierarchy.intervals(["23", "20", "-1", "20.0", "39.999"], (5, 10, 20, 40))
    assert ages.ancestors("23") == ("[20, 25)", "[20, 30)", "[20, 40)", "[0, 40)", "*")
    assert ages.ancestors("20") == ages.ancestors("20.0") == ages.ancestors("23")
    assert ages.ancestors("-1") == ("[-5, 0)", "[-10, 0)", "[-20, 0)", "[-40, 0)", "*")
    assert Hierarchy.intervals([7], [2], origin=1).ancestors("7") == ("[7, 9)", "*")
    assert (
        Hierarchy.intervals(["1e20"], [1000]).ancestors("1e20")[0] == "[100000000000000000000, 100000000000000001000)"
    )


@given(st.integers(-10_000, 10_000), st.sampled_from(["0.1", "0.3", "0.7", "1.1", 0.1, 0.7, 3]))
def test_intervals_do_not_round(step, width):
    """A multiple of the width begins its interval, also where double precision would put it into the one before."""
    scaled = step * round(float(width) * 10)
    text = f"{'-' if scaled < 0 else ''}{abs(scaled) // 10}.{abs(scaled) % 10}"
    label = Hierarchy.intervals([text], [width]).ancestors(text)[0]
    assert float(label[1:].split(",")[0]) == float(text)


def test_intervals_by_edges():
    ages = Hierarchy.intervals(["3", "18", "30", "64.5", "99"], edges=[(6, 18, 40, 65), (18, 65)])
    assert ages.ancestors("3") == ("(-inf, 6)", "(-inf, 18)", "*")
    assert ages.ancestors("18") == ages.ancestors("30") == ("[18, 40)", "[18, 65)", "*")
    assert ages.ancestors("64.5") == ("[40, 65)", "[18, 65)", "*")
    assert ages.ancestors("99") == ("[65, inf)", "[65, inf)", "*")


@pytest.mark.parametrize(
    "options",
    [
        {"widths": (5, 12)},
        {"widths": (10, 5)},
        {"widths": (5, 5)},
        {"widths": ()},
        {"widths": (0, 5)},
        {"widths": (-5,)},
        {"widths": ("x",)},
        {"widths": (5, float("nan"))},
        {"edges": []},
        {"edges": [()]},
        {"edges": [(1, 2), (3,)]},
        {"edges": [(2, 1)]},
        {"edges": [(1, 1)]},
        {"edges": [("x",)]},
        {"widths": (5,), "edges": [(1,)]},
        {"widths": (5,), "origin": "x"},
        {},
    ],
    ids=str,
)
def test_intervals_that_do_not_nest_are_refused(options):
    with pytest.raises(OptionError, match="ladder of intervals must"):
        Hierarchy.intervals(["1"], **options)


@pytest.mark.parametrize("bad", ["", "abc", "nan", "inf", "1e999999999", "1" * 99])
def test_intervals_stand_on_numbers(bad):
    with pytest.raises(DataError, match="Got 1 other of 2 values"):
        Hierarchy.intervals(["1", bad], [5])


def test_nested_in_all_its_forms():
    tree = {
        "Europe": ["France", {"Nordic": ["Norway", 1], "West": "Eire"}],
        "Asia": None,
        "Other": ["Other", 2.5],
        "x": [],
    }
    hierarchy = Hierarchy.from_nested(tree)
    assert hierarchy.leaves == ("France", "Norway", "1", "Eire", "Asia", "Other", "2.5", "x")
    assert hierarchy.ancestors("Norway") == ("Nordic", "Europe", "*")
    assert hierarchy.ancestors("Other") == ("Other", "*")
    assert Hierarchy.from_nested({"all": ["a", "b"]}).ancestors("a") == ("all",)


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({}, "at least one value"),
        (None, "at least one value"),
        ({"A": ["x"], "B": ["x"]}, "'x' twice"),
        (["x", "x"], "'x' twice"),
        ({"A": ["A", "A"]}, "'A' twice"),
        ({"A": {"x": ["y"]}, "B": {"x": ["z"]}}, "'x' twice"),
        ({"A": ["B"], "B": ["c"]}, "'B' twice"),
        ({"A": {"A": ["c"]}}, "'A' twice"),
        ({"A": [["c"]]}, "Got a list"),
        ({"A": [True]}, "Got a bool"),
        ({"A": [None]}, "Got a NoneType"),
        ({"A": ["", "b"]}, "must not be empty"),
    ],
    ids=str,
)
def test_nested_that_is_refused(tree, words):
    with pytest.raises(DataError, match=words):
        Hierarchy.from_nested(tree)


def test_a_tree_that_holds_itself_is_refused():
    tree = {}
    tree["A"] = tree
    with pytest.raises(DataError, match="'A' twice"):
        Hierarchy.from_nested(tree)


def test_several_tops_get_a_root():
    assert Hierarchy.from_rows([["a", "A"], ["b", "B"]]).ancestors("a") == ("A", "*")
    assert Hierarchy.from_rows([["a", "A"], ["b", "A"]]).ancestors("a") == ("A",)


# --- files ---


@pytest.mark.parametrize("delimiter", [";", ",", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_csv_dialects(tmp_path, delimiter, end):
    lines = [["1", "low", "*"], ['"a;b,c"', "low", "*"], ["2", '"say ""high"""', "*"]]
    text = "\ufeff" + end.join(delimiter.join(line) for line in lines) + end + end
    hierarchy = Hierarchy.load(write(tmp_path, text))
    assert hierarchy.leaves == ("1", "a;b,c", "2")
    assert hierarchy.ancestors("2") == ('say "high"', "*")


def test_csv_labels_may_hold_other_delimiters(tmp_path):
    assert Hierarchy.from_csv(write(tmp_path, "29;[20,30[;*\n31;[30,40[;*\n")).ancestors("29") == ("[20,30[", "*")
    assert Hierarchy.from_csv(write(tmp_path, "a,x;y\nb,z\n")).ancestors("a") == ("x;y", "*")


def test_equal_lines_are_one(tmp_path):
    assert Hierarchy.from_csv(write(tmp_path, "a;*\nb;*\na;*\n")).leaves == ("a", "b")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "at least one line"),
        ("\n\n", "at least one line"),
        ("a\nb\n", "at least two. Got 1 in most"),
        ("a;A;*\nb;*\nc;A;*\nd;A;*;*\n", "another number in 2 in lines 2, 4"),
        ("a;A;*\nb;;*\n", "Got empty ones in line 2"),
        ("a;A;*\n;A;*\n;;\n", "Got empty ones in lines 2, 3"),
        ("a;A;*\nb;B;*\n\na;B;*\n", r"'a' \(column 1\) in lines 1 and 4"),
        ("a;A;X;*\nb;B;X;*\nc;A;Y;*\n", r"'A' \(column 2\) in lines 1 and 3"),
        ('a;"A;*\nb;B;*\n', "must be a CSV file. Got in line"),
        ('"a\nb";A\nc\n', "another number in 1 in line 3"),
    ],
    ids=str,
)
def test_csv_that_is_refused_with_its_lines(tmp_path, text, words):
    with pytest.raises(DataError, match=words) as error:
        Hierarchy.load(write(tmp_path, text))
    assert "'h.csv'" in str(error.value)


def test_many_wrong_lines_are_not_all_named(tmp_path):
    text = "".join(f"{i};*\n" for i in range(50)) + "".join(f"{i};A;*\n" for i in range(100, 120))
    with pytest.raises(DataError, match="lines 51, 52, 53, 54, 55 and 15 more"):
        Hierarchy.load(write(tmp_path, text))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match="No such file"):
        Hierarchy.load(tmp_path / "none.csv")
    with pytest.raises(DataError, match=r"UTF-8\. Got other bytes in line 2"):
        Hierarchy.load(write(tmp_path, "a;*\né;*\n", encoding="latin-1"))
    with pytest.raises(DataError, match="can be read"):
        Hierarchy.load(write(tmp_path, "a;*\n", name="h.csv.gz"))
    with pytest.raises(OptionError, match="must end in one of"):
        Hierarchy.load(write(tmp_path, "a;*\n", name="h.cvs"))


@given(text=st.text("a;,\"\n\t* \r\0'", max_size=30))
def test_any_csv_is_read_or_refused(tmp_path_factory, text):
    file = write(tmp_path_factory.getbasetemp(), text, name="fuzz.csv")
    with contextlib.suppress(ShoalError):
        hierarchy = Hierarchy.load(file)
        assert len(hierarchy.leaves) >= 1
        assert all(hierarchy.labels)


YAML = """
Europe:
  West: [France, 'no']
  Nordic:
    - Norway
    - 01
Asia:
"""


def test_yaml_takes_labels_as_they_are_written(tmp_path):
    hierarchy = Hierarchy.load(write(tmp_path, YAML, "h.yaml"))
    assert hierarchy.leaves == ("France", "no", "Norway", "01", "Asia")
    assert Hierarchy.load(write(tmp_path, "[no, yes, 1.0, null, ~]", "h.yml")).leaves == (
        "no",
        "yes",
        "1.0",
        "null",
        "~",
    )
    packed = tmp_path / "h.yaml.gz"
    packed.write_bytes(gzip.compress(YAML.encode()))
    assert Hierarchy.load(packed).labels == hierarchy.labels


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "at least one value"),
        ("A: [x, y]\nB:\n  - z\n  - x\n", "'x' twice in lines 1, 4"),
        ("A: [x, y]\nB: [z\n", "must be YAML. Got .* in line 3"),
        ("A: &a [x, *a]\n", "list or a mapping as one in line 1"),
        ("a: &a {x: 1}\nb: *a\n", "'x' twice in lines 1, 1"),
        ("? [1, 2]\n: x\n", "list or a mapping as one in line 1"),
        ("A: ['']\n", "must not be empty. Got an empty one in line 1"),
    ],
    ids=str,
)
def test_yaml_that_is_refused_with_its_lines(tmp_path, text, words):
    with pytest.raises(DataError, match=words):
        Hierarchy.load(write(tmp_path, text, "h.yaml"))


def test_json(tmp_path):
    tree = {"Europe": {"West": ["France", "01"], "Nordic": ["Norway", 1.50]}, "Asia": None}
    hierarchy = Hierarchy.load(write(tmp_path, json.dumps(tree, indent="\t"), "h.json"))
    assert hierarchy.leaves == ("France", "01", "Norway", "1.5", "Asia")
    for text, words in [
        ('{"A": ["x"], "A": ["y"]}', "'A' twice in one mapping"),
        ('{"A": ["x"],\n"B": [}', "must be JSON. Got .* in line 2"),
        ('{"A": [true]}', "Got a bool"),
        ('{"A": ["x"], "B": ["x"]}', "'x' twice"),
        ("[" * 100_000, "nested deeper|must be JSON"),
    ]:
        with pytest.raises(DataError, match=words):
            Hierarchy.load(write(tmp_path, text, "h.json"))


def test_hrc(tmp_path):
    hierarchy = Hierarchy.load(write(tmp_path, "North\n@A\n@B\n@@b1\nSouth\n@C\n", "h.hrc"))
    assert hierarchy.leaves == ("A", "b1", "C")
    assert hierarchy.ancestors("b1") == ("B", "North", "*")
    for text, words in [
        ("North\n@@A\n", "Got more in line 2"),
        ("@A\n", "Got more in line 1"),
        ("N\n@A\nS\n@A\n", "'A' twice in lines 2, 4"),
        ("N\n@\n", "empty one in line 2"),
        ("", "at least one value"),
    ]:
        with pytest.raises(DataError, match=words):
            Hierarchy.load(write(tmp_path, text, "h.hrc"))


OWL = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">
{}
</rdf:RDF>
"""


def owl(*pairs):
    return OWL.format(
        "\n".join(f'<owl:Class rdf:about="x#{a}"><rdfs:subClassOf rdf:resource="x#{b}"/></owl:Class>' for a, b in pairs)
    )


def test_owl(tmp_path):
    hierarchy = Hierarchy.load(write(tmp_path, owl(("a", "A"), ("b", "A"), ("A", "all")), "h.owl"))
    assert hierarchy.ancestors("a") == ("A", "all")
    for text, words in [
        (owl(("a", "A"), ("a", "B")), "'a' in lines 4, 4, 5, 5"),
        (owl(("a", "b"), ("b", "a")), "circle in lines 4, 4"),
        (owl(("a", "b"), ("b", "a"), ("c", "d")), "circle in lines 4, 4"),
        (OWL.format(""), "at least one value"),
        ("<rdf", "must be RDF/XML"),
    ]:
        with pytest.raises(DataError, match=words):
            Hierarchy.load(write(tmp_path, text, "h.owl"))


@needs_real
@pytest.mark.parametrize(
    ("file", "leaves", "levels", "value", "above"),
    [
        ("arx_adult/adult_hierarchy_age.csv", 100, 5, "21", ("20-24", "20-29", "20-39", "*")),
        ("arx_adult/adult_hierarchy_education.csv", 16, 4, "11th", ("High School", "Secondary education", "*")),
        ("arx_adult/adult_hierarchy_marital-status.csv", 7, 3, "Divorced", ("spouse not present", "*")),
        ("arx_adult/adult_hierarchy_native-country.csv", 41, 3, "Outlying-US(Guam-USVI-etc)", ("North America", "*")),
        ("arx_adult/adult_hierarchy_occupation.csv", 14, 3, "Sales", ("Nontechnical", "*")),
        ("arx_adult/adult_hierarchy_race.csv", 5, 2, "White", ("*",)),
        ("arx_adult/adult_hierarchy_salary-class.csv", 2, 2, "<=50K", ("*",)),
        ("arx_adult/adult_hierarchy_sex.csv", 2, 2, "Male", ("*",)),
        ("arx_adult/adult_hierarchy_workclass.csv", 8, 3, "Private", ("Non-Government", "*")),
        ("arx_test/test2_hierarchy_Age.csv", 9, 3, "29", ("[20,30[", "*")),
        ("arx_test/test2_hierarchy_Disease.csv", 6, 4, "flu", None),
        ("arx_test/test2_hierarchy_ZIPCode.csv", 9, 6, "47677", ("4767*", "476**", "47***", "4****", "*****")),
        ("arx_test/test_hierarchy_age.csv", 100, 3, "50", (">=50", "*")),
        ("arx_test/test_hierarchy_zipcode.csv.gz", 10_000, 6, "81667", ("8166*", "816**", "81***", "8****", "*")),
        ("crises_adult_owl/sex-ontology.owl", 2, 3, "man", ("Male", "Gender")),
        ("crises_adult_owl/marital-status-ontology.owl", 6, 4, "Divorced", ("Separated", "Single", "Marital-Status")),
        ("crises_adult_owl/age-ontology.owl", 101, 6, None, None),
    ],
)
def test_real_files(file, leaves, levels, value, above):
    hierarchy = Hierarchy.load(REAL / file)
    assert len(hierarchy.leaves) == leaves
    assert hierarchy.depths.max() + 1 == levels
    if above is not None:
        assert hierarchy.ancestors(value) == above


@needs_real
def test_a_real_ontology_that_is_no_tree():
    with pytest.raises(DataError, match="'Own-child' in lines 66, 67, 68"):
        Hierarchy.load(REAL / "crises_adult_owl" / "relationship-ontology.owl")


@needs_real
@pytest.mark.parametrize("line", [1, 7, 16])
def test_a_real_file_with_a_wrong_line_is_refused_with_it(tmp_path, line):
    lines = (REAL / "arx_adult" / "adult_hierarchy_education.csv").read_text().splitlines()
    cells = lines[line - 1].split(";")
    for broken in (cells[:-1], [*cells, "*"], [cells[0], "", *cells[2:]], [*cells[:2], "Nowhere", *cells[3:]]):
        text = "\n".join([*lines[: line - 1], ";".join(broken), *lines[line:]])
        with pytest.raises(DataError, match=rf"lines? (\d+ and )?({line}\b|1\b.*\b{line}\b)|lines {line} and \d+"):
            Hierarchy.load(write(tmp_path, text))
