"""Full-domain generalisation: the best node of the lattice, against all nodes tried one by one in plain Python."""

import itertools
import json
import os
import random
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

import shoal
from invariants import plain_columns
from shoal.errors import DataError, OptionError, TooLargeError
from shoal.plan import Plan
from shoal.release.groups import full_domain
from shoal.release.groups.lattice import Ladder, Lattice
from shoal.release.preparation import prepare

pytestmark = pytest.mark.filterwarnings("error", "ignore::shoal.errors.DisclosureWarning")
DATA = Path(os.environ.get("SHOAL_DATA") or Path(__file__).parents[4] / "shared" / "data")
ADULT = DATA / "hierarchies" / "arx_adult"
JOBS = {"doctor": ["dentist", "surgeon"], "craft": {"food": ["baker"], "wood": ["joiner", "carver"]}}
REGIONS = {"north": ["a", "b"], "south": ["c", "d", "e"]}
# The levels of these hierarchies, written out: what a value becomes on each level, and the share of leaves it covers.
JOB_LEVELS = {
    "dentist": [("dentist", 0), ("doctor", 2 / 5), ("*", 1), ("*", 1)],
    "surgeon": [("surgeon", 0), ("doctor", 2 / 5), ("*", 1), ("*", 1)],
    "baker": [("baker", 0), ("food", 1 / 5), ("craft", 3 / 5), ("*", 1)],
    "joiner": [("joiner", 0), ("wood", 2 / 5), ("craft", 3 / 5), ("*", 1)],
    "carver": [("carver", 0), ("wood", 2 / 5), ("craft", 3 / 5), ("*", 1)],
}
REGION_LEVELS = {
    **{leaf: [(leaf, 0), ("north", 2 / 5), ("*", 1)] for leaf in "ab"},
    **{leaf: [(leaf, 0), ("south", 3 / 5), ("*", 1)] for leaf in "cde"},
}


def full(table, k=2, **fields):
    return shoal.anonymize(table, k, release="full-domain", **fields)


def levels_of(name, value):
    if value is None:
        return [(None, 0)] * ({"job": 3, "region": 2}.get(name, 1)) + [("*", 1)]
    known = {"job": JOB_LEVELS, "region": REGION_LEVELS}.get(name)
    return known[value] if known else [(value, 0), ("*", 1)]


def groups_at(rows, names, node, strata=None):
    groups = defaultdict(list)
    for at, row in enumerate(rows):
        key = [levels_of(name, row[name])[level][0] for name, level in zip(names, node, strict=True)]
        groups[*key, None if strata is None else strata[at]].append(at)
    return groups.values()


def all_nodes(names):
    return itertools.product(*(range({"job": 4, "region": 3}.get(name, 2)) for name in names))


def cheapest(rows, names, good, budget, strata=None):
    """Return the least cost of all nodes, None if none is allowed."""
    costs = []
    for node in all_nodes(names):
        cost = gone = 0
        for members in groups_at(rows, names, node, strata):
            if good(members):
                cost += sum(
                    levels_of(name, rows[at][name])[level][1]
                    for at in members
                    for name, level in zip(names, node, strict=True)
                )
            else:
                gone += len(members)
        if gone <= budget:
            costs.append(cost + gone * len(names))
    return min(costs, default=None)


def published_cost(release, rows, names):
    """Return the cost of a release, from its published values; each column must be on one level."""
    table = plain_columns(release.table)
    kept = table["row"]
    total = (len(rows) - len(kept)) * len(names)
    for name in names:
        fitting = [
            level
            for level in range(len(levels_of(name, rows[0][name])))
            if all(levels_of(name, rows[at][name])[level][0] == v for at, v in zip(kept, table[name], strict=True))
        ]
        assert fitting, f"{name} is on no level"
        total += sum(levels_of(name, rows[at][name])[fitting[0]][1] for at in kept)
    return total


def random_rows(seed, missing=0.0):
    rng = random.Random(seed)
    n = rng.randint(8, 24)
    pools = {"job": list(JOB_LEVELS), "region": list("abcde"), "sex": ["f", "m"], "size": [1.5, 2.5, 3.5]}
    names = rng.sample(list(pools), k=rng.randint(1, 4))
    value = {name: rng.choices(pools[name], k=3) + pools[name] for name in names}
    rows = [{name: None if rng.random() < missing else rng.choice(value[name]) for name in names} for _ in range(n)]
    return rng, rows, names


def table_of(rows, names, **more):
    kinds = {"size": pa.float64()}
    columns = {name: pa.array([row[name] for row in rows], kinds.get(name, pa.string())) for name in names}
    return pa.table({**columns, "row": list(range(len(rows))), **more})


def plan_of(names, **fields):
    trees = {name: tree for name, tree in (("job", JOBS), ("region", REGIONS)) if name in names}
    return {"quasi_identifiers": names, "hierarchies": trees, "other": ["row"], **fields}


# --- against all nodes ---


@pytest.mark.parametrize("seed", range(40))
def test_no_node_costs_less(seed):
    rng, rows, names = random_rows(seed, missing=0.2 if seed % 4 == 0 else 0.0)
    k, share = rng.randint(2, 4), rng.choice((0, 0, 0.1, 0.3))
    release = full(table_of(rows, names), k, **plan_of(names, suppress=share))
    budget = int(share * len(rows) + 1e-9)
    assert release.rows_removed <= budget
    wanted = cheapest(rows, names, lambda members: len(members) >= k, budget)
    assert published_cost(release, rows, names) == pytest.approx(wanted)


def entropy_diverse(values, least):
    shares = np.array(list(Counter(values).values())) / len(values)
    return -(shares * np.log(shares)).sum() >= np.log(least) - 1e-9


MODELS = {
    "l": ({"l": 2}, lambda values, whole: len(set(values)) >= 2),
    "entropy": (
        {"models": {"ill": "entropy-diversity l=1.5"}},
        lambda values, whole: entropy_diverse(values, 1.5),
    ),
    "alpha": (
        {"models": {"ill": "alpha alpha=0.7"}},
        lambda values, whole: max(Counter(values).values()) <= 0.7 * len(values) + 1e-9,
    ),
    "t": (
        {"t": 0.4},
        lambda values, whole: (
            sum(abs(values.count(v) / len(values) - whole.count(v) / len(whole)) for v in set(whole)) / 2 <= 0.4 + 1e-9
        ),
    ),
}


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("model", MODELS)
def test_no_node_that_satisfies_a_model_costs_less(model, seed):
    rng, rows, names = random_rows(100 + seed)
    fields, holds = MODELS[model]
    ill = [rng.choice(("cold", "flu", "gout")) for _ in rows]
    share = 0 if model == "t" else rng.choice((0, 0.25))
    try:
        release = full(
            table_of(rows, names, ill=ill), 2, **plan_of(names, sensitive_attributes=["ill"], suppress=share, **fields)
        )
    except (OptionError, DataError):
        everybody = range(len(rows))
        assert not holds([ill[at] for at in everybody], ill)
        return
    wanted = cheapest(
        rows,
        names,
        lambda members: len(members) >= 2 and holds([ill[at] for at in members], ill),
        int(share * len(rows) + 1e-9),
    )
    assert published_cost(release, rows, names) == pytest.approx(wanted)


@pytest.mark.parametrize("seed", range(10))
def test_units_and_strata_are_kept_at_the_least_cost(seed):
    rng, rows, names = random_rows(200 + seed)
    units = [rng.randrange(max(4, len(rows) // 2)) for _ in rows]
    strata = [rng.choice(("x", "y")) for _ in rows]
    table = table_of(rows, names, unit=[f"u{u}" for u in units], stratum=strata)
    fields = plan_of(names, unit="unit", stratum=["stratum"], suppress=0.3)

    def good(members):
        return len({units[at] for at in members}) >= 2

    wanted = cheapest(rows, names, good, int(0.3 * len(rows) + 1e-9), strata)
    if wanted is None:
        with pytest.raises(DataError, match="must leave groups that satisfy k"):
            full(table, 2, **fields)
        return
    assert published_cost(full(table, 2, **fields), rows, names) == pytest.approx(wanted)


def test_importance_decides_which_column_is_generalised():
    table = pa.table({"a": ["p", "q"] * 4, "b": ["r"] * 4 + ["s"] * 4})
    for important, other in (("a", "b"), ("b", "a")):
        release = full(table, 3, importance={important: 5.0})
        assert set(release.table[other].to_pylist()) == {"*"}
        assert set(release.table[important].to_pylist()) == set(table[important].to_pylist())


# --- the search itself ---


def random_ladder(rng, n):
    """Return a ladder of random nested classes with rising costs."""
    values = rng.integers(2, 9)
    levels, costs = [np.arange(values)], [np.zeros(values)]
    while levels[-1].max() > 0:
        step = np.sort(rng.integers(0, max(1, levels[-1].max()), levels[-1].max() + 1))
        step = np.unique(step, return_inverse=True)[1]
        levels.append(step[levels[-1]])
        costs.append(np.minimum(1.0, costs[-1] + rng.random() * 0.4) if levels[-1].max() else np.ones(values))
    return Ladder(rng.integers(0, values, n), levels, costs)


@pytest.mark.parametrize("budget", [0, 6])
def test_pruning_does_not_change_the_best_node(budget):
    for seed in range(25):
        rng = np.random.default_rng(seed)
        ladders = [random_ladder(rng, 60) for _ in range(3)]
        lattice = Lattice(ladders, k=4, budget=budget)
        found = lattice.best()
        states = {node: lattice.check(node) for node in np.ndindex(*lattice.shape)}
        allowed = {node: state.cost for node, state in states.items() if state.cost is not None}
        assert found.cost == pytest.approx(min(allowed.values()))
        assert allowed[found.node] == pytest.approx(found.cost)
        assert found.checked <= found.nodes
        assert (~found.kept).sum() <= budget
        assert np.bincount(found.labels[found.kept])[np.unique(found.labels[found.kept])].min() >= 4


def test_few_nodes_are_counted():
    rng = np.random.default_rng(3)
    lattice = Lattice([random_ladder(rng, 500) for _ in range(6)], k=5)
    found = lattice.best()
    assert found.checked < found.nodes / 5


def test_too_many_combinations_are_refused():
    ladder = Ladder(np.zeros(4, np.int64), [np.zeros(1, np.int64)] * 30, [np.zeros(1)] * 30)
    with pytest.raises(TooLargeError, match=r"at most 16,777,216 combinations of levels. Got 2.19e\+10"):
        Lattice([ladder] * 7, k=2)


@pytest.mark.skipif(not ADULT.is_dir(), reason="benchmark data not found; SHOAL_DATA names it")
@pytest.mark.parametrize(
    ("share", "node", "removed", "cost"),
    [(0.0, (0, 4, 1, 1, 3, 2, 2, 1, 0), 0, 176502.5714), (0.04, (0, 3, 0, 2, 2, 1, 1, 1, 0), 1165, 86217.7114)],
)
def test_nine_attributes_of_adult(share, node, removed, cost):
    """The nodes are those of least cost of all 12,960, which were counted one by one."""
    table = csv.read_csv(ADULT / "arx_adult.csv.gz")
    table = table.cast(pa.schema([(name, pa.string()) for name in table.column_names]))
    trees = {name: str(ADULT / f"adult_hierarchy_{name}.csv") for name in table.column_names}
    prepared = prepare(table, Plan.of(k=5, release="full-domain", hierarchies=trees, suppress=share))
    budget = full_domain.budget_of(prepared.plan, table.num_rows)
    lattice = Lattice([full_domain.rungs_of(read).ladder for read in prepared.reads], k=5, budget=budget)
    found = lattice.best()
    assert found.nodes == 12960
    assert found.checked < 600
    assert (found.node, int((~found.kept).sum())) == (node, removed)
    assert found.cost == pytest.approx(cost)


# --- what is published, and what is refused ---


def test_missing_values_stay_missing_below_the_top_and_are_suppressed_there():
    jobs = ["baker", "joiner", None, None, "dentist", "surgeon"]
    release = full(pa.table({"job": jobs}), 2, hierarchies={"job": JOBS})
    assert release.table["job"].to_pylist() == ["craft", "craft", None, None, "*", "*"]
    assert release.attributes[0].published == "level 2 of 3"
    release = full(pa.table({"job": jobs[:-1]}), 2, hierarchies={"job": JOBS})
    assert release.table["job"].to_pylist() == ["*"] * 5
    assert release.attributes[0].published == "suppression"


def test_ladders_of_numbers():
    ages = [21, 23, 24, 31, 33, 38, 44, 46]
    release = full(pa.table({"age": ages}), 2, hierarchies={"age": {"widths": [5, 10, 20]}})
    assert release.table["age"].to_pylist() == ["[20, 30)"] * 3 + ["[30, 40)"] * 3 + ["[40, 50)"] * 2


def test_the_levels_are_told_and_the_number_left_out_is_not(tmp_path):
    rows = [{"job": job, "sex": "f"} for job in ["baker"] * 5 + ["joiner"] * 5 + ["surgeon"]]
    table = table_of(rows, ["job", "sex"])
    release = full(table, 3, **plan_of(["job", "sex"], suppress=0.1))
    assert release.rows_removed == 1
    words = "full-domain generalisation (job 0 of 3, sex 0 of 1)"
    assert release.blocks[0].method == words
    assert release.certificate["methods"] == [words]
    assert release.certificate["form"] == "full-domain"
    assert release.record["rows"] == {"in": 11, "dropped": 0, "removed": 1, "published": 10}
    assert "removed" not in json.dumps(release.certificate)
    assert "11" not in json.dumps({**release.certificate, "versions": {}, "created": ""})
    assert words in release.report()
    release.save(tmp_path / "release.csv", certificate=tmp_path / "release.csv.manifest.json")


@pytest.mark.parametrize("field", [name for name in full_domain.NO_PLACE if name != "bound"])
def test_fields_that_do_not_apply_are_refused(field):
    values = {
        "method": "mdav",
        "options": {"x": 1},
        "refine": "tfrp2",
        "time_limit": 1.0,
        "random_state": 1,
        "enforcement": "repair",
        "representatives": {"a": "mode"},
        "digits": {"a": 1},
        "outward": {"a": 1},
        "trim": 0.1,
        "blocks": "each",
        "small_strata": "merge",
        "population": "people.csv",
        "k_map": 2,
        "presence": [0, 1],
    }
    more = {
        "enforcement": {"l": 2, "sensitive_attributes": ["s"]},
        "k_map": {"population": "p.csv"},
        "presence": {"population": "p.csv"},
        "population": {"k_map": 2},
    }
    fields = {field: values[field], **more.get(field, {})}
    with pytest.raises(OptionError, match=r"must not be given for a full-domain release"):
        full(pa.table({"a": [1, 2, 3, 4], "s": [1, 2, 1, 2]}), **fields)


def test_models_whose_best_levels_cannot_be_found_are_refused():
    table = pa.table({"a": ["p", "q"] * 4, "s": ["x", "y"] * 4})
    fields = {"quasi_identifiers": ["a"], "sensitive_attributes": ["s"]}
    with pytest.raises(OptionError, match=r"'suppress'.*must not depend on the whole table.*t-closeness t=0.5"):
        full(table, 2, t=0.5, suppress=0.2, **fields)
    with pytest.raises(OptionError, match=r"must hold for unions of groups.*n-t-closeness"):
        full(table, 2, models={"s": "n-t-closeness n=4 t=0.5"}, **fields)


def test_a_dry_run_says_that_a_level_is_published():
    table = pa.table({"job": ["baker"] * 4, "sex": ["f"] * 4})
    prepared = prepare(table, Plan.of(k=2, release="full-domain", hierarchies={"job": JOBS}))
    assert [attribute.published for attribute in prepared.attributes] == ["level", "level"]
    assert prepared.methods(prepared.embedded()) == [(("job", "sex"), full_domain.METHOD, full_domain.WHY)]


def test_places_are_refused():
    with pytest.raises(OptionError, match="Places have no levels"):
        full(pa.table({"lat": [1.5] * 4, "lon": [2.5] * 4}), places=[("lat", "lon")])


def test_the_share_of_records_is_rounded_down_but_not_by_rounding_errors():
    for share, n, budget in ((0.29, 100, 29), (0.07, 100, 7), (0.05, 19, 0), (0.05, 20, 1), (0.0, 10, 0)):
        assert full_domain.budget_of(Plan.of(suppress=share), n) == budget
