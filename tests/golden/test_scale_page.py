"""The tables of the page on scale: written from what was measured, each size by itself, and nothing else changed."""

import re

import pytest
from benchmarks import scale_page

ONE = {
    **{"rows": 10_000_000, "k": 5, "groups": 1_800_000, "loss": 0.05, "method": "ona* in 200 blocks, 3 rounds"},
    **{"clock": 1500.0, "processor": 2500.0, "peak": 1_900_000_000, "spilled": 3_000_000_000},
    "phases": {"survey": [10.0, 15.0], "grouping": [700.0, 1300.0]},
}
SPARK = {
    **{"rows": 10_000_000, "k": 5, "loss": 0.05, "method": ONE["method"], "start": 9.0, "clocks": [3000.0]},
    **{"processors": [5000.0], "phases": {"survey": 60.0}, "shuffled": 4_000_000_000, "peak": 3_000_000_000},
}


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Return a copy of the page, without what was measured."""
    copy = tmp_path / "scale.md"
    copy.write_text(scale_page.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(scale_page, "PAGE", copy)
    monkeypatch.setattr(scale_page, "KEPT", tmp_path / "scale.json")
    return copy


def prose(text):
    return re.sub(r"<!-- begin ([\w ]+) -->.*?<!-- end \1 -->", "", text, flags=re.DOTALL)


def test_what_was_measured_is_kept_by_size_and_written(page):
    before = prose(page.read_text())
    scale_page.write()
    assert page.read_text().count(scale_page.NONE) == 8
    scale_page.keep("stream", "10 million, k = 5", ONE)
    scale_page.keep("stream", "20 million, k = 5", {**ONE, "rows": 20_000_000, "clock": 3100.0})
    scale_page.keep("stream", "10 million, k = 5, 8 rounds", {**ONE, "loss": 0.0495})
    scale_page.keep("stream", "40 million, k = 5, cbfs, 0 rounds", {**ONE, "rows": 40_000_000, "method": "cbfs"})
    scale_page.keep("memory", "10 million, k = 5", {"k": 5, "loss": 0.049, "processor": 9.0})
    scale_page.keep("spark", "10 million, k = 5", SPARK)
    scale_page.keep("spark", "40 million, k = 5, cbfs, 0 rounds", {**SPARK, "rows": 40_000_000})
    scale_page.write()
    scale_page.write()
    text = page.read_text()
    assert prose(text) == before
    assert "| 10 | ona* in 200 blocks, 3 rounds | 25.0 | 41.7 | 6,667 | 1.90 | 3.0 | 5.000 |" in text
    assert "| 20 | " in text
    assert "| 40 | cbfs | 25.0 | 41.7 | 26,667 | 1.90 | 3.0 | 5.000 |" in text
    assert "| 40 | 0.38 |  |  | 32.50 |" in text
    assert "| 10 | 1.50 |  |  | 130.00 |" in text
    assert "5.000 (+2.04 %) | 4.950 (+1.02 %) |" in text
    assert "| 10 million, k = 5 | 9 | 3000 |  | 5000 | 2.00 | 400 | 3.00 | 5.000 |" in text
    # Nothing is compared with a stream that groups otherwise.
    assert "| 40 million, k = 5, cbfs, 0 rounds | 9 | 3000 |  | 5000 |  | 100 | 3.00 | 5.000 |" in text
    # 250 microseconds a row, for 10^10 rows on 1,600 cores; twice that for Spark; 40 GB a machine through the network.
    assert "| 250.0 | 0.4 | 2.00 | 1 | 0.9 |" in text
    assert text.count(scale_page.NONE) == 1


def test_a_page_without_its_comments_is_refused(page):
    page.write_text("# Nothing\n")
    with pytest.raises(SystemExit, match="must have the comments <!-- begin stream -->"):
        scale_page.write()
