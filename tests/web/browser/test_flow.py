"""The whole flow in a browser: the example, a broken file, changes, hostile words, two users."""

import csv
import hashlib
import json
import sqlite3
from contextlib import closing

import pytest
from steps import (
    expect,
    k_is,
    open_demo,
    result,
    role_of,
    run,
    said,
    screen_is,
    set_method,
    set_role,
    to_protection,
    upload,
)

HOSTILE = '<img src=x onerror="alert(1)">'


def test_the_example_becomes_a_release(visit, tmp_path):
    page = visit()
    open_demo(page)
    assert role_of(page, "person_id") == "identifier"
    to_protection(page)
    page.get_by_role("button", name="k = 3", exact=True).click()
    said(page, "k = 3.")
    set_method(page, "mdav")
    page.get_by_text("Method mdav.").first.wait_for()
    run(page)
    result(page)
    assert "share" in page.locator(".verdict .head").inner_text()
    files = {}
    for name in ("The release", "Certificate", "Report", "Job file"):
        with page.expect_download() as download:
            page.get_by_role("link", name=f"Download {name}", exact=True).click()
        files[name] = tmp_path / download.value.suggested_filename
        download.value.save_as(files[name])
    with files["The release"].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 1000
    assert "person_id" not in rows[0]
    certificate = json.loads(files["Certificate"].read_text(encoding="utf-8"))
    assert certificate["k"]["held"] >= 3
    assert hashlib.sha256(files["The release"].read_bytes()).hexdigest() in json.dumps(certificate)
    assert "k: 3" in files["Job file"].read_text(encoding="utf-8")
    command = page.locator("pre code").first.inner_text()
    assert command.startswith("shoal anonymize")

    page.reload()
    result(page)  # the state is on the server
    page.get_by_role("button", name="Change the plan").click()
    k_is(page, 3)


def test_a_broken_file_is_refused_in_words_and_can_be_closed(visit, tmp_path):
    broken = tmp_path / "broken.csv"
    broken.write_text("a,b\n1,2\n3,4,5,6\n" * 3, encoding="utf-8")
    page = visit()
    upload(page, broken)
    page.get_by_role("heading", name="broken.csv could not be read").wait_for()
    assert "must" in page.get_by_role("alert").first.inner_text()
    assert page.get_by_label("Delimiter").count() == 1
    assert page.get_by_label("Sheet").count() == 0  # a text has none
    page.get_by_role("button", name="Close broken.csv").click()
    page.get_by_role("heading", name="Tables of this sitting").wait_for(state="hidden")


def test_a_table_of_a_database_is_chosen(visit, tmp_path):
    base = tmp_path / "survey.sqlite"
    with closing(sqlite3.connect(base)) as connection, connection:
        for name in ("people", "visits"):
            connection.execute(f"create table {name} (town text, age integer)")
            connection.executemany(
                f"insert into {name} values (?, ?)", [(f"town {i % 5}", 20 + i % 40) for i in range(80)]
            )
    page = visit()
    page.get_by_label("Path or address").fill(str(base))
    page.get_by_role("button", name="Open it").click()
    page.get_by_role("button", name="Open visits").click()
    page.get_by_role("heading", name="What the columns of").wait_for()
    assert role_of(page, "town") == "quasi-identifier"


def test_every_choice_can_be_undone(visit):
    page = visit()
    open_demo(page)
    set_role(page, "income", "Sensitive")
    page.get_by_text("income: sensitive.").first.wait_for()
    page.get_by_role("button", name="Undo", exact=True).first.click()
    page.locator("[name=role-5][value='quasi-identifier']:checked").wait_for()
    page.get_by_role("button", name="Redo").click()
    page.locator("[name=role-5][value=sensitive]:checked").wait_for()
    page.keyboard.press("Control+z")
    page.locator("[name=role-5][value='quasi-identifier']:checked").wait_for()


def test_levels_are_ordered_by_keyboard_and_by_dragging(visit):
    page = visit()
    open_demo(page)
    page.get_by_role("button", name="Details of education").click()
    levels = page.locator(".levels li > span")
    first, second, third = levels.all_inner_texts()[:3]
    button = page.get_by_role("button", name=f"Move {first} to level 2")
    button.focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name=f"Move {second} to level 2").wait_for()
    assert levels.all_inner_texts()[:3] == [second, first, third]
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == f"Move {first} to level 3"
    page.locator(".levels li", has_text=third).drag_to(page.locator(".levels li").first)
    page.get_by_role("button", name=f"Move {second} to level 3").wait_for()
    assert levels.all_inner_texts()[:3] == [third, second, first]


def test_a_hierarchy_is_shown_as_a_tree_before_it_is_used(visit, tmp_path):
    table = tmp_path / "codes.csv"
    rows = [f"{10000 + 137 * i % 9000},{i % 60 + 18}" for i in range(60)]
    table.write_text("\n".join(["postcode,age", *rows]), encoding="utf-8")
    page = visit()
    upload(page, table)
    set_role(page, "postcode", "Quasi-identifier")
    page.get_by_role("button", name="Details of postcode").click()
    page.get_by_label("Hierarchy", exact=True).select_option("prefixes")
    page.get_by_label("Characters kept").fill("3, 1")
    page.get_by_role("button", name="Show the tree").click()
    tree = page.get_by_role("group", name="Hierarchy of postcode")
    tree.locator("summary", has_text="1****").wait_for()
    page.get_by_role("button", name="Use it").click()
    page.get_by_text("postcode has a hierarchy.").first.wait_for()
    page.reload()
    page.get_by_role("button", name="Details of postcode").click()
    tree.locator("summary", has_text="1****").wait_for()


def test_a_table_is_dropped_and_a_hierarchy_loaded_from_a_file(visit, tmp_path):
    tree = tmp_path / "towns.csv"
    tree.write_text("Hamburg,North,*\nBremen,North,*\nMunich,South,*\n", encoding="utf-8")
    words = "town,age\n" + "".join(f"{('Hamburg', 'Bremen', 'Munich')[i % 3]},{20 + i % 30}\n" for i in range(60))
    page = visit()
    dropped = page.evaluate_handle(
        "(text) => { const all = new DataTransfer(); all.items.add(new File([text], 'our towns.csv')); return all; }",
        words,
    )
    page.get_by_role("region", name="Open a file").dispatch_event("drop", {"dataTransfer": dropped})
    page.get_by_role("heading", name="What the columns of our towns.csv are").wait_for()
    page.get_by_role("button", name="Details of town").click()
    page.get_by_label("Hierarchy", exact=True).select_option("file")
    page.get_by_label("File of the hierarchy").set_input_files(tree)
    page.get_by_role("group", name="Hierarchy of town").locator("summary", has_text="North").wait_for()
    page.get_by_role("heading", name="town hierarchical").wait_for()
    page.get_by_role("button", name="Undo", exact=True).first.click()
    page.get_by_role("heading", name="town nominal").wait_for()


def test_a_model_can_be_added_changed_and_taken_away(visit):
    page = visit()
    open_demo(page)
    to_protection(page)
    page.get_by_label("Add a model for diagnosis").select_option("distinct-diversity")
    parameter = page.get_by_label("l of distinct-diversity for diagnosis")
    parameter.fill("4")
    parameter.press("Enter")
    page.get_by_text("diagnosis: distinct-diversity l=4.").first.wait_for()
    page.reload()
    assert parameter.input_value() == "4"
    page.get_by_label("Add a model for diagnosis").select_option("t-closeness")
    page.get_by_label("ground of t-closeness for diagnosis").select_option("equal")
    page.get_by_text("diagnosis: t-closeness t=0.2 ground=equal.").first.wait_for()
    page.get_by_role("button", name="Take away distinct-diversity from diagnosis").click()
    parameter.wait_for(state="detached")


def test_a_limit_of_time_stays_with_methods_that_search(visit):
    """The library would refuse it with another method, once the run has begun."""
    page = visit()
    open_demo(page)
    to_protection(page)
    seconds = page.get_by_label("Seconds for the search")
    seconds.fill("30")
    seconds.press("Enter")
    page.get_by_text("Time limit: 30.").first.wait_for()
    set_method(page, "mdav")
    page.get_by_text("Method mdav.").first.wait_for()
    expect(seconds).to_be_disabled()
    expect(seconds).to_have_value("")
    page.get_by_role("button", name="Undo", exact=True).first.click()
    expect(seconds).to_have_value("30")


def test_a_run_survives_a_reload_and_can_be_cancelled(visit):
    page = visit()
    open_demo(page)
    to_protection(page)
    set_method(page, "anytime")
    page.get_by_label("Seconds for the search").fill("600")
    page.get_by_label("Seconds for the search").press("Enter")
    page.get_by_text("Time limit: 600.").first.wait_for()
    run(page)
    page.reload()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("heading", name="Cancelled").wait_for()
    page.get_by_role("button", name="Change the plan").click()
    screen_is(page, "Protection")


def test_the_loss_of_a_search_is_said_to_be_without_models(visit):
    """They are enforced once it has ended, which costs more than the search shows."""
    page = visit()
    open_demo(page)
    to_protection(page)
    page.get_by_label("Add a model for diagnosis").select_option("distinct-diversity")
    said(page, "diagnosis: distinct-diversity.")
    set_method(page, "anytime")
    said(page, "Method anytime.")
    run(page)
    page.get_by_text("Loss so far").wait_for()
    page.get_by_text("of the variation between records, before models are enforced: that adds to it").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("heading", name="Cancelled").wait_for()


@pytest.mark.long
def test_a_search_is_stopped_when_it_is_good_enough(visit):
    page = visit()
    open_demo(page)
    to_protection(page)
    set_method(page, "anytime")
    page.get_by_label("Seconds for the search").fill("600")
    page.get_by_label("Seconds for the search").press("Enter")
    page.get_by_text("Time limit: 600.").first.wait_for()
    run(page)
    page.get_by_text("Loss so far").wait_for()
    page.locator("button:enabled", has_text="Good enough, stop here").click()
    result(page)
    assert (
        "ended by hand" in page.locator("section", has=page.get_by_role("heading", name="Make it again")).inner_text()
    )


def test_words_of_the_data_are_never_html(visit, tmp_path):
    table = tmp_path / "<b>people.csv"
    quoted = '"<img src=x onerror=""alert(1)"">"'
    rows = [f"{quoted},{20 + i % 30},<script>alert({i % 3})</script>" for i in range(60)]
    table.write_text("\n".join([f"{quoted},age,<svg onload=alert(2)>", *rows]), encoding="utf-8")
    page = visit()
    upload(page, table)
    page.get_by_role("heading", name=HOSTILE).wait_for()
    page.get_by_role("button", name=f"Details of {HOSTILE}").click()
    set_role(page, "age", "Sensitive")
    to_protection(page)
    page.get_by_role("heading", name="How <b>people.csv is protected").wait_for()
    assert page.locator("main img, main script, main b").count() == 0


def test_users_do_not_see_each_others_tables(visit, server):
    one, other = visit(), visit()
    open_demo(one)
    where = one.url
    other.reload()
    other.get_by_role("button", name="Choose a file").wait_for()
    assert other.get_by_role("heading", name="Tables of this sitting").count() == 0
    other.goto(where)
    other.reload()
    other.get_by_role("heading", name="Columns").wait_for()
    assert other.get_by_text("person_id").count() == 0


def test_the_page_is_locked_without_a_link(chromium, server, visit):
    page = visit()
    stranger = chromium.new_context().new_page()
    stranger.goto(page.url.split("#")[0])
    stranger.get_by_role("heading", name="This page is locked").wait_for()
    stranger.goto(page.url.split("#")[0] + "#token=" + "x" * 43)
    stranger.reload()
    stranger.get_by_role("heading", name="This page is locked").wait_for()
    stranger.context.close()
