"""Draw docs/page/*.png: the screens of ``shoal serve`` on the example, as a browser shows them.

It needs Chromium, Playwright and Pillow. Run it again when the page changes.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

TARGET = Path(__file__).resolve().parent / "page"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"]
WIDE, PHONE = {"width": 1060, "height": 700}, {"width": 360, "height": 720}
COLOURS, LARGEST = 64, 90_000  # bytes a picture


@contextmanager
def served() -> Iterator[list[str]]:
    """Start the server with two users, and give their links."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "shoal", "serve", "--no-browser", "--users", "2", "--folder", folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            links: list[str] = []
            while len(links) < 2 and process.stdout is not None:
                links += re.findall(r"http://\S+#token=\S+", process.stdout.readline())
            try:
                yield links
            finally:
                process.terminate()


def keep(page: Any, name: str) -> None:
    """Write what the window shows, with few colours so that it stays small."""
    page.get_by_label("Last change").wait_for(state="detached")  # the note of the last change goes by itself
    page.wait_for_timeout(300)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    path = TARGET / f"{name}.png"
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    if size > LARGEST:
        raise SystemExit(f"{path.name} must have at most {LARGEST:,} bytes. Got {size:,}.")
    print(f"{path.name}: {picture.width} x {picture.height}, {size:,} bytes")


def demo(page: Any, link: str) -> None:
    page.goto(link)
    page.get_by_role("button", name="Try the example").wait_for()


def bar(page: Any, name: str) -> Any:
    return page.get_by_label("Next step").get_by_role("button", name=name)


def plan(page: Any) -> None:
    """Open the example and choose: pictures of the first three screens."""
    keep(page, "open")
    page.get_by_role("button", name="Try the example").click()
    page.get_by_role("button", name="Details of education").wait_for()
    keep(page, "columns")
    page.get_by_role("button", name="Details of education").click()
    page.evaluate("document.querySelector('.levels').closest('.whole').scrollIntoView()")
    keep(page, "levels")
    bar(page, "Protection").click()
    page.get_by_label("Add a model for diagnosis").select_option("distinct-diversity")
    page.get_by_text("diagnosis: distinct-diversity.").first.wait_for()
    page.set_viewport_size({**WIDE, "height": 940})
    keep(page, "protection")
    page.set_viewport_size(WIDE)


def noise(page: Any) -> None:
    """Declare the domain of a private release, and go back to groups."""
    page.get_by_text("Make a differentially private release").click()
    page.get_by_role("button", name="Use noise").click()
    page.get_by_label("Lowest of birth_date").fill("1920-01-01")
    page.get_by_label("Lowest of birth_date").press("Enter")
    page.get_by_text("birth_date: lower declared.").first.wait_for()
    page.get_by_role("button", name="Do not release region").click()
    page.get_by_text("region is not released.").first.wait_for()
    page.set_viewport_size({**WIDE, "height": 1000})
    page.evaluate("document.getElementById('domain').scrollIntoView()")
    keep(page, "noise")
    page.set_viewport_size(WIDE)
    page.get_by_role("button", name="Back to groups").click()
    page.get_by_role("button", name="Larger k").wait_for()


def runs(page: Any) -> None:
    """Run twice, with a search that is stopped; pictures of the other screens."""
    page.get_by_label("Method").select_option("anytime")
    page.get_by_label("Seconds for the search").fill("600")
    page.get_by_label("Seconds for the search").press("Enter")
    page.get_by_text("Time limit: 600.").first.wait_for()
    bar(page, "Run").click()
    page.get_by_role("heading", name="The search").wait_for()
    page.wait_for_timeout(12_000)
    keep(page, "run")
    page.get_by_role("button", name="Good enough, stop here").click()
    page.get_by_role("heading", name="What remains at risk").wait_for()
    keep(page, "result")
    page.evaluate("document.getElementById('groups').scrollIntoView()")
    keep(page, "groups")
    page.evaluate("document.querySelector('.two .figures').closest('.two').scrollIntoView()")
    keep(page, "assessment")
    bar(page, "Change the plan").click()
    page.get_by_role("button", name="k = 10", exact=True).click()
    page.get_by_label("Seconds for the search").fill("")
    page.get_by_label("Seconds for the search").press("Enter")
    page.get_by_text("Time limit: default.").first.wait_for()
    page.get_by_label("Method").select_option("auto")
    page.get_by_text("Method auto.").first.wait_for()
    bar(page, "Run").click()
    page.get_by_role("heading", name="What remains at risk").wait_for()
    bar(page, "Compare runs").click()
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.get_by_role("heading", name="Side by side").wait_for()
    keep(page, "runs")
    page.get_by_role("button", name="Try several k").click()
    page.locator(".map [role=button]", has_text="k = 20").first.wait_for()
    page.evaluate("document.getElementById('map').scrollIntoView()")
    keep(page, "map")


def main() -> None:
    """Draw all pictures."""
    where = next(filter(None, map(shutil.which, BROWSERS)), None)
    if where is None:
        raise SystemExit(f"A browser must be installed: one of {', '.join(BROWSERS)}.")
    TARGET.mkdir(exist_ok=True)
    with served() as links, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=where, args=FLAGS)
        page = browser.new_context(viewport=WIDE).new_page()  # type: ignore[arg-type]
        page.set_default_timeout(300_000)
        demo(page, links[0])
        plan(page)
        noise(page)
        runs(page)
        phone = browser.new_context(viewport=PHONE, color_scheme="dark").new_page()  # type: ignore[arg-type]
        demo(phone, links[1])
        phone.get_by_role("button", name="Try the example").click()
        phone.get_by_role("button", name="Details of region").wait_for()
        keep(phone, "phone")
        browser.close()


if __name__ == "__main__":
    main()
