"""What lies beyond the simple flow, in a browser: every field of a plan, populations, places, blocks, noise."""

import pytest
from steps import (
    declare,
    expect,
    open_demo,
    open_folds,
    result,
    role_of,
    run,
    screen_is,
    set_method,
    to_protection,
    upload,
    write,
)

from shoal.plan import Plan
from shoal.web.drafts import ENGINES, ROLES

DOMAIN = {
    "sex": {"Values": "female\nmale\ndiverse"},
    "income": {"Lowest": "0", "Highest": "20000", "Missing counts as": "0"},
}


def controls(page):
    return set(page.locator("[data-field]").evaluate_all("all => all.map((one) => one.dataset.field)"))


def test_every_field_of_a_plan_has_a_control(visit):
    page = visit()
    open_demo(page)
    to_protection(page)
    open_folds(page)
    set_method(page, "v-mdav")
    page.get_by_text("Method v-mdav.").first.wait_for()
    page.get_by_role("radio", name="strongly-safe").check()
    page.get_by_text("strongly-safe.").first.wait_for()
    found = controls(page)
    page.get_by_role("button", name="Use noise").click()
    page.get_by_label("Release", exact=True).select_option("strongly-safe")
    page.get_by_label("Delta").wait_for()
    found |= controls(page)
    page.get_by_role("button", name="Back to groups").click()
    page.get_by_role("button", name="Larger k").wait_for()
    page.get_by_role("navigation", name="Steps").get_by_role("button", name="Columns").click()
    for name in ("birth_date", "education", "income"):
        page.get_by_role("button", name=f"Details of {name}").click()
    open_folds(page)
    found |= controls(page)
    roles = {name for names in ROLES.values() for name in names} | {"rest"}
    assert found == set(Plan.model_fields) - roles - set(ENGINES)


def test_settings_of_a_column_are_kept_and_undone(visit):
    page = visit()
    open_demo(page)
    page.get_by_role("button", name="Details of income").click()
    open_folds(page)
    write(page, "Top coding of income", "9000")
    page.get_by_text("income: top coding 9000.").first.wait_for()
    write(page, "Values that mean missing of income", '-9, "a, b"')
    page.get_by_text("income: values that mean missing -9,a, b.").first.wait_for()
    page.reload()
    page.get_by_role("button", name="Details of income").click()
    assert page.get_by_label("Top coding of income").input_value() == "9000"
    assert page.get_by_label("Values that mean missing of income").input_value() == '-9, "a, b"'  # its fold is open
    page.get_by_role("button", name="Undo", exact=True).click()
    page.get_by_text("Undone.").first.wait_for()
    expect(page.get_by_label("Values that mean missing of income")).to_have_value("")


@pytest.mark.long
def test_matches_are_counted_in_a_population_that_is_uploaded(visit, tmp_path):
    people = tmp_path / "people of the town.csv"
    rows = [f"{18 + i % 60},{'abc'[i % 3]}" for i in range(300)]
    people.write_text("age,town\n" + "\n".join(rows), encoding="utf-8")
    table = tmp_path / "sample.csv"
    table.write_text("age,town\n" + "\n".join(rows[::3]), encoding="utf-8")
    page = visit()
    upload(page, table)
    page.get_by_role("heading", name="What the columns of").wait_for()
    to_protection(page)
    page.get_by_role("radio", name="local-recoding").check()
    page.get_by_text("local-recoding.").first.wait_for()
    open_folds(page)
    assert page.get_by_label("k-map", exact=True).is_disabled()
    page.get_by_label("File of the population").set_input_files(people)
    page.get_by_text("The population is people of the town.csv.").first.wait_for()
    write(page, "k-map", "20")
    page.get_by_text("k-map: 20.").first.wait_for()
    page.reload()
    assert page.get_by_label("k-map", exact=True).input_value() == "20"
    set_method(page, "mdav")
    page.get_by_text("Method mdav.").first.wait_for()
    run(page)
    result(page)
    page.get_by_text("k = 20 (map) in every group").wait_for()
    assert "--population" in page.locator("pre code").first.inner_text()


def test_places_and_blocks_are_put_together(visit, tmp_path):
    table = tmp_path / "visits.csv"
    rows = [f"{47 + i * 7 % 60 / 10},{8 + i * 3 % 40 / 10},{18 + i % 60},{i % 5}" for i in range(120)]
    table.write_text("lat,lon,age,size\n" + "\n".join(rows), encoding="utf-8")
    page = visit()
    upload(page, table)
    page.get_by_role("heading", name="What the columns of").wait_for()
    to_protection(page)
    open_folds(page)
    page.get_by_label("Latitude").select_option("lat")
    page.get_by_label("Longitude").select_option("lon")
    page.get_by_role("button", name="Make it a place").click()
    page.get_by_role("button", name="lat and lon are no place").wait_for()
    page.get_by_label("Blocks", exact=True).first.select_option("own")
    blocks = page.get_by_role("group", name="Blocks")
    blocks.get_by_label("age").select_option("1")
    page.get_by_text("age: block 2.").first.wait_for()
    page.get_by_role("button", name="Check the plan").click()
    page.get_by_text("This plan can be carried out.").wait_for()
    page.get_by_role("button", name="Undo", exact=True).first.click()
    page.get_by_text("Undone.").first.wait_for()
    expect(blocks.get_by_label("age")).to_have_value("0")  # words may be said a moment before they are drawn
    page.get_by_role("navigation", name="Steps").get_by_role("button", name="Columns").click()
    assert role_of(page, "lat") == "quasi-identifier"


def test_an_answer_takes_back_nothing_that_was_written_since(visit):
    page = visit()
    open_demo(page)
    to_protection(page)
    open_folds(page)
    page.get_by_role("button", name="Use noise").click()
    page.get_by_text("A private release, in place of groups.").first.wait_for()
    held = []
    page.route("**/api/v1/tables/*/plan", lambda route: held.append(route))

    def let_go(number):
        while len(held) <= number:  # each waits for the answer to the one before
            page.wait_for_timeout(20)
        held[number].continue_()

    write(page, "Lowest of income", "0")
    write(page, "Highest of income", "20000")
    with page.expect_response(lambda response: response.request.method == "PATCH"):
        let_go(0)
    page.get_by_text("income: lower declared.").first.wait_for()
    assert page.get_by_label("Highest of income").input_value() == "20000"
    write(page, "Missing counts as of income", "0")
    let_go(1)
    with page.expect_response(lambda response: '"missing"' in (response.request.post_data or "")) as answered:
        let_go(2)
    income = answered.value.json()["plan"]["domain"]["columns"]["income"]
    assert income == {"kind": "continuous", "lower": 0, "upper": 20000, "missing": 0}


def test_noise_takes_the_place_of_groups(visit, axe):
    page = visit()
    open_demo(page)
    to_protection(page)
    open_folds(page)
    page.get_by_role("button", name="Use noise").click()
    page.get_by_role("heading", name="What the columns can hold").wait_for()
    assert page.get_by_label("Values of sex").input_value() == ""  # no value of the table is in a template
    declare(page, **DOMAIN)
    page.get_by_text("Everything is declared.").wait_for()
    page.get_by_role("button", name="Check the plan").click()
    page.get_by_text("This plan can be carried out.").wait_for()
    run(page)
    result(page)
    assert "surer than 73.1 %" in page.locator(".verdict .head").inner_text()
    assert axe(page) == []
    page.get_by_role("button", name="Change the plan").click()
    page.get_by_text("have spent 1; another would make it 2").wait_for()
    page.get_by_role("button", name="Back to groups").click()
    page.get_by_role("button", name="Larger k").wait_for()
    page.reload()
    page.get_by_text("Make a differentially private release").click()
    page.get_by_role("button", name="Use noise").click()
    page.get_by_label("Highest of income").wait_for()
    assert page.get_by_label("Highest of income").input_value() == "20000"  # what was declared came back


# --- by keyboard alone ---


def focused(page):
    """Return what a screen reader would call the control that has the focus."""
    names = "[at.getAttribute('aria-label'), at.textContent, at.name, at.labels?.[0]?.textContent]"
    return page.evaluate(f"(at => {names})(document.activeElement)")


def press_until(page, name, key="Tab", most=250):
    """Press a key until the control with this name has the focus."""
    for _ in range(most):
        page.keyboard.press(key)
        if name in [word and word.strip() for word in focused(page)]:
            return
    raise AssertionError(f"{name} must be reachable by {key}")


def test_the_whole_flow_is_done_by_keyboard_alone(visit):
    page = visit()
    press_until(page, "Try the example")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Details of region").wait_for()
    assert page.evaluate("document.activeElement.tagName") == "H1"  # a screen reader begins with the new screen
    press_until(page, "role-5")
    page.keyboard.press("ArrowRight")
    page.get_by_text("income: sensitive.").first.wait_for()
    press_until(page, "Protection")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Larger k").wait_for()
    press_until(page, "Larger k")
    page.keyboard.press("Enter")
    page.get_by_text("k = 6.").first.wait_for()
    page.keyboard.press("Control+z")
    page.get_by_text("Undone.").first.wait_for()
    press_until(page, "Method")
    page.keyboard.type("mdav")
    page.get_by_text("Method mdav.").first.wait_for()
    press_until(page, "All other settings")
    page.keyboard.press("Enter")
    press_until(page, "Bound on the best possible loss")
    page.keyboard.type("none")
    page.get_by_text("Bound on the best possible loss: none.").first.wait_for()
    press_until(page, "Run")
    page.keyboard.press("Enter")
    result(page)
    assert page.evaluate("document.activeElement.tagName") == "H1"
    press_until(page, "Download The release")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert download.value.suggested_filename == "release.csv"
    press_until(page, "Compare runs")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Runs of this sitting").wait_for()
    press_until(page, "Compare k = 5, mdav")
    page.keyboard.press("Space")
    expect(page.get_by_label("Compare k = 5, mdav")).to_be_checked()
    press_until(page, "Runs 1", key="Shift+Tab")


@pytest.mark.long
@pytest.mark.parametrize("width", [360, 1280])
def test_a_private_release_fits_and_has_no_findings_in_the_dark(visit, axe, width):
    page = visit(viewport={"width": width, "height": 740}, color_scheme="dark")
    open_demo(page)
    to_protection(page)
    open_folds(page)
    page.get_by_role("button", name="Use noise").click()
    page.get_by_role("heading", name="What the columns can hold").wait_for()
    declare(page, **DOMAIN)
    for _ in range(2):
        run(page)
        result(page)
        assert axe(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        page.get_by_role("button", name="Change the plan").click()
        screen_is(page, "Protection")
    page.get_by_role("button", name="Runs").click()
    page.get_by_role("heading", name="Runs of this sitting").wait_for()
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.get_by_role("heading", name="Side by side").wait_for()
    assert axe(page) == []
