"""What can be wanted: the grammar, and one clear sentence for whatever is not in it."""

import re
from pathlib import Path

import pytest

import shoal
from shoal.errors import OptionError
from shoal.release.tuning.wants import demanded, wants_of
from shoal.release.tuning.yardsticks import YARDSTICKS, minimised

ROOT = Path(__file__).resolve().parents[3]


def written(text):
    return [str(want) for want in wants_of(text)]


def test_wants_are_read():
    assert written("linkage <= 0.02, l >= 3") == ["linkage <= 0.02", "l >= 3"]
    assert written(["Linkage<2 %", "partial-linkage ≤ 1e-2"]) == ["linkage < 0.02", "partial_linkage <= 0.01"]
    assert written(" k => 7 ") == ["k >= 7"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "At least one thing must be wanted"),
        ([], "At least one thing must be wanted"),
        ("linkage <= 0.1,", "before and after each comma"),
        ("linkage", "a figure, a comparison and a number"),
        ("<= 0.1", "a figure, a comparison and a number"),
        ("linkge <= 0.1", "did you mean 'linkage'"),
        ("linkage = 0.1", "must be <=, <, >= or >"),
        ("linkage <= few", "must be one such as 0.02, 2 % or 3"),
        ("linkage <= nan", "must be one such as 0.02, 2 % or 3"),
        ("linkage <= 1_0", "must be one such as 0.02, 2 % or 3"),
        ("linkage >= 0.1", "linkage is better when lower"),
        ("l <= 3", "write l >= 3"),
        ("linkage <= 2", "write linkage <= 2 %"),
        ("c_dm <= -2", "at least 0"),
        ("linkage <= 0.1, linkage <= 0.2", "once"),
        (3, "must be a text, or a list of texts"),
    ],
)
def test_bad_wants_get_one_sentence(text, said):
    with pytest.raises(OptionError, match=re.escape(said)) as refused:
        wants_of(text)
    assert "\n" not in str(refused.value)


def test_only_costs_are_minimised():
    assert minimised("LOSS").name == "loss"
    for name in ("k", "l", "t", "nothing"):
        with pytest.raises(OptionError):
            minimised(name)


def test_what_is_wanted_of_models_is_demanded():
    plan = shoal.Plan.of(sensitive_attributes=["ill"], l=4, t=0.3)
    made = demanded(plan, wants_of("l >= 3, t <= 0.2, entropy_l >= 2, linkage <= 0.1"))
    assert (made.l, made.t, made.models["ill"]) == (4, 0.2, ("entropy-diversity l=2",))
    assert demanded(plan, wants_of("l > 4")).l == 5
    with pytest.raises(OptionError, match="sensitive"):
        demanded(shoal.Plan.of(), wants_of("l >= 3"))
    with pytest.raises(OptionError, match="sensitive"):
        demanded(shoal.Plan.of(), wants_of("alpha <= 0.5"))


def test_the_page_lists_every_figure():
    page = (ROOT / "docs" / "how-to" / "ask-for-a-risk.md").read_text(encoding="utf-8")
    for one in YARDSTICKS.values():
        assert f"| `{one.name}` | {one.words} | {one.better} |" in page


@pytest.mark.parametrize(
    ("text", "values"),
    [("linkage < 0.1", (0.09, 0.1)), ("linkage <= 0.1", (0.1, 0.11)), ("k > 3", (4, 3)), ("k >= 3", (3, 2))],
)
def test_comparisons_hold_on_their_side(text, values):
    (want,) = wants_of(text)
    assert [want.holds(value) for value in (*values, None, float("nan"))] == [True, False, False, False]
