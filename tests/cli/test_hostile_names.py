"""Names of columns and files that try to change what a terminal or a page shows."""

import io
import json
import re

import pytest
from cli_tables import flat
from rich.text import Text

from shoal.cli import shows
from shoal.cli.shell import _Console
from shoal.cli.words import shown

NAMES = {
    "colours": "a\x1b[31mred\x1b[0m",
    "title": "a\x1b]0;owned\x07",
    "one byte": "a\x9b31m",
    "carriage return": "a\rerror",
    "line end": "a\nfiles  other.csv",
    "direction": "a\u202etxt.exe\u2066b",
    "invisible": "a\u200bb\u2028c\ufeff",
    "delete": "a\x7f\x08\x08b",
    "markup": "[bold red]a[/bold red][link=http://x.example]",
    "page": "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;",
    "template": "{{ 7 * 7 }}{% raw %}",
}
DANGEROUS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


@pytest.fixture(params=NAMES)
def name(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = NAMES[request.param]
    quoted = '"' + name.replace('"', '""') + '"'
    rows = "".join(f"{20 + i},{i % 3},{'xyz'[i % 3]}\n" for i in range(30))
    (tmp_path / "people.csv").write_bytes((f'{quoted},n,{quoted[:-1]} 2"\n' + rows).encode())
    return name


def test_names_are_shown_as_they_are_written(name, run):
    options = ("--sensitive", '"' + f"{name} 2".replace('"', '""') + '"', "--l", "2", "-v", "--method", "mdav")
    said = run("anonymize", "people.csv", "-k", 3, "-o", "out.csv", *options, "--report", "r.html")
    results = (
        said,
        run("anonymize", "people.csv", "-k", 3, *options, "--dry-run"),
        run("verify", "out.csv"),
        run("verify", "out.csv", "--qi", "n"),
    )
    assert [DANGEROUS.findall(result.output) for result in results] == [[]] * 4
    assert shown(name)[:6] in said.output  # longer names are folded
    assert "\nfiles  other" not in said.output


def test_a_terminal_gets_no_sequences_of_others():
    terminal = io.StringIO()
    console = _Console(file=terminal, force_terminal=True, width=80, highlight=False)
    table = shows.plain_table("a\x1b[2J")
    table.add_row("[red]b\x1b]0;x\x07")
    table.add_row(Text("c\x9b1m", style="green"))
    console.print(table, "d\x1b[1m", Text("e\r\u202e"))
    without_styles = re.sub("\x1b\\[[0-9;]*m", "", terminal.getvalue())
    assert not DANGEROUS.search(without_styles)
    for text in ("a\\x1b[2J", "[red]b\\x1b]0;x\\x07", "c\\x9b1m", "d\\x1b[1m", "\\u202e"):
        assert text in without_styles


def test_errors_show_them_too(name, run):
    said = run("anonymize", "people.csv", "-k", 3, "-o", "out.csv", "--qi", "nothing", code=2)
    assert not DANGEROUS.search(said.output)
    said = run("anonymize", "people.csv", "-k", 300, "-o", "out.csv", "--method", "mdav", code=2)
    assert not DANGEROUS.search(said.output)


def test_json_is_json_and_plain(name, run):
    said = run("anonymize", "people.csv", "-k", 3, "--dry-run", "--json", "-q")
    assert not DANGEROUS.search(said.stdout)
    assert json.loads(said.stdout)["columns"][0]["name"] == name


def test_the_report_has_names_as_text(name, run, tmp_path):
    run("anonymize", "people.csv", "-k", 3, "-o", "out.csv", "--report", "r.html", "--method", "mdav", "-q")
    page = (tmp_path / "r.html").read_text()
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "javascript:" not in page


def test_names_of_files(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "age,n\n" + "".join(f"{20 + i},{i % 3}\n" for i in range(30))
    (tmp_path / "a\x1b[31m[red]b.csv").write_text(rows)
    said = run("anonymize", "a\x1b[31m[red]b.csv", "-k", 3, "-o", "o\x1b[31m[red]p.csv", "--method", "mdav")
    assert not DANGEROUS.search(said.output)
    assert "a\\x1b[31m[red]b.csv: 30 rows" in said.stdout
    assert "o\\x1b[31m[red]p.csv" in said.stdout
    said = run("anonymize", "none\x1b[31m[red].csv", "-k", 3, "-o", "p.csv", code=2)
    assert "none\\x1b[31m[red].csv" in flat(said)


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain", "plain"),
        ("größe 性别", "größe 性别"),
        ("a\x1b[0m", "a\\x1b[0m"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\u202e", "\\u202e"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text, safe):
    assert shown(text) == safe
