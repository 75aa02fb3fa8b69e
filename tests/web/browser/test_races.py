"""Answers that come late, in another order, twice or not at all; windows of one user; double clicks."""

import re
from contextlib import ExitStack

import httpx
import pytest
from steps import (
    Held,
    expect,
    k_is,
    open_demo,
    open_folds,
    result,
    role_of,
    screen_is,
    set_method,
    set_role,
    to_protection,
    until,
    upload,
    write,
)

from shoal.web.settings import MOST_STREAMS

NEXT = "Next step"


def bar(page, name):
    return page.get_by_label(NEXT).get_by_role("button", name=name, exact=True)


def state(page):
    """Return what the server knows of the user of a page."""
    return page.request.get(page.url.split("#")[0] + "api/v1/state").json()


def at_protection(visit, method="mdav"):
    page = visit()
    open_demo(page)
    to_protection(page)
    set_method(page, method)
    page.get_by_text(f"Method {method}.").first.wait_for()
    return page


def with_a_seed(visit):
    """Return a page, and a field of it with a value that the server refuses: nobody has left it yet."""
    page = at_protection(visit)
    open_folds(page)
    seed = page.get_by_label("Seed", exact=True)
    write(page, "Seed", "7")
    page.get_by_text("Seed: 7.").first.wait_for()
    seed.fill("-3")
    return page, seed


# --- changes of a plan ---


def test_nothing_is_run_if_a_change_on_its_way_is_refused(visit):
    page, seed = with_a_seed(visit)
    held = Held(page, "**/api/v1/tables/*/plan")
    bar(page, "Run").click()
    held.let_go()
    page.get_by_role("alert").first.wait_for()
    expect(seed).to_have_value("7")
    screen_is(page, "Protection")
    assert state(page)["jobs"] == []
    bar(page, "Run").click()  # whoever has seen it may run what the page shows
    result(page)


def test_nothing_is_run_by_the_press_that_made_a_refused_change(visit):
    page, _ = with_a_seed(visit)
    bar(page, "Run").hover()
    page.mouse.down()  # which leaves the field
    page.get_by_role("alert").first.wait_for()
    bar(page, "Run").hover()
    page.mouse.up()
    page.wait_for_timeout(300)
    screen_is(page, "Protection")
    assert page.get_by_role("alert").count() == 1
    assert state(page)["jobs"] == []


def test_what_was_refused_is_told_though_another_change_follows(visit):
    page, seed = with_a_seed(visit)
    held = Held(page, "**/api/v1/tables/*/plan")
    seed.blur()
    page.get_by_role("button", name="k = 10", exact=True).click()
    held.let_go(0)
    held.let_go(1)
    page.get_by_text("k = 10.").first.wait_for()
    assert page.get_by_role("alert").count() == 1
    expect(seed).to_have_value("7")


def test_a_change_that_is_not_answered_does_not_stay_on_the_page(visit):
    page = at_protection(visit)
    page.route("**/api/v1/tables/**", lambda route: route.abort())
    page.get_by_role("button", name="k = 10", exact=True).click()
    page.get_by_text("The server must be running.").wait_for()
    k_is(page, 5)
    page.unroute("**/api/v1/tables/**")
    page.get_by_role("button", name="k = 3", exact=True).click()
    page.get_by_text("k = 3.").first.wait_for()
    assert page.get_by_role("alert").count() == 0


def test_a_change_is_undone_while_it_is_on_its_way(visit):
    page = visit()
    open_demo(page)
    held = Held(page, "**/api/v1/tables/*/columns")
    set_role(page, "income", "Sensitive")
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")  # there is one step only: no error
    held.let_go()
    page.get_by_text("Undone.").first.wait_for()
    page.locator("[name=role-5][value='quasi-identifier']:checked").wait_for()
    assert page.get_by_role("alert").count() == 0


def test_an_undo_of_what_is_refused_takes_nothing_else_back(visit):
    page, seed = with_a_seed(visit)
    held = Held(page, "**/api/v1/tables/*/plan")
    seed.blur()
    page.get_by_role("button", name="Undo", exact=True).first.click()
    held.let_go()
    page.get_by_role("alert").first.wait_for()
    page.get_by_role("button", name="k = 10", exact=True).click()
    held.let_go(1)
    page.get_by_text("k = 10.").first.wait_for()
    expect(seed).to_have_value("7")
    page.get_by_role("button", name="Undo", exact=True).first.click()
    k_is(page, 5)


def test_a_check_is_of_the_plan_that_was_checked(visit):
    page = at_protection(visit)
    bar(page, "Check the plan").click()
    page.get_by_text("This plan can be carried out.").wait_for()
    page.get_by_role("button", name="k = 10", exact=True).click()
    page.get_by_text("The plan has changed since it was checked.").wait_for()
    page.get_by_role("button", name="Undo", exact=True).first.click()
    page.get_by_text("This plan can be carried out.").wait_for()


def test_a_tree_that_was_asked_for_earlier_is_not_shown(visit, tmp_path):
    table = tmp_path / "codes.csv"
    table.write_text("postcode,age\n" + "".join(f"{10000 + 137 * i % 9000},{i % 60 + 18}\n" for i in range(60)))
    page = visit()
    upload(page, table)
    set_role(page, "postcode", "Quasi-identifier")
    page.get_by_role("button", name="Details of postcode").click()
    page.get_by_label("Hierarchy", exact=True).select_option("prefixes")
    held = Held(page, "**/api/v1/tables/*/hierarchy", answers=True)
    for lengths in ("1", "2"):
        page.get_by_label("Characters kept").fill(lengths)
        page.get_by_role("button", name="Show the tree").click()
    held.let_go(1)
    tree = page.get_by_role("group", name="Hierarchy of postcode")
    tree.locator("summary", has_text="10***").wait_for()
    with page.expect_response("**/api/v1/tables/*/hierarchy"):
        held.let_go(0)
    page.wait_for_timeout(200)
    assert tree.locator("summary", has_text="10***").count() == 1
    page.get_by_role("button", name="Use it").click()
    page.get_by_text("postcode has a hierarchy.").first.wait_for()
    expect(page.get_by_label("Characters kept")).to_have_value("2")


# --- tables ---


def test_a_choice_in_the_first_frame_is_not_taken_back(visit):
    page = visit()
    open_demo(page)
    page.evaluate(
        """async () => {
          document.querySelector("button[aria-label='Details of region'], [aria-label='Details of region']").click();
          const choice = () => [...document.querySelectorAll("[data-field=hierarchies] select")].at(-1);
          while (!choice()) await null; // drawn, and no frame has passed
          choice().value = "prefixes";
          choice().dispatchEvent(new Event("change", { bubbles: true }));
        }"""
    )
    # What was put off until after the frame has happened by then.
    page.evaluate("() => new Promise((done) => setTimeout(() => requestAnimationFrame(done), 300))")
    assert page.get_by_role("button", name="Show the tree").count() == 1


def test_a_table_that_was_read_before_the_answer_goes_on_to_its_columns(visit):
    page = visit()
    held = Held(page, "**/api/v1/tables/demo", answers=True)
    page.get_by_role("button", name="Try the example").click()
    until(page, lambda: [table["state"] for table in state(page)["tables"]] == ["ready"])
    held.let_go()
    page.get_by_role("heading", name="What the columns of people.csv are").wait_for()


def test_a_double_click_opens_one_example(visit):
    page = visit()
    page.get_by_role("button", name="Try the example").dblclick()
    page.get_by_role("heading", name="What the columns of people.csv are").wait_for()
    assert len(state(page)["tables"]) == 1


def test_the_table_of_the_address_is_shown_whichever_answer_comes_last(visit, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("age,town\n" + "".join(f"{i % 60 + 18},{'abc'[i % 3]}\n" for i in range(60)))
    page = visit()
    open_demo(page)
    first = re.search(r"columns/(\w+)", page.url)[1]
    page.get_by_role("navigation", name="Steps").get_by_role("button", name="Open").click()
    upload(page, other)
    page.get_by_role("heading", name="What the columns of other.csv are").wait_for()
    second = page.url
    held = Held(page, f"**/api/v1/tables/{first}", answers=True)
    page.goto(second.split("#")[0] + f"#/columns/{first}")
    page.get_by_text("One moment.").wait_for()
    page.goto(second)
    page.get_by_role("heading", name="What the columns of other.csv are").wait_for()
    with page.expect_response(f"**/api/v1/tables/{first}"):
        held.let_go()
    page.wait_for_timeout(200)
    assert page.get_by_role("heading", name="What the columns of other.csv are").count() == 1


def test_an_upload_does_not_call_back_who_has_gone_on(visit, tmp_path):
    table = tmp_path / "late.csv"
    table.write_text("age,town\n" + "".join(f"{i % 60 + 18},{'abc'[i % 3]}\n" for i in range(60)))
    page = visit()
    held = Held(page, "**/api/v1/tables/upload")
    upload(page, table)
    page.get_by_role("heading", name="Sending late.csv").wait_for()
    page.get_by_role("button", name="Runs").click()
    page.get_by_role("heading", name="Runs of this sitting").wait_for()
    page.get_by_role("navigation", name="Steps").get_by_role("button", name="Open").click()
    page.get_by_role("heading", name="Sending late.csv").wait_for()
    page.get_by_role("button", name="Runs").click()
    held.let_go()
    page.get_by_text("late.csv was opened.").first.wait_for()
    assert page.get_by_role("heading", name="Runs of this sitting").count() == 1


# --- jobs ---


def test_a_double_click_makes_one_run_and_does_not_cancel_it(visit):
    page = at_protection(visit)
    Held(page, "**/api/v1/events?*")  # as if it waited for its turn: then Cancel stands where Run was
    page.reload()
    bar(page, "Run").dblclick(delay=80)
    until(
        page, lambda: [job["state"] for job in state(page)["jobs"] if job["kind"] == "run"] in (["done"], ["cancelled"])
    )
    assert [job["state"] for job in state(page)["jobs"] if job["kind"] == "run"] == ["done"]


def test_a_run_is_begun_once_however_often_it_is_clicked(visit):
    page = at_protection(visit)
    held = Held(page, "**/api/v1/jobs")
    for _ in range(3):
        bar(page, "Run").click(click_count=1)
    held.let_go()
    result(page)
    assert len(held.held) == 1


def test_a_run_that_ended_before_the_answer_shows_its_result(visit):
    page = at_protection(visit)
    held = Held(page, "**/api/v1/jobs", answers=True)
    bar(page, "Run").click()
    until(page, lambda: [job["state"] for job in state(page)["jobs"] if job["kind"] == "run"] == ["done"])
    held.let_go()
    result(page)


def test_a_run_that_begins_after_somebody_went_on_says_so(visit):
    page = at_protection(visit)
    held = Held(page, "**/api/v1/jobs")
    bar(page, "Run").click()
    page.get_by_role("navigation", name="Steps").get_by_role("button", name="Columns").click()
    held.let_go()
    page.get_by_text("k = 5, mdav has begun.").first.wait_for()
    screen_is(page, "Columns")
    page.get_by_text("k = 5, mdav is done.").first.wait_for()
    screen_is(page, "Columns")


@pytest.mark.long
def test_a_late_answer_does_not_bring_a_finished_run_back(visit):
    page = at_protection(visit, "anytime")
    write(page, "Seconds for the search", "600")
    page.get_by_text("Time limit: 600.").first.wait_for()
    bar(page, "Run").click()
    held = Held(page, "**/api/v1/jobs/*/stop", answers=True)
    page.locator("button:enabled", has_text="Good enough, stop here").click()
    result(page)
    with page.expect_response("**/api/v1/jobs/*/stop"):
        held.let_go()
    page.wait_for_timeout(200)
    page.get_by_role("navigation", name="Steps").get_by_role("button", name="Run").click()
    page.get_by_role("heading", name="Done", exact=True).wait_for()


@pytest.mark.long
def test_runs_that_are_not_chosen_any_more_are_not_compared(visit):
    page = at_protection(visit)
    for k in (3, 10):
        page.get_by_role("button", name=f"k = {k}", exact=True).click()
        page.get_by_text(f"k = {k}.").first.wait_for()
        bar(page, "Run").click()
        result(page)
        bar(page, "Change the plan").click()
    page.get_by_role("button", name="Runs").click()
    held = Held(page, "**/api/v1/comparison")
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.get_by_role("checkbox").first.uncheck()
    with page.expect_response("**/api/v1/comparison"):
        held.let_go()
    page.wait_for_timeout(200)
    assert page.get_by_role("heading", name="Side by side").count() == 0


# --- windows of one user, and what the server tells them ---


def test_two_windows_of_one_user_show_the_same_plan(visit):
    page = at_protection(visit)
    other = page.context.new_page()
    other.goto(page.url)
    k_is(other, 5)
    page.get_by_role("button", name="k = 10", exact=True).click()
    k_is(other, 10)
    other.get_by_role("button", name="Undo", exact=True).first.click()
    k_is(page, 5)
    bar(other, "Run").click()
    result(other)
    other.get_by_role("heading", name="What remains at risk").wait_for()
    page.get_by_role("button", name="Runs 1").click()
    page.get_by_role("button", name="Result of k = 5, mdav").wait_for()
    page.get_by_role("navigation", name="Steps").get_by_role("button", name="Open").click()
    bar(other, "Change the plan").click()
    page.get_by_role("button", name="Close people.csv").click()
    other.get_by_text("This table is not there any more.").wait_for()


def test_events_that_are_newer_than_the_whole_state_are_kept(visit):
    page = visit()
    streams = []
    table = '{"id": "t1", "name": "newer.csv", "state": "failed", "revision": 1}'
    told = f"retry: 100\n\nid: 1\nevent: reset\ndata: {{}}\n\nid: 2\nevent: table\ndata: {table}\n\n"

    def answer(route):
        streams.append(route)
        if len(streams) == 1:
            route.fulfill(body=told, content_type="text/event-stream")

    page.route("**/api/v1/events?*", answer)
    held = Held(page, "**/api/v1/state", answers=True)
    page.reload()
    held.let_go(0)
    until(page, lambda: len(streams) > 1)
    held.let_go(1)
    page.get_by_role("button", name="Close newer.csv").wait_for()


def test_a_window_too_many_says_why_it_hears_nothing(visit):
    page = visit()
    home = page.url.split("#")[0]
    cookies = {one["name"]: one["value"] for one in page.context.cookies()}
    page.goto("about:blank")  # its own stream ends
    with httpx.Client(base_url=home, cookies=cookies, timeout=60) as client, ExitStack() as streams:
        for _ in range(MOST_STREAMS):
            answer = streams.enter_context(client.stream("GET", "api/v1/events"))
            while answer.status_code == 429:  # until the server has noticed that the first has ended
                page.wait_for_timeout(50)
                answer = streams.enter_context(client.stream("GET", "api/v1/events"))
        page.goto(home)
        page.get_by_text(f"At most {MOST_STREAMS} windows of the page").wait_for()
        assert page.get_by_text("Close another window.").count() == 1
    page.get_by_text(f"At most {MOST_STREAMS} windows of the page").wait_for(state="detached")


def test_nothing_is_said_to_be_wiped_that_is_not(visit):
    page = visit()
    open_demo(page)
    page.evaluate("window.confirm = () => true")
    page.route("**/api/v1/session", lambda route: route.abort())
    page.get_by_role("button", name="Wipe everything and leave").click()
    page.get_by_text("The server must be running.").wait_for()
    assert role_of(page, "person_id") == "identifier"
    page.unroute("**/api/v1/session")
    page.get_by_role("button", name="Wipe everything and leave").click()
    page.get_by_role("heading", name="Everything was wiped").wait_for()
    page.wait_for_timeout(300)  # the end of the visit is told by an event, too
    assert page.get_by_role("heading", name="Everything was wiped").count() == 1


def test_a_visit_that_ended_elsewhere_says_why(visit):
    page = visit()
    open_demo(page)
    assert page.request.delete(page.url.split("#")[0] + "api/v1/session").status == 204
    page.get_by_role("heading", name="This visit has ended").wait_for()
    assert page.get_by_text("The visit was ended: everything was wiped.").count() == 1
