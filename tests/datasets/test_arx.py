"""Adult as in ARX: found, checked, fetched, and refused if it is another table."""

import gzip
import shutil
from collections import Counter

import pytest

import shoal
from shoal.datasets import _sources, arx, arx_adult
from shoal.errors import DatasetNotFoundError, OptionError

TABLE = "sex,age\nMale,39\nFemale,50\n"
TREES = {"sex": "Male;*\nFemale;*\n", "age": "39;0-49;*\n50;50-99;*\n"}


@pytest.fixture
def tiny(monkeypatch):
    """Put a small table in the place of ARX's."""
    data = _sources.ARX_ADULT._replace(
        n=2,
        columns=("sex", "age"),
        sha256=_sources.text_hash(TABLE),
        url="https://example.org/data/adult.csv",
        hierarchies={name: (f"adult_hierarchy_{name}.csv", _sources.text_hash(text)) for name, text in TREES.items()},
    )
    monkeypatch.setattr(arx, "ARX_ADULT", data)
    return data


def stored(folder, data):
    home = folder / data.folder
    home.mkdir(parents=True)
    (home / data.file).write_bytes(gzip.compress(TABLE.encode()))
    for name, (file, _) in data.hierarchies.items():
        (home / file).write_text(TREES[name].replace("\n", "\r\n"))
    return home


def test_a_folder_is_read_and_its_hierarchies_are_hierarchies(tmp_path, tiny):
    stored(tmp_path, tiny)
    found = arx_adult(data_home=tmp_path)
    assert found.columns == {"sex": ["Male", "Female"], "age": [39, 50]}
    assert shoal.Hierarchy.load(found.hierarchies["age"]).ancestors("39") == ("0-49", "*")
    assert repr(found) == "WithHierarchies('arx_adult', 2 records, 2 columns)"
    assert found.quasi_identifiers == ("sex", "age")


def test_other_content_is_refused(tmp_path, tiny):
    home = stored(tmp_path, tiny)
    (home / "adult_hierarchy_age.csv").write_text("39;*\n50;*\n")
    with pytest.raises(DatasetNotFoundError, match=r"hierarchy_age\.csv must be the one that ARX publishes.*SHA-256"):
        arx_adult(data_home=tmp_path)
    (home / "adult_hierarchy_age.csv").unlink()
    with pytest.raises(DatasetNotFoundError, match="Got no such file"):
        arx_adult(data_home=tmp_path)
    (home / tiny.file).write_bytes(b"nonsense")
    with pytest.raises(DatasetNotFoundError, match="Got a file that is damaged"):
        arx_adult(data_home=tmp_path)


def test_nothing_is_fetched_unless_asked_for(tmp_path, tiny, monkeypatch):
    monkeypatch.setattr(arx, "fetch", lambda url: pytest.fail("fetched"))
    with pytest.raises(DatasetNotFoundError, match="pass download=True"):
        arx_adult(data_home=tmp_path)
    with pytest.raises(OptionError, match="must be True or False"):
        arx_adult(download="yes")
    with pytest.raises(OptionError, match="'data_home' option of arx_adult"):
        arx_adult(data_home="")


def test_what_is_fetched_is_checked_and_kept(tmp_path, tiny, monkeypatch):
    pages = {f"https://example.org/data/{tiny.hierarchies[name][0]}": text.encode() for name, text in TREES.items()}
    pages[tiny.url] = TABLE.replace(",", ";").replace("\n", "\r\n").encode()
    monkeypatch.setattr(arx, "fetch", pages.__getitem__)
    first = arx_adult(data_home=tmp_path, download=True)
    monkeypatch.setattr(arx, "fetch", lambda url: pytest.fail("fetched again"))
    assert arx_adult(data_home=tmp_path, download=True).columns == first.columns
    shutil.rmtree(tmp_path / "hierarchies")
    pages[tiny.url] = b"sex;age\nMale;40\n"
    monkeypatch.setattr(arx, "fetch", pages.__getitem__)
    with pytest.raises(DatasetNotFoundError, match="nothing was kept"):
        arx_adult(data_home=tmp_path, download=True)
    assert not (tmp_path / "hierarchies").exists()


def test_the_real_table():
    try:
        found = arx_adult()
    except DatasetNotFoundError:
        pytest.skip("the table of ARX is not on this machine")
    assert {len(values) for values in found.columns.values()} == {30162}
    assert list(found.columns) == list(found.hierarchies) == list(_sources.ARX_ADULT.columns)
    assert Counter(found.columns["salary-class"])["<=50K"] == 22654  # of the complete records of adult.data
    assert (min(found.columns["age"]), max(found.columns["age"])) == (17, 90)
    assert len(found.quasi_identifiers) == 7
