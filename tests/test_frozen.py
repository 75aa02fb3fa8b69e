"""A plan cannot be changed, however deep one reaches into it."""

import copy
import pickle

import pytest

from shoal.errors import ShoalError
from shoal.frozen import FrozenDict, FrozenList
from shoal.plan import Plan

PLAN = Plan.of(
    options={"stop": [1, {"a": 2}]},
    hierarchies={"zip": {"x": ["a", "b"]}},
    levels={"school": ["low", "high"]},
    missing_values={"age": [99]},
)
CHANGES = {
    "a mapping": lambda: PLAN.options.update(k=1),
    "an entry": lambda: PLAN.options.__setitem__("stop", 1),
    "an entry that goes": lambda: PLAN.options.pop("stop"),
    "a list": lambda: PLAN.hierarchies["zip"]["x"].append("c"),
    "an order": lambda: PLAN.hierarchies["zip"]["x"].sort(),
    "a mapping in a list": lambda: PLAN.options["stop"][1].clear(),
    "a default": lambda: PLAN.types.setdefault("age", "integer"),
    "a copy": lambda: PLAN.model_copy(update={"options": {"stop": 2}}).options.update(stop=3),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_no_part_of_a_plan_can_be_changed(change):
    before = PLAN.job()
    with pytest.raises(ShoalError, match="A plan must not be changed"):
        change()
    assert PLAN.job() == before


@pytest.mark.parametrize("kind", [FrozenDict, FrozenList])
def test_every_way_to_change_one_is_refused(kind):
    """As many as the type of Python has: a method that is in neither list would be a way around."""
    plain = dict if kind is FrozenDict else list
    kept = {"__init__", "__new__", "__getattribute__", "__init_subclass__", "__subclasshook__", "__class__"}
    reading = {"copy", "count", "fromkeys", "get", "index", "items", "keys", "values"}
    for name in set(vars(plain)) - kept - reading:
        changes = name in ("__setitem__", "__delitem__") or (name.startswith("__i") and name != "__iter__")
        if changes or not name.startswith("__"):
            assert getattr(kind, name) is not getattr(plain, name), name


def test_a_frozen_plan_is_copied_pickled_and_written_like_any_other():
    assert pickle.loads(pickle.dumps(PLAN)) == copy.deepcopy(PLAN) == PLAN.model_copy(deep=True) == PLAN
    assert Plan.of(**PLAN.job()) == PLAN
    assert type(pickle.loads(pickle.dumps(PLAN)).options) is FrozenDict


def test_what_was_handed_in_may_change_and_the_plan_does_not():
    options = {"stop": [1]}
    plan = Plan.of(options=options)
    options["stop"].append(2)
    assert plan.options == {"stop": [1]}
