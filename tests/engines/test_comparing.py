"""Distributions and correlations of tables in parts: those that memory finds for the same rows and groups."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import shoal
from engines.in_parts import recomputed, shown
from engines.in_pieces import PLAN, layout_of, people
from shoal.engines import stream
from shoal.engines.blocks import publish_block
from shoal.engines.comparing import windows_of
from shoal.plan import Plan
from shoal.release.hooks import Hooks
from shoal.release.job import Job
from shoal.release.report import windows
from shoal.release.report.comparison import Counted, Largest, compared
from shoal.release.report.windows import Cells, Published, _ordered, limits_of
from shoal.tables.values import Codes, Numbers

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.DisclosureWarning")
FIELDS = {**PLAN, "method": "mdav", "random_state": 0}
ONE_BLOCK = {"block_records": 10_000}
BLOCKS = {"block_records": 200, "rounds": 2}


def streamed(table, folder, how, name="in.parquet", **fields):
    """Return the release of a table in pieces, and its published rows."""
    source, target = folder / name, folder / f"out-{name}"
    if name.endswith("csv"):
        pacsv.write_csv(table, source)
    else:
        pq.write_table(table, source, row_group_size=211)
    plan = Plan.of(**{**FIELDS, "engine": "stream", **fields})
    release = stream.run(Job(plan, source, target, force=True), Hooks(), **how)
    return release, None if name.endswith("csv") else pq.read_table(target)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"release": "local-recoding"},
        {"representatives": {"income": "median", "weight": "interval", "age": "medoid"}, "k": 7},
        {"missing": "drop", "levels": {"level": ("low", "mid", "high")}},
        {"stratum": ("region",), "rest": "drop"},
        {"weight": "share", "rest": "drop"},
        {"sensitive_attributes": ("ill",), "l": 2},
    ],
    ids=["means", "intervals", "others", "dropped rows", "strata", "weights", "models"],
)
@pytest.mark.parametrize("name", ["in.parquet", "in.csv"])
def test_a_table_of_one_block_shows_what_memory_shows(tmp_path, fields, name):
    table = people(1800)
    release, _ = streamed(table, tmp_path, ONE_BLOCK, name, **fields)
    if name == "in.csv":
        memory = shoal.anonymize_file(tmp_path / name, **{**FIELDS, **fields, "engine": "memory"})
    else:
        memory = shoal.anonymize(table, **{**FIELDS, **fields})
    assert memory.losses.most == release.losses.most > 0
    assert shown(release.evidence) == shown(memory.evidence)
    assert len(release.evidence.distributions) == 7
    assert release.evidence.sizes == memory.evidence.sizes
    if not fields:
        assert release.evidence.correlations.before[0][0] == 1.0
    page = release.report()
    assert "Distributions before and after" in page
    assert ("Correlations before and after" in page) is (fields.get("release") != "local-recoding")


def test_the_report_has_the_section_of_memory(tmp_path):
    table = people(1500)
    pages = [streamed(table, tmp_path, ONE_BLOCK)[0].report(), shoal.anonymize(table, **FIELDS).report()]
    parts = [page[page.index('<section id="distributions">') : page.index('<section id="columns">')] for page in pages]
    assert parts[0] == parts[1]


@pytest.mark.parametrize("how", [{"batch_bytes": 2000}, {}], ids=["small pieces", "one piece"])
def test_blocks_add_up_to_what_memory_shows_of_their_groups(tmp_path, how):
    table = people(2000)
    release, published = streamed(table, tmp_path, {**BLOCKS, **how}, n_jobs=3 if how else 1)
    assert int(release.way.split()[0]) > 5
    assert shown(release.evidence) == shown(recomputed(table, release, published))


def test_strata_that_are_ready_after_the_first_round_count_too(tmp_path):
    table = people(1200)
    table = table.set_column(8, "region", pa.array(["n"] * 1100 + ["s"] * 100))
    release, published = streamed(table, tmp_path, BLOCKS, stratum=("region",))
    assert shown(release.evidence) == shown(recomputed(table, release, published))


def test_of_units_nothing_is_told_of_the_originals(tmp_path):
    release, _ = streamed(people(1200), tmp_path, BLOCKS, unit="person")
    evidence = release.evidence
    assert [one.before for one in evidence.distributions] == [None] * 7
    assert {figure.mean_before for figure in evidence.figures} == {None}
    assert {r for row in evidence.correlations.before for r in row} == {None}
    assert any(sum(one.after) for one in evidence.distributions)


def test_more_words_than_are_counted_are_not_named(tmp_path, monkeypatch):
    monkeypatch.setattr(windows, "MOST_WORDS", 30)
    release, _ = streamed(people(1200), tmp_path, BLOCKS, release="local-recoding")
    drawn = {one.name: one for one in release.evidence.distributions}
    assert drawn["income"].labels == ()
    assert drawn["income"].pooled == (0, 1200)
    assert drawn["job"].labels


def test_what_parts_publish_has_the_limits_of_all_rows():
    rng = np.random.default_rng(4)
    values = np.repeat(np.round(rng.pareto(0.8, 900) - rng.pareto(0.9, 900), 2), 4)
    found = Published()
    for part in np.array_split(rng.permutation(900), 7):
        found.merge(Published.of(Numbers(values[part * 4]), np.full(len(part), 4)))
    assert found.limits() == limits_of(values, 4)
    assert Published.of(Codes(np.array([0, 1, -1]), ("a", "b")), np.array([4, 5, 6])).words == {"a": 4, "b": 5}


@pytest.mark.parametrize("most", [64, 1000, 10_000])
def test_numbers_that_differ_little_are_one_whatever_the_parts(most):
    rng = np.random.default_rng(5)
    values = np.concatenate([rng.normal(size=3000), -(10.0 ** rng.uniform(-12, 12, 3000)), [0.0, -0.0]])
    cells = []
    for parts in (1, 13):
        every = [Cells(most) for _ in range(2)]
        for at, part in enumerate(np.array_split(rng.permutation(values), parts)):
            every[at % 2].add(part, np.full(len(part), 3))
        every[1].merge(every[0])
        cells.append(every[1])
    one, other = cells
    assert (one.keys == other.keys).all()
    assert (one.counts == other.counts).all()
    assert one.dropped == other.dropped
    assert len(one.keys) <= most
    assert one.counts.sum() == 3 * len(values)
    ordered = np.repeat(np.sort(values), 3)
    places = [0, 5, 4500, 9000, 13_500, len(ordered) - 1]
    found = np.array(one.at(places))
    assert (_ordered(found) >> one.dropped == _ordered(ordered[places]) >> one.dropped).all()
    assert (found <= ordered[places]).all()
    if most == 10_000:
        assert found.tolist() == ordered[places].tolist()


def test_pieces_of_pairs_are_whole_groups_and_add_up():
    table = people(700)
    layout = layout_of(table, Plan.of(**PLAN))
    values = layout.decode(table)
    labels = np.random.default_rng(6).integers(0, 150, 700)
    labels[:150] = np.arange(150)
    pairs = publish_block(values.append_column("__group", pa.array(labels)), layout)[2]
    pieces = list(pairs.pieces(64))
    assert 8 <= len(pieces) <= 12
    assert sum(len(one.labels) for one in pieces) == 700
    seen = windows_of(pairs.published(layout), layout)
    whole, parts = pairs.counted(seen, layout), Counted(seen)
    for one in pieces:
        parts.merge(one.counted(seen, layout))
    weighed = [pairs.largest(whole, layout), Largest(whole)]
    for one in pieces:
        weighed[1].merge(one.largest(whole, layout))
    assert weighed[0].squares == pytest.approx(weighed[1].squares, rel=1e-12)
    assert compared(whole, weighed[0], rows=700, k=3, most=2) == compared(parts, weighed[1], rows=700, k=3, most=2)
