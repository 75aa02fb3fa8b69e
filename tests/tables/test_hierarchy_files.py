"""Files of hierarchies: a level ends where the file leaves it."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError
from shoal.tables import hierarchy_files
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.hierarchy_files import _from_indented


@st.composite
def depths(draw):
    """Draw how many @ stand before each code: at most one more than before."""
    drawn = [0]
    for _ in range(draw(st.integers(0, 14))):
        drawn.append(draw(st.integers(0, drawn[-1] + 1)))
    return drawn


@given(depths())
def test_hrc_by_a_plain_search_for_the_line_above(drawn):
    """The parent of a code is the last code before it with one @ less."""
    labels, parents = _from_indented("".join(f"{'@' * depth}v{at}\n" for at, depth in enumerate(drawn)), "the file")
    found = {label: None if above < 0 else labels[above] for label, above in zip(labels, parents, strict=True)}
    top = "*" if drawn.count(0) > 1 else None
    for at, depth in enumerate(drawn):
        above = top if depth == 0 else f"v{max(i for i in range(at) if drawn[i] == depth - 1)}"
        assert found[f"v{at}"] == above
    assert len(found) == len(drawn) + (top is not None)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("N\n@A\n@@a\nS\n@@b\n", 5),  # not below A, which is in another branch
        ("N\n@A\n@@a\n@@@deep\n@B\n@@@b\n", 6),
        ("N\n@A\nS\n@@b\n", 4),
    ],
)
def test_hrc_levels_of_another_branch_are_closed(tmp_path, text, line):
    (tmp_path / "h.hrc").write_text(text)
    with pytest.raises(DataError, match=rf"at most one level below the line before\. Got more in line {line}\."):
        Hierarchy.load(tmp_path / "h.hrc")


@pytest.mark.parametrize(("torn", "named"), [(1, 1), (5, 5), (6, 5), (9, 5)])
def test_owl_names_the_first_five_of_several_kinds(tmp_path, torn, named):
    links = "\n".join(
        f'<owl:Class rdf:about="x#v{at}"><rdfs:subClassOf rdf:resource="x#{above}"/></owl:Class>'
        for at in range(torn)
        for above in ("A", "B")
    )
    (tmp_path / "h.owl").write_text(
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#" '
        f'xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">{links}</rdf:RDF>'
    )
    with pytest.raises(DataError, match=rf"Got {torn} with several: 'v0' in lines") as caught:
        Hierarchy.load(tmp_path / "h.owl")
    assert str(caught.value).count(" in lines ") == named


def test_a_small_packed_file_cannot_fill_the_memory(tmp_path, monkeypatch):
    path = tmp_path / "h.csv.gz"
    path.write_bytes(gzip.compress(b"a;*\n" + b"b;*\n" * 1000))
    assert Hierarchy.load(path).labels
    monkeypatch.setattr(hierarchy_files, "LARGEST", 1000)
    with pytest.raises(DataError, match="must have at most 0 MiB when it is unpacked"):
        Hierarchy.load(path)
