"""Cuts, blocks and rounds: k and all demands hold, nothing depends on pieces, and the loss is near that of memory."""

import pickle

import numpy as np
import pyarrow as pa
import pytest

from engines.in_pieces import PLAN, layout_of, people
from shoal.engines.aggregates import losses_of, sizes_of
from shoal.engines.blocks import group_block, in_rows, publish_block, refine_block, route_groups, with_groups
from shoal.engines.choice import KICKS
from shoal.engines.cuts import Cuts
from shoal.engines.sample import Sample
from shoal.engines.tally import Tally
from shoal.errors import DataError
from shoal.partitioning.cut_trees import grown, rotated, rotation_of
from shoal.plan import Plan
from shoal.privacy.audit import audit
from shoal.privacy.demands import offending
from shoal.release.measures.losses import losses
from shoal.release.preparation import prepare


def sample_of(values, pieces=5, most=10_000):
    samples = [Sample(most) for _ in range(2)]
    size = -(-values.num_rows // pieces)
    for at in range(pieces):
        samples[at % 2].add(values.slice(at * size, size))
    samples[1].merge(samples[0])
    return samples[1].finished()


def carried_out(table, plan, *, block_records=50, rounds=2, pieces=5):
    """Return the layout, the values table with groups, and the aggregates of a table in tiny blocks."""
    layout = layout_of(table, plan, pieces)
    settled = plan.model_copy(update={"method": "ona*" if plan.method == "auto" else plan.method, "random_state": 0})
    values = layout.decode(table)
    sample = sample_of(values, pieces)
    cuts = Cuts.of(sample, layout, block_records)
    strata = values.column("__stratum").to_numpy() if layout.strata is not None else None
    leaves = cuts.route(layout.coordinates(values), strata)
    tally = Tally(layout, cuts.leaves)
    tally.add(values, leaves)
    cuts = cuts.merged(tally.falls_short)
    assert not tally.falls_short(cuts.blocks).any()
    blocks = cuts.blocks[leaves]
    done = []
    for block in np.unique(blocks):
        own = values.take(np.flatnonzero(blocks == block))
        done.append(with_groups(own, group_block(own, layout, settled, block_records), int(block)))
    values = in_rows(pa.concat_tables(done))
    for turn in range(1, rounds + 1):
        cuts = Cuts.of(sample, layout, block_records, round=turn)
        leaves = route_groups(values, layout, cuts)
        done = []
        for leaf in np.unique(leaves):
            own = values.take(np.flatnonzero(leaves == leaf))
            done.append(with_groups(own, refine_block(own, layout, settled, kicks=KICKS), int(leaf)))
        values = in_rows(pa.concat_tables(done))
    return layout, values


def labels_of(values):
    return np.unique(values.column("__group").to_numpy(), return_inverse=True)[1]


def test_groups_keep_k_and_lose_little_more_than_in_memory():
    table = people(2000)
    plan = Plan.of(k=3, quasi_identifiers=("age", "income", "job", "day"), rest="drop", method="ona*")
    layout, values = carried_out(table, plan, block_records=500, rounds=3)
    labels = labels_of(values)
    assert np.bincount(labels).min() >= 3
    assert len(labels) == 2000
    prepared = prepare(table, plan)
    coordinates = prepared.embedded()
    blocks = prepared.partitioned(coordinates, plan)
    whole = losses(coordinates, dict.fromkeys(coordinates.parts, blocks[0].labels), None)
    published, aggregates, _ = publish_block(values, layout)
    mine = losses_of([aggregates], layout)
    again = losses(coordinates, dict.fromkeys(coordinates.parts, labels), None)
    assert mine.total == pytest.approx(again.total, rel=1e-12)
    assert dict(mine.by_attribute) == pytest.approx(dict(again.by_attribute), rel=1e-12)
    assert (mine.digits, mine.most) == (again.digits, again.most)
    assert mine.total < 1.05 * whole.total
    assert published.column_names == ["__row", "age", "income", "job", "day"]
    assert audit(published, ["age", "income", "job", "day"], 3).k >= 3


def test_aggregates_of_blocks_add_up_in_any_order():
    table, plan = people(600), Plan.of(**PLAN, weight="share")
    layout, values = carried_out(table, plan, block_records=100, rounds=0)
    labels = labels_of(values)
    everything = publish_block(values, layout)[1]
    halves = [publish_block(values.take(np.flatnonzero(labels % 3 == part)), layout)[1] for part in range(3)]
    assert sizes_of(halves) == dict(everything.sizes)
    assert losses_of(halves, layout) == losses_of(halves[::-1], layout)
    assert losses_of(halves, layout).total == pytest.approx(losses_of([everything], layout).total, rel=1e-12)


@pytest.mark.parametrize(
    "fields",
    [
        {"stratum": ("region",)},
        {"unit": "person"},
        {"l": 2},
        {"t": 0.35},
        {"unit": "person", "l": 2, "stratum": ("region",)},
        {"weight": "share", "release": "local-recoding"},
        {"missing": "drop"},
    ],
    ids=["strata", "units", "l", "t", "all", "weights", "dropped"],
)
def test_everything_that_is_demanded_holds_after_the_rounds(fields):
    table, plan = people(900), Plan.of(**PLAN, **fields, method="mdav")
    layout, values = carried_out(table, plan, block_records=150)
    labels = labels_of(values)
    assert np.bincount(labels).min() >= 3
    constraints = layout.constraints(values)
    if constraints.strata is not None:
        assert len(np.unique(np.column_stack([labels, constraints.strata]), axis=0)) == labels.max() + 1
    if constraints.units is not None:
        pairs = np.unique(np.column_stack([labels, constraints.units]), axis=0)
        assert np.bincount(pairs[:, 0]).min() >= 3
    if constraints.demands:
        assert not offending(labels, constraints.demands).any()
    published, *_ = publish_block(values, layout)
    assert published.num_rows == layout.rows
    assert published.schema.names[1:] == list(plan.quasi_identifiers)


def test_groups_do_not_depend_on_the_pieces():
    table, plan = people(800), Plan.of(**PLAN, stratum=("region",))
    one = carried_out(table, plan, pieces=1, block_records=90)[1]
    other = carried_out(table, plan, pieces=11, block_records=90)[1]
    assert one.column("__group").equals(other.column("__group"))


def test_a_published_value_is_that_of_memory_for_the_same_groups():
    from shoal.release.groups.blocks import Block
    from shoal.release.publishing import published as in_memory

    table, plan = people(600), Plan.of(**PLAN)
    layout, values = carried_out(table, plan, rounds=0, block_records=600)
    prepared = prepare(table, plan)
    names = tuple(plan.quasi_identifiers)
    changed, _ = in_memory(prepared.table, prepared.reads, [Block(names, names, labels_of(values), "", "")], None, 0.2)
    mine = publish_block(values, layout)[0]
    for name in names:
        assert mine.column(name).to_pylist() == changed[name].to_pylist()


def test_a_sample_depends_on_the_rows_alone():
    table, plan = people(500), Plan.of(**PLAN)
    layout = layout_of(table, plan)
    values = layout.decode(pa.concat_tables([table, table.slice(0, 100)]))
    one, other = sample_of(values, 1, most=64), sample_of(values.take(np.arange(600)[::-1]), 9, most=64)
    assert one.num_rows == 64
    for name in one.column_names:
        np.testing.assert_array_equal(one.column(name).to_numpy(), other.column(name).to_numpy())
    everything = sample_of(values, 3)
    assert everything.column("__count").to_numpy().sum() == 600
    assert everything.num_rows == 500


def test_no_rows_travel_that_wait_to_be_sorted():
    table = people(500)
    values = layout_of(table, Plan.of(**PLAN)).decode(table)
    sample, whole = Sample(64), sample_of(values, 1, most=64)
    for at in range(0, 120, 40):
        sample.add(values.slice(at, 40))
    assert sample.rows.num_rows > 64
    came = pickle.loads(pickle.dumps(sample))
    assert came.rows.num_rows == 64
    came.add(values.slice(120))
    for name in whole.column_names:
        np.testing.assert_array_equal(came.finished().column(name).to_numpy(), whole.column(name).to_numpy())


def test_of_wide_rows_fewer_are_cut(monkeypatch):
    """The coordinates of a sample are in memory several times."""
    table, plan = people(500), Plan.of(**PLAN)
    layout = layout_of(table, plan)
    sample = sample_of(layout.decode(table))
    few = Cuts.of(sample.slice(0, 60), layout, 50)
    monkeypatch.setattr("shoal.engines.cuts.COORDINATES", 60 * layout.width + 1)
    many = Cuts.of(sample, layout, 50)
    for one, other in zip(few.trees, many.trees, strict=True):
        np.testing.assert_array_equal(one.limits, other.limits)
        np.testing.assert_array_equal(one.axes, other.axes)


def test_a_million_equal_rows_are_one_row_of_the_sample_and_blocks_of_groups():
    table = pa.table({"x": np.repeat([1.0, 2.0], [3000, 40]), "y": np.repeat([5.0, 7.0], [3000, 40])})
    plan = Plan.of(k=3, method="mdav")
    layout, values = carried_out(table, plan, block_records=100, rounds=1)
    assert sample_of(values.select(["q0", "q1"])).num_rows == 2
    assert np.bincount(labels_of(values)).min() >= 3
    assert losses_of([publish_block(values, layout)[1]], layout).total == pytest.approx(0.0, abs=1e-12)


def test_leaves_that_fall_short_are_merged_with_their_siblings():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 3))
    tree = grown(X, np.ones(400), 400, 25)
    cuts = Cuts(None, (tree,), np.zeros(1, np.int64), np.zeros(1, np.int64), np.arange(tree.leaves))
    sizes = np.bincount(cuts.route(X, None), minlength=tree.leaves)
    assert tree.leaves == 16
    assert sizes.tolist() == [25] * 16
    sizes[[3, 4, 9]] = [1, 0, 2]

    def short(blocks):
        return np.bincount(blocks, sizes) < 5

    merged = cuts.merged(short)
    assert not short(merged.blocks).any()
    assert 12 <= merged.count <= 14
    assert len(merged.blocks) == 16


def test_tallies_hold_only_values_that_occur(monkeypatch):
    """A column of many values, in many leaves, would otherwise take more memory than the table."""
    from shoal.engines import tally as module

    table, plan = people(600), Plan.of(**PLAN, l=2)
    layout = layout_of(table, plan)
    values, leaves = layout.decode(table), np.arange(600) % 100_000
    leaves[:3] = 99_999
    parts = [Tally(layout, 100_000) for _ in range(2)]
    parts[0].add(values.slice(0, 250), leaves[:250])
    parts[1].add(values.slice(250), leaves[250:])
    parts[1].merge(parts[0])
    assert sum(one.nbytes for one in parts[1].values) < 10_000
    whole = Tally(layout, 100_000)
    whole.add(values, leaves)
    np.testing.assert_array_equal(parts[1].values[0], whole.values[0])
    ill = np.array(table.column("ill").to_pylist())
    for blocks in (np.zeros(100_000, np.int64), (np.arange(100_000) >= 50_000).astype(np.int64)):
        wanted = [
            bool(0 < len(own) < 3 or 0 < len(set(own)) < 2)
            for own in (ill[blocks[leaves] == block] for block in range(blocks.max() + 1))
        ]
        assert whole.falls_short(blocks).tolist() == wanted
    monkeypatch.setattr(module, "MOST_COUNTED", 100)
    with pytest.raises(DataError, match="must have few values in each part"):
        Tally(layout, 100_000).add(values, leaves)


@pytest.mark.parametrize("model", ["distinct-diversity l=3", "p-sensitive p=4", "k-anonymity k=5"])
def test_tallies_count_values_by_units(model):
    """Two values of one person are one for who knows the persons; and k of a model may exceed that of a plan."""
    table, leaves = people(80), np.arange(80) % 40
    rng = np.random.default_rng(4)
    ill = np.where(rng.random(80) < 0.2, None, table.column("ill").to_numpy(zero_copy_only=False))
    table = table.set_column(table.column_names.index("ill"), "ill", pa.array(ill, pa.string()))
    table = table.set_column(table.column_names.index("person"), "person", pa.array(rng.integers(0, 12, 80)))
    layout = layout_of(table, Plan.of(**{**PLAN, "k": 2}, unit="person", models={"ill": [model]}))
    values = layout.decode(table)
    parts = [Tally(layout, 40) for _ in range(3)]
    for at, part in enumerate(parts):
        part.add(values.slice(30 * at, 30), leaves[30 * at : 30 * at + 30])
    parts[2].merge(parts[0])
    parts[2].merge(parts[1])
    assert np.unique(parts[2].values[0][:, 0], return_counts=True)[1].max() <= int(model[-1])
    seen = set()
    for most in range(1, 40):
        blocks = np.arange(40) % most
        labels, constraints = blocks[leaves], layout.constraints(values)
        units = [len(np.unique(constraints.units[labels == block])) for block in range(most)]
        wanted = offending(labels, constraints.demands) | (np.array(units) < 2)
        assert parts[2].falls_short(blocks).tolist() == wanted.tolist()
        seen |= set(wanted.tolist())
    assert seen == {False, True}


def test_rows_that_occur_often_are_found_whatever_the_pieces():
    """Counts that were lowered for want of room still have all that occur often; a second pass counts them."""
    from shoal.engines.heavy import Often

    rng = np.random.default_rng(9)
    often = np.repeat([1.5, 2.5, 3.5], [900, 500, 150])
    table = pa.table({"x": rng.permutation(np.concatenate([often, rng.normal(size=2450)]))})
    layout = layout_of(table, Plan.of(k=3))
    cuts = Cuts.of(sample_of(layout.decode(table)), layout, 10_000)
    sizes = np.array([4000])
    found = []
    for size, most in ((4000, 5000), (4000, 40), (37, 40), (1000, 40)):
        counted = Often(layout, cuts, np.ones(1, bool), most=most)
        for start in range(0, 4000, size):
            part = Often(layout, cuts, np.ones(1, bool), most=most)
            part.add(table.slice(start, size))
            counted.merge(part)
        assert (counted.lowered > 0) == (most == 40)
        assert counted.lowered <= 4000 / 40
        exact = counted.exactly() if counted.lowered else counted
        if counted.lowered:
            exact.add(table)
        heavy = exact.heavy(sizes, 200)
        found.append((heavy.hashes.tolist(), heavy.pieces.tolist(), heavy.total))
    assert all(one == found[0] for one in found)
    assert sorted(found[0][1]) == [3, 5]
    values = layout.decode(table)
    blocks = exact.heavy(sizes, 200).dealt(values, np.zeros(4000, np.int64), 1)
    assert np.bincount(blocks)[0] == 2600
    assert np.bincount(blocks)[1:].min() > 100
    # Of which fewer than k others would be left, a block stays whole.
    assert exact.heavy(np.array([1402]), 200).total == 0
    assert exact.heavy(np.array([1400]), 200).total == 8


def test_rotations_do_not_depend_on_the_rows_beside():
    rng = np.random.default_rng(4)
    X, Q = rng.normal(size=(1000, 9)), rotation_of(9, 1)
    whole = rotated(X, Q)
    np.testing.assert_allclose(whole, X @ Q, rtol=1e-12, atol=1e-12)
    for start, stop in ((0, 1), (3, 10), (500, 1000)):
        np.testing.assert_array_equal(rotated(X[start:stop], Q), whole[start:stop])


def test_rotations_are_orthogonal_and_always_the_same():
    for round in (1, 2, 3):
        Q = rotation_of(7, round)
        assert np.allclose(Q.T @ Q, np.eye(7), atol=1e-12)
    assert rotation_of(7, 0) is None
    assert not np.allclose(rotation_of(7, 1), rotation_of(7, 2))
