"""The lowest losses we claim are those of partitions that we keep: each is computed anew."""

import numpy as np
import pytest
from benchmarks import records as benchmark
from benchmarks.published import TABLES, best_printed, table
from benchmarks.records import AIMS, checksum, records, unpacked

from shoal.measure import gap, information_loss, lower_bound

pytestmark = pytest.mark.usefixtures("benchmark_data")


@pytest.mark.parametrize("dataset", sorted({key.rsplit(" ", 1)[0] for key in records()}, key=list(TABLES).index))
def test_every_record_is_the_loss_of_the_partition_that_is_kept(dataset):
    X = table(dataset)
    for key, record in records().items():
        name, k = key.rsplit(" ", 1)
        if name != dataset:
            continue
        labels = unpacked(record["labels"])
        assert checksum(labels) == record["checksum"]
        assert len(labels) == len(X)
        assert np.bincount(labels).min() >= int(k)
        assert 100 * information_loss(X, labels) == pytest.approx(record["loss"], rel=1e-9)
        # Bounds hold up to the tolerance of the proof.
        assert record.get("bound", 0.0) <= record["loss"] * (1 + 1e-6)


def test_every_record_of_the_classical_tables_is_below_print():
    known = records()
    for dataset in AIMS:
        for k in (int(key.rsplit(" ", 1)[1]) for key in known if key.startswith(dataset + " ")):
            assert known[f"{dataset} {k}"]["loss"] < float(best_printed(dataset, k))


def test_the_neighbour_bound_is_below_every_record():
    known = records()
    X = table("Tarragona")
    for k in (2, 5, 30):
        loss = known[f"Tarragona {k}"]["loss"] / 100
        assert 0.2 < gap(loss, lower_bound(X, k)) < 1.0


PAGE = """# The lowest losses

Measured on 2026-11-16 on commit `1234567`.

## Records

| a |

## (a) Census

One thread.

| b |

## (c) Adult

Measured on 2026-11-12 on commit `7654321`.

Two threads.
"""


def test_parts_that_are_not_measured_stay_on_the_page_with_their_origin(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmark, "PAGES", tmp_path)
    assert benchmark.standing("a") == []
    (tmp_path / "records.md").write_text(PAGE)
    first = "Measured on 2026-11-16 on commit `1234567`."
    assert benchmark.standing("a") == [f"## (a) Census\n\n{first}\n\nOne thread.\n\n| b |\n"]
    assert benchmark.standing("c") == ["## " + PAGE.split("## ")[-1]]
    assert benchmark.standing("b") == []


def test_a_better_partition_keeps_the_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmark, "RECORDS", tmp_path / "records.json")
    X = np.arange(8.0)[:, None] ** 2
    worse, better = np.arange(8) % 4, np.arange(8) // 2
    benchmark.note_record("Some", 2, X, worse, 1.0)
    benchmark.note_bound("Some", 2, 0.1, 0.2, 3.0)
    noted = benchmark.note_record("Some", 2, X, better, 1.0)
    assert noted["loss"] == pytest.approx(100 * information_loss(X, better))
    assert noted["bound"] == 0.2
    assert benchmark.note_record("Some", 2, X, worse, 1.0) == noted
