"""The page for everyone: by keyboard, for screen readers, light and dark, on a phone, on paper, with 500 columns."""

import pytest
from steps import (
    expect,
    k_is,
    open_demo,
    open_folds,
    result,
    run,
    said,
    screen_is,
    set_method,
    set_role,
    to_protection,
    upload,
)

PHONE = {"viewport": {"width": 360, "height": 740}}
DARK = {"color_scheme": "dark"}
LOOKS = [pytest.param({}, id="light"), pytest.param(DARK | PHONE, id="dark-360")]


def fits(page):
    """Return whether nothing is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("look", LOOKS)
def test_screens_of_a_plan_have_no_findings(visit, axe, look):
    page = visit(**look)
    assert (axe(page), fits(page)) == ([], True)
    open_demo(page)
    for name in ("education", "region", "income"):
        page.get_by_role("button", name=f"Details of {name}").click()
    open_folds(page)
    assert (axe(page), fits(page)) == ([], True)
    to_protection(page)
    page.get_by_label("Add a model for diagnosis").select_option("t-closeness")
    said(page, "diagnosis: t-closeness.")
    open_folds(page)
    assert (axe(page), fits(page)) == ([], True)
    page.get_by_role("button", name="Use noise").click()
    page.get_by_role("heading", name="What the columns can hold").wait_for()
    open_folds(page)
    assert (axe(page), fits(page)) == ([], True)


@pytest.mark.long
@pytest.mark.parametrize("look", [*LOOKS, pytest.param(DARK, id="dark"), pytest.param(PHONE, id="light-360")])
def test_screens_of_a_run_have_no_findings(visit, axe, look):
    page = visit(**look)
    open_demo(page)
    to_protection(page)
    set_method(page, "mdav")
    page.get_by_text("Method mdav.").first.wait_for()
    run(page)
    assert (axe(page), fits(page)) == ([], True)
    result(page)
    page.get_by_role("heading", name="What remains at risk").wait_for()
    assert (axe(page), fits(page)) == ([], True)
    page.get_by_role("button", name="Compare runs").click()
    page.get_by_role("heading", name="Runs of this sitting").wait_for()
    assert (axe(page), fits(page)) == ([], True)


def test_500_columns_stay_usable(visit, tmp_path):
    table = tmp_path / "wide.csv"
    lines = [",".join(f"answer_{i}" for i in range(500))]
    lines += [",".join(str((i * j) % 7) for i in range(500)) for j in range(40)]
    table.write_text("\n".join(lines), encoding="utf-8")
    page = visit()
    upload(page, table)
    page.get_by_role("button", name="Details of answer_0", exact=True).wait_for()
    assert page.locator(".columns > li").count() == 40
    assert "7 values\n0 to 6" in page.locator(".columns > li", has_text="answer_1").first.inner_text()
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Details of answer_40", exact=True).wait_for()
    page.get_by_label("Find a column").fill("answer_49")
    page.get_by_role("button", name="Details of answer_499", exact=True).wait_for()
    expect(page.locator(".columns > li")).to_have_count(11)
    page.get_by_label("Make all 11 shown").select_option("sensitive")
    page.locator("[name=role-499][value=sensitive]:checked").wait_for()
    said(page, "11 columns: sensitive.")
    set_role(page, "answer_499", "Other")
    page.get_by_text("answer_499: other.").first.wait_for()


@pytest.mark.long
def test_runs_are_compared_and_a_point_of_the_map_becomes_the_plan(visit, axe):
    page = visit()
    open_demo(page)
    to_protection(page)
    set_method(page, "mdav")
    page.get_by_text("Method mdav.").first.wait_for()
    for k in (3, 10):
        page.get_by_role("button", name=f"k = {k}", exact=True).click()
        page.get_by_text(f"k = {k}.").first.wait_for()
        run(page)
        result(page)
        page.get_by_role("button", name="Change the plan").click()
        screen_is(page, "Protection")
    page.get_by_role("button", name="Runs").click()
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.get_by_role("heading", name="Side by side").wait_for()
    assert page.get_by_role("row", name="Highest risk 33.3 % 10 %").count() == 1
    # Figures of assessments are in the words of their questions, and not what a program calls them.
    page.get_by_role("row", name="How many records are linked").wait_for()
    told = page.get_by_role("group", name="Comparison").inner_text()
    assert "[object" not in told
    assert "probabilistic_linkage" not in told
    assert axe(page) == []
    page.get_by_role("button", name="Try several k").click()
    page.locator(".map [role=button]", has_text="k = 20").first.wait_for()
    assert (axe(page), fits(page)) == ([], True)
    page.locator(".map [role=button]", has_text="k = 20").first.press("Enter")
    page.get_by_text("The plan is now k = 20").first.wait_for()
    page.get_by_role("navigation", name="Steps").get_by_role("button", name="Protection").click()
    k_is(page, 20)
    page.get_by_role("button", name="Undo", exact=True).first.click()
    page.get_by_text("Undone.").first.wait_for()
    k_is(page, 10)


@pytest.mark.long
@pytest.mark.parametrize("look", [{}, DARK])
def test_a_result_is_printed_without_controls(visit, look):
    page = visit(**look)
    open_demo(page)
    to_protection(page)
    set_method(page, "mdav")
    page.get_by_text("Method mdav.").first.wait_for()
    run(page)
    result(page)
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") in (
        "rgb(255, 255, 255)",
        "rgba(0, 0, 0, 0)",
    )
    assert page.get_by_role("link", name="Download The release").is_hidden()
    assert page.get_by_role("heading", name="Loss by attribute").is_visible()
    assert page.locator(".next").is_hidden()
    assert page.get_by_role("navigation", name="Steps").is_hidden()
    assert len(page.pdf(format="A4")) > 10_000
