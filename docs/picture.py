"""Draw docs/report.png: the report of the first example of the README, as a browser shows it.

It needs Chromium and Pillow. Run it again when the report or the example changes. The picture shows the head of the
report and some of its distributions; the rest is left out.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image, ImageChops
from PIL.PngImagePlugin import PngInfo

DOCS = Path(__file__).resolve().parent
TARGET = DOCS / "report.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT, SCALE, COLOURS = 1060, 2400, 1.5, 96
LARGEST = 200_000  # bytes
STYLE = """<style>
body { font-family: Inter, "Liberation Sans", Arial, sans-serif; }
nav, footer, section, .meta, section#distributions > p { display: none !important; }
section#distributions { display: block !important; padding: 22px 30px 24px; }
header { padding-top: 22px; }
h1 { margin-top: 6px; font-size: 28px; }
.verdict { margin-top: 16px; padding: 18px 26px; }
.card { padding: 12px 16px; }
.multiples figure:nth-child(3), .multiples figure:nth-child(4) { display: none; }
</style></head>"""


def commands() -> list[list[str]]:
    """Return the commands of the first example up to the one that writes the report."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    found = [shlex.split(line) for line in re.findall(r"^\$ (shoal .*)$", text, re.MULTILINE)]
    last = next(at for at, words in enumerate(found) if "--report" in words)
    return found[: last + 1]


def groups(said: str) -> str:
    """Return the rows and groups that the example tells, which the picture shows too."""
    found = re.search(r"^rows +(.* groups)", said, re.MULTILINE)
    if found is None:
        raise SystemExit("The example must tell its rows and groups.")
    return found[1]


def shot(folder: Path) -> tuple[Image.Image, str]:
    """Return the report of the example in a browser, cut to what it fills, and its rows and groups."""
    for words in commands():
        done = subprocess.run([sys.executable, "-m", *words], cwd=folder, check=True, capture_output=True, text=True)
    page, picture = folder / "report.html", folder / "shot.png"
    page.write_text(page.read_text(encoding="utf-8").replace("</head>", STYLE, 1), encoding="utf-8")
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit(f"A browser must be installed: one of {', '.join(BROWSERS)}.")
    how = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--force-device-scale-factor={SCALE}"]
    size = [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={picture}"]
    subprocess.run([browser, *how, *size, page.as_uri()], check=True, capture_output=True)
    whole = Image.open(picture).convert("RGB")
    ground = Image.new("RGB", whole.size, whole.getpixel((0, whole.height - 1)))
    bottom = (ImageChops.difference(whole, ground).getbbox() or (0, 0, 0, whole.height))[3]
    return whole.crop((0, 0, whole.width, min(whole.height, bottom + round(24 * SCALE)))), groups(done.stdout)


def main() -> None:
    """Write the picture, with few colours so that it stays small."""
    with tempfile.TemporaryDirectory() as folder:
        picture, told = shot(Path(folder))
    about = PngInfo()
    about.add_text("Description", told)  # for the test that compares it with the example
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(TARGET, optimize=True, pnginfo=about)
    size = TARGET.stat().st_size
    if size > LARGEST:
        raise SystemExit(f"{TARGET.name} must have at most {LARGEST:,} bytes. Got {size:,}.")
    print(f"{TARGET.name}: {picture.width} x {picture.height}, {size:,} bytes")


if __name__ == "__main__":
    main()
