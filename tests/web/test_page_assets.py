"""The files of the page: small, from this machine alone, and nothing that a strict policy would have to allow."""

import gzip
import re
from pathlib import Path

import shoal

STATIC = Path(shoal.__file__).parent / "web" / "static"
OURS = sorted(STATIC.glob("*.js"))
MOST = 150_000  # bytes of all files, each compressed by itself


def test_all_files_together_are_small():
    sizes = [
        len(gzip.compress(path.read_bytes()))
        for path in STATIC.rglob("*")
        if path.suffix in (".js", ".css", ".html", ".svg")
    ]
    assert len(sizes) > 10
    assert sum(sizes) < MOST


def test_the_page_asks_nobody_else():
    for path in [*OURS, STATIC / "index.html", STATIC / "style.css", *(STATIC / "vendor").glob("*.css")]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"https?://|//cdn|@import|url\(", text), path.name


def test_values_are_never_taken_for_html_or_code():
    for path in OURS:
        words = re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", path.read_text()
        )
        assert words == [], path.name


def test_the_first_page_has_no_inline_script_or_style():
    text = (STATIC / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=", text) == []


def test_every_module_is_loaded_at_once():
    text = (STATIC / "index.html").read_text(encoding="utf-8")
    loaded = set(re.findall(r'(?:href|src)="static/([^"]+\.js)"', text))
    assert loaded == {path.name for path in OURS} | {"vendor/htm-preact.js"}
    for path in OURS:
        imports = re.findall(r'from "\./([^"]+)"', path.read_text(encoding="utf-8"))
        assert set(imports) <= loaded, path.name
