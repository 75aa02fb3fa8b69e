"""The page of ``shoal serve`` as its users have it: ``python -m benchmarks.page [--quick]``.

A server is started as users start it, and Chromium opens its page. While a large table is sent, read and released, the
page is asked for answers all the time, from inside the browser and by another user from outside.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psutil
import pyarrow.csv
from playwright.sync_api import Browser, Page, sync_playwright

import shoal
from benchmarks.pages import Table, publish
from benchmarks.release import people
from benchmarks.timing import MIB

STATIC = Path(shoal.__file__).parent / "web" / "static"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
PATIENCE = 3_600_000  # milliseconds
LATE = 100  # milliseconds
ASKING = ("in the page", "another user")
EVERY = 0.05  # seconds between two questions
TIMES = """\
By the clock, which is what people wait by: on a machine that others use as well, as was the case here, the figures are
too high rather than too low: {load:.0f} processes were waiting for its cores on average. What is short was repeated;
then the middle one is given, and the highest.
"""
INTRO = """\
`shoal serve`, with the page open in Chromium on the same machine, everything compiled before (`shoal warm`).
"""
# Asks for the state of the visit again and again, and notes how long answers take and how long scripts hold the page.
WATCH = """() => {
  window.watched = { answers: [], held: [0] };
  const note = (list) => window.watched.held.push(...list.getEntries().map((one) => one.duration));
  new PerformanceObserver(note).observe({ type: "longtask" });
  const ask = async () => {
    const begin = performance.now();
    await fetch("api/v1/session").then((answer) => answer.text());
    window.watched.answers.push(performance.now() - begin);
    setTimeout(ask, 50);
  };
  ask();
}"""
SEEN = """() => { const seen = window.watched; window.watched = { answers: [], held: [0] }; return seen; }"""


class Served(NamedTuple):
    """A running server."""

    process: psutil.Process
    links: list[str]

    def memory(self) -> float:
        """Return the MiB that the server itself holds, without its workers."""
        return float(self.process.memory_info().rss / MIB)


@contextmanager
def served(users: int) -> Iterator[Served]:
    """Start a server, and end it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "shoal", "serve", "--no-browser", "--users", str(users), "--folder", folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            links: list[str] = []
            while len(links) < users and process.stdout is not None:
                links += re.findall(r"http://\S+#token=\S+", process.stdout.readline())
            try:
                yield Served(psutil.Process(process.pid), links)
            finally:
                process.terminate()


class Other:
    """Another user, who asks for her state all the time; notes the milliseconds until each answer."""

    def __init__(self, link: str) -> None:
        address, token = link.split("#token=")
        self.client = httpx.Client(base_url=address, timeout=600)
        self.client.post("api/v1/session", json={"token": token}).raise_for_status()
        self.answers: list[float] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _ask(self) -> None:
        while not self._done.wait(EVERY):
            begin = time.perf_counter()
            self.client.get("api/v1/state").raise_for_status()
            self.answers.append(1000 * (time.perf_counter() - begin))

    def seen(self) -> list[float]:
        """Return what was noted since it was last asked for."""
        noted, self.answers = self.answers, []
        return noted

    def leave(self) -> None:
        """Ask no more."""
        self._done.set()
        self._thread.join()
        self.client.close()


def opened(browser: Browser, link: str) -> tuple[Page, float]:
    """Open the page as a new visitor; return it, and the milliseconds until its first paint."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(link)
    page.get_by_role("button", name="Try the example").wait_for()
    paints = page.evaluate("performance.getEntriesByName('first-contentful-paint').map((one) => one.startTime)")
    return page, float(paints[0])


def bar(page: Page, name: str) -> Any:
    """Return a button of the bar at the bottom."""
    return page.get_by_label("Next step").get_by_role("button", name=name)


def seconds(action: Callable[[], Any]) -> float:
    """Return the seconds that something takes."""
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def size() -> tuple[int, int]:
    """Return the number of files of the page, and their bytes, each compressed by itself."""
    files = [path for path in STATIC.rglob("*") if path.suffix in (".js", ".css", ".html", ".svg")]
    return len(files), sum(len(gzip.compress(path.read_bytes())) for path in files)


def demo(page: Page) -> tuple[float, float]:
    """Return the seconds from a click on the example to its columns, and from the click on Run to the result."""

    def columns() -> None:
        page.get_by_role("button", name="Try the example").click()
        page.get_by_role("button", name="Details of region").wait_for()

    def release() -> None:
        bar(page, "Run").click()
        page.get_by_role("heading", name="Make it again").wait_for()

    first = seconds(columns)
    bar(page, "Protection").click()
    page.get_by_role("button", name="Larger k").wait_for()
    return first, seconds(release)


def of(values: Sequence[float], digits: int = 0) -> tuple[str, str]:
    """Return the middle one and the highest of some values."""
    return f"{statistics.median(values):,.{digits}f}", f"{max(values):,.{digits}f}"


def spread(answers: Sequence[float]) -> list[str]:
    """Return the middle one of some answers, the one below which 99 of 100 are, the highest, and how many are late."""
    ordered = sorted(answers)
    marks = (statistics.median(ordered), ordered[-1 - len(ordered) // 100], ordered[-1])
    return [*(f"{one:,.0f}" for one in marks), f"{sum(one > LATE for one in ordered)} of {len(ordered):,}"]


def small(browser: Browser, repeats: int) -> Table:
    """Measure what does not depend on a table."""
    table = Table("The page itself", "", ["", "middle", "highest", "aimed at"])
    files, compressed = size()
    table.add(f"all files of the page ({files}), compressed, kB", f"{compressed / 1000:,.1f}", "", "150")
    with served(repeats) as server:
        fresh = server.memory()
        paints, read, made = [], [], []
        for link in list(server.links):
            page, paint = opened(browser, link)
            paints.append(paint)
            first, second = demo(page)
            read.append(first)
            made.append(second)
            page.context.close()
        table.add("first paint of a new visitor, ms", *of(paints), "1,000")
        table.add("the example: from the click to its columns, s", *of(read, 1), "")
        table.add("the example: from Run to the result, s", *of(made, 1), "")
        table.add("memory of a server that nobody has visited, MiB", f"{fresh:,.0f}", "", "")
        table.add(f"the same after {repeats} visits with a release each, MiB", f"{server.memory():,.0f}", "", "")
    return table


class Answers(NamedTuple):
    """Milliseconds until answers, in the page and for another user, and those that scripts held the page."""

    inside: list[float]
    outside: list[float]
    held: list[float]


def large(browser: Browser, source: Path, rows: int, idle: int) -> list[Table]:
    """Send, read and release a large table, and measure answers meanwhile."""
    steps = Table(
        f"A table of {rows:,} rows and 20 columns",
        f"A CSV file of {source.stat().st_size / 1e6:,.0f} MB. Ten quasi-identifiers, k = 5, the method `auto`; the "
        "other roles are set by hand, as on [From file to release](release.md).",
        ["Step", "seconds", "memory of the server, MiB"],
    )
    waits = Table(
        "Answers while it works",
        "Milliseconds until an answer to a small question that is asked every 50 ms: by a script in the page, and by "
        "another user. *Held* is the longest time for which scripts held up the page.",
        ["While", *(f"{who}: {what}" for who in ASKING for what in ("middle", "99 %", "highest", "> 100 ms")), "held"],
    )
    with served(2) as server:
        page, _ = opened(browser, server.links[0])
        other = Other(server.links[1])
        page.evaluate(WATCH)

        def step(name: str, action: Callable[[], Any]) -> None:
            page.evaluate(SEEN)
            other.seen()
            took = seconds(action)
            noted = page.evaluate(SEEN)
            seen = Answers(noted["answers"], other.seen(), noted["held"])
            steps.add(name, f"{took:,.1f}", f"{server.memory():,.0f}")
            told = [cell for values in (seen.inside, seen.outside) for cell in spread(values)]
            waits.add(name, *told, f"{max(seen.held):,.0f}")

        try:
            step("nothing happens", lambda: page.wait_for_timeout(1000 * idle))
            _flow(page, source, step)
        finally:
            other.leave()
            page.context.close()
    return [steps, waits]


def _flow(page: Page, source: Path, step: Callable[[str, Callable[[], Any]], None]) -> None:
    """Go through the flow with a large table."""

    def send() -> None:
        page.locator("input[type=file]").first.set_input_files(source)
        page.get_by_role("heading", name=f"Reading {source.name}").wait_for()

    def release() -> None:
        bar(page, "Run").click()
        page.get_by_role("heading", name="Make it again").wait_for()

    step("the file is sent", send)
    step("it is read, and columns are drawn", lambda: page.get_by_role("button", name="Details of person").wait_for())
    page.get_by_label("Find a column").fill("answer")
    page.get_by_label("Make all 8 shown").select_option("other")
    page.get_by_text("8 columns: other.").first.wait_for()
    page.get_by_label("Find a column").fill("diagnosis")
    page.get_by_role("group", name="Role of diagnosis").get_by_role("radio", name="Sensitive", exact=True).check()
    page.get_by_text("diagnosis: sensitive.").first.wait_for()
    bar(page, "Protection").click()
    page.get_by_role("button", name="Larger k").wait_for()
    step("it is released", release)


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a smaller table and fewer repetitions")
    quick = parser.parse_args().quick
    rows, repeats = (50_000, 2) if quick else (1_000_000, 5)
    where = next(filter(None, map(shutil.which, BROWSERS)), None)
    if where is None:
        raise SystemExit(f"A browser must be installed: one of {', '.join(BROWSERS)}.")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        source = Path(folder) / "people.csv"
        pyarrow.csv.write_csv(people(rows), source)
        browser = playwright.chromium.launch(executable_path=where, args=FLAGS)
        tables = [small(browser, repeats), *large(browser, source, rows, 3 if quick else 30)]
        browser.close()
    times = TIMES.format(load=os.getloadavg()[2])
    publish("page-speed", "The speed of the page", INTRO, tables, quick=quick, times=times, module="page")


if __name__ == "__main__":
    main()
