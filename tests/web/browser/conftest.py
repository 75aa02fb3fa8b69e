"""A server as users start it, and a real browser that looks at its page."""

import os
import shutil
from pathlib import Path

import pytest
from served import serving
from steps import BROWSER_PATIENCE

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
USERS = 120
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]


def _skip(reason):
    if os.environ.get("SHOAL_TEST_BROWSER") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def chromium():
    """Return a browser that is shared by all tests; each opens a context of its own."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _skip("playwright is not installed")
    where = next(filter(None, map(shutil.which, BROWSERS)), None)
    if where is None:
        _skip("no Chromium on this machine: .ci/browser installs one")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=where, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory, chromium):
    """Return a server for all tests of this folder."""
    with serving(tmp_path_factory.mktemp("server"), USERS, "--jobs", "2") as running:
        yield running


class Page:
    """A page with what went wrong in it: errors of scripts, and requests that left the server."""

    def __init__(self, page):
        self.page, self.problems = page, []
        page.set_default_timeout(1000 * BROWSER_PATIENCE)
        page.on("pageerror", lambda error: self.problems.append(f"script: {error}"))
        page.on("console", self._on_console)
        page.on("dialog", self._on_dialog)
        page.on("request", self._on_request)
        self.home = ""

    def _on_console(self, message):
        # Answers that the page handles, such as a refused session, are logged by the browser as well.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.problems.append(f"console: {message.text}")

    def _on_dialog(self, dialog):
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _on_request(self, request):
        if self.home and not request.url.startswith((self.home, "data:", "blob:")):
            self.problems.append(f"request: {request.url}")

    def open(self, link):
        self.home = link.split("#")[0]
        self.page.goto(link)
        self.page.get_by_role("heading", name="Anonymise a table").wait_for()
        self.page.get_by_role("button", name="Choose a file").wait_for()
        return self.page


@pytest.fixture
def visit(chromium, server):
    """Return a function that opens the page as a new user."""
    opened = []

    def go(link=None, **context):
        page = Page(chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **context}).new_page())
        opened.append(page)
        return page.open(link or server.link())

    yield go
    problems = [problem for page in opened for problem in page.problems]
    for page in opened:
        page.page.context.close()
    assert problems == []


@pytest.fixture(scope="session")
def axe():
    """Return a function that gives the findings of axe-core on what a page shows."""
    source = (Path(__file__).parent / "vendor" / "axe.js").read_text(encoding="utf-8")

    def look(page):
        page.evaluate(source)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        return [f"{one['impact']} {one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"]]

    return look
