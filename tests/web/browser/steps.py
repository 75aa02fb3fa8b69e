"""What a person does on the page, in words of the page."""

import os
import re

from clocks import PATIENCE

# Seconds after which a page is taken to hang.
BROWSER_PATIENCE = float(os.environ.get("SHOAL_TEST_BROWSER_PATIENCE", PATIENCE))
# Milliseconds between two looks.
LOOK = 20


def open_demo(page):
    """Open the example, and wait for its columns."""
    page.get_by_role("button", name="Try the example").click()
    page.get_by_role("heading", name="What the columns of people.csv are").wait_for()
    page.get_by_role("button", name="Details of region").wait_for()


def upload(page, path):
    """Give the page a file, as the dialog of the browser would."""
    page.locator("input[type=file]").first.set_input_files(path)


def to_protection(page):
    page.get_by_label("Next step").get_by_role("button", name="Protection").click()
    page.get_by_role("heading", name=re.compile("^How .* is protected$")).wait_for()


def role_of(page, column):
    """Return the role that is chosen for a column."""
    return page.get_by_role("group", name=f"Role of {column}").locator("input:checked").get_attribute("value")


def set_role(page, column, role):
    page.get_by_role("group", name=f"Role of {column}").get_by_role("radio", name=role, exact=True).check()


def set_method(page, method):
    page.get_by_label("Method").select_option(method)


def open_folds(page):
    """Open everything that is folded away."""
    folded = page.locator("details.more:not([open]) > summary")
    for _ in range(folded.count()):
        folded.first.click()


def run(page):
    page.get_by_label("Next step").get_by_role("button", name="Run").click()
    page.get_by_role("progressbar", name="Progress of the run").or_(
        page.get_by_role("heading", name="Release of")
    ).first.wait_for()


def result(page):
    page.get_by_role("heading", name="Release of").wait_for()
    page.get_by_role("heading", name="Make it again").wait_for()


def until(page, true):
    """Wait until something is true that is not on the page itself."""
    for _ in range(int(1000 * BROWSER_PATIENCE / LOOK)):
        if true():
            return
        page.wait_for_timeout(LOOK)
    raise AssertionError("what is waited for must come to be")


class Held:
    """Requests of a page that wait until they are let go; with `answers`, the server has seen them already."""

    def __init__(self, page, pattern, answers=False):
        self.page, self.held = page, []

        def hold(route):
            # In the order of requests: their answers may come in another one.
            self.held.append(one := {"route": route, "ready": not answers, "answer": None})
            if answers:
                one.update(answer=route.fetch(), ready=True)

        page.route(pattern, hold)

    def let_go(self, number=0):
        """Let a request go as soon as it has been made (and answered, with `answers`); they are counted from 0."""
        until(self.page, lambda: len(self.held) > number and self.held[number]["ready"])
        route, answer = self.held[number]["route"], self.held[number]["answer"]
        route.continue_() if answer is None else route.fulfill(response=answer)


def expect(locator):
    """Return what waits until a part of the page is as expected; not every machine has it."""
    from playwright.sync_api import expect as waiting

    waiting.set_options(timeout=1000 * BROWSER_PATIENCE)  # it would be five seconds, whatever the page is given
    return waiting(locator)


def k_is(page, wanted):
    """Wait until the page shows this k."""
    expect(page.get_by_role("spinbutton", name="k", exact=True)).to_have_value(str(wanted))


def screen_is(page, name):
    page.get_by_role("navigation", name="Steps").locator("[aria-current=step]", has_text=name).wait_for()


def said(page, words):
    """Wait until a change has come back from the server, which the page says in these words."""
    page.get_by_text(words, exact=True).first.wait_for()


def write(page, label, text):
    """Write into a field, and leave it."""
    page.get_by_label(label, exact=True).fill(text)
    page.get_by_label(label, exact=True).blur()


# What the fields of a domain are called on the page, and in it.
KEYS = {"Lowest": "lower", "Highest": "upper", "Missing counts as": "missing", "Values": "values"}


def declare(page, **columns):
    """Fill in the domain of a private release: for every column its fields; others are not released."""
    for name in page.locator(".model h3").all_inner_texts():
        if name not in columns:
            page.get_by_role("button", name=f"Do not release {name}").click()
            said(page, f"{name} is not released.")
    for name, fields in columns.items():
        for label, text in fields.items():
            write(page, f"{label} of {name}", text)
            said(page, f"{name}: {KEYS[label]} declared.")
