"""What the documentation says is true: examples run, links resolve, generated pages are up to date."""

import ast
import doctest
import inspect
import io
import pkgutil
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path

import pytest

import shoal
from shoal.cli.demo import write_people
from shoal.errors import DatasetNotFoundError
from shoal.fields import OF_ONE_TYPE
from shoal.partitioning.choice import choose
from shoal.partitioning.extent import Extent

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"^```[ ]*(\w*)[^\n]*\n(.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = [
    module.name
    for module in pkgutil.walk_packages(shoal.__path__, "shoal.")
    if not module.name.split(".")[-1].startswith("_")
]


def name_of(page):
    return str(page.relative_to(ROOT))


def blocks(page):
    """Yield (language, code, line) of each fenced block."""
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        yield match[1], match[2], text.count("\n", 0, match.start()) + 1


def prose(page):
    return BLOCK.sub("", page.read_text(encoding="utf-8"))


def run_session(code, names, where, line):
    """Run a block with prompts and compare its output; `names` is updated."""
    session = doctest.DocTestParser().get_doctest(code, names, where, where, line)
    found = []
    doctest.DocTestRunner(optionflags=FLAGS).run(session, out=found.append, clear_globs=False)
    names.update(session.globs)
    return "".join(found)


def run_command(command):
    """Run `shoal ..` in this process, anything else in a shell; return what it prints and its exit code."""
    if not command.startswith("shoal "):
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr, done.returncode
    from shoal.cli import main
    from shoal.cli.shows import COMPILING

    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said), pytest.raises(SystemExit) as end:
        main(shlex.split(command)[1:])
    # Said where the cache of kernels is cold.
    return said.getvalue().replace(f"{COMPILING}\n", ""), end.value.code or 0


def run_console(code, where):
    """Run a block that begins with `$ shoal` and compare the output it shows; `$ echo $?` gives the last exit code."""
    failures, last = [], 0
    for entry in re.split(r"^\$ ", code.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, _, wanted = entry.partition("\n")
        asked = command.strip() == "echo $?"
        found, last = (f"{last}\n", 0) if asked else run_command(command)
        # Rules under headings are as long as the console is wide.
        shown, said = (re.sub("─+", "─", text) for text in (wanted, found))
        if last == 3 or (wanted.strip() and not doctest.OutputChecker().check_output(shown, said, FLAGS)):
            failures.append(f"{where}: {command}\nWanted:\n{wanted}\nFound ({last}):\n{found}")
    return "\n".join(failures)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
@pytest.mark.filterwarnings("ignore::shoal.errors.DisclosureWarning")
def test_examples_run(page, tmp_path, monkeypatch, request):
    if page.name == "spark.md":
        request.getfixturevalue("spark")  # the running session; skipped where there is no Spark
    monkeypatch.chdir(tmp_path)  # examples may write files
    monkeypatch.delenv("COLUMNS", raising=False)
    # Readers have the file because an earlier command of theirs wrote it; on some pages it is the first one.
    if "$ shoal demo --write people.csv" not in page.read_text(encoding="utf-8"):
        write_people(tmp_path / "people.csv")
    names = {"__name__": "__main__"}
    for language, code, line in blocks(page):
        where = f"{name_of(page)}:{line}"
        if language == "console" and code.startswith("$ shoal "):
            failures = run_console(code, where)
            assert not failures, failures
        if language not in ("python", "pycon"):
            continue
        assert "download=True" not in code, f"{where} would download: tests do not use the net"
        if language == "pycon" or code.lstrip().startswith(">>>"):
            failures = run_session(code, names, where, line)
            assert not failures, failures
            continue
        try:
            exec(compile("\n" * line + code, name_of(page), "exec"), names)
        except DatasetNotFoundError:
            pytest.skip(f"{where}: the benchmark data are not on this machine")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_blocks_are_marked_and_closed(page):
    text = page.read_text(encoding="utf-8")
    assert text.count("```") == 2 * sum(1 for _ in blocks(page))
    # Another name of Python would hide a block from the test above.
    assert not {language for language, _, _ in blocks(page)} & {"", "py", "python3", "ipython"}


@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples_run(module):
    assert doctest.testmod(import_module(module), optionflags=FLAGS).failed == 0


def test_some_docstrings_have_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = ["shoal.partitioning.run", "shoal.estimator", "shoal.measure.loss", "shoal.datasets.tables"]
    for module in modules:
        assert any(test.examples for test in finder.find(import_module(module))), module


def test_the_generated_pages_are_up_to_date():
    done = subprocess.run(
        [sys.executable, DOCS / "reference.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def anchors(page):
    """Return the anchors of a page: of its headings, or those set by hand."""
    found = set()
    for heading in re.findall(r"^#{1,6} (.+)$", BLOCK.sub("", page.read_text(encoding="utf-8")), re.MULTILINE):
        by_hand = re.search(r"\{[^}]*#([\w-]+)[^}]*\}", heading)
        slug = re.sub(r"[^\w\s-]", "", heading).strip().lower()
        found.add(by_hand[1] if by_hand else re.sub(r"[\s-]+", "-", slug))
    return found


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_internal_links_resolve(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{name_of(page)} links to {target}"
        assert not anchor or anchor in anchors(linked), f"{name_of(page)} links to {target}: no such heading"


def test_the_navigation_has_every_page_once():
    listed = re.findall(r"^\s*- (?:[^:\n]+: )?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


def test_the_picture_of_the_report_is_that_of_the_example():
    """After a change of the example, run docs/picture.py, which needs a browser."""
    image = pytest.importorskip("PIL.Image", reason="Pillow comes with matplotlib, and reads the picture")
    path = DOCS / "report.png"
    assert path.stat().st_size <= 200_000
    example = re.search(r"^rows +(.* groups)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    with image.open(path) as picture:
        assert picture.text["Description"] == example[1]
    for page in (ROOT / "README.md", DOCS / "index.md"):
        assert "report.png)" in page.read_text(encoding="utf-8")


def test_copy_buttons_copy_what_is_typed():
    """docs/copy.js gives the theme the text to copy; the test reads its prompts, as a browser is not at hand."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for line in ("- content.code.copy", "- copy.js", "pygments_lang_class: true"):
        assert line in settings
    script = (DOCS / "copy.js").read_text(encoding="utf-8")
    assert 'setAttribute("data-copy"' in script
    prompts = dict(re.findall(r"(\w+): /(.+?)/[,}\s]", script))
    assert set(prompts) == {"pycon", "console"}
    seen = set()
    for page in PAGES:
        for language, code, line in blocks(page):
            if language in prompts:
                prompt = re.compile(prompts[language])
                typed = [prompt.sub("", text) for text in code.splitlines() if prompt.search(text)]
                assert typed, f"{name_of(page)}:{line}"
                assert not any(text.startswith((">>>", "$ ")) for text in typed)
                seen.add(language)
    assert seen == set(prompts)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_figures_in_examples_are_rounded(page):
    for language, code, line in blocks(page):
        if language in ("pycon", "console"):
            shown = [text for text in code.splitlines() if not text.startswith((">>> ", "... ", "$ "))]
            assert not re.search(r"\d\.\d{5,}", "\n".join(shown)), f"{name_of(page)}:{line}"


def texts_of_the_source():
    """Return every text of the source, with .. for what is filled in."""
    found = set()
    for path in Path(shoal.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                found.add("".join(str(part.value) if isinstance(part, ast.Constant) else ".." for part in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


def test_messages_that_can_be_looked_up_exist():
    """docs/how-to/troubleshooting.md: a heading quotes a message, with .. for what differs."""
    page = (DOCS / "how-to" / "troubleshooting.md").read_text(encoding="utf-8")
    headings = re.findall(r"^### (.+)$", page, re.MULTILINE)
    assert len(headings) >= 30
    texts = texts_of_the_source()

    def is_said(heading):
        parts = ".*?".join(re.escape(part) for part in re.split(r" ?\.\. ?", heading))
        return any(re.search(parts, text, re.DOTALL) for text in texts)

    assert [heading for heading in headings if not is_said(heading)] == []
    assert not is_said("The column .. looks like an elephant")


def test_every_public_name_is_in_the_reference():
    page = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    for module in (shoal, shoal.io, shoal.measure, shoal.datasets, import_module("shoal.errors")):
        for name in module.__all__:
            if not name.startswith("__"):
                assert re.search(rf"\b{name}\b", page), f"{module.__name__}.{name}"


SIGNATURES = [code.strip() for lang, code, _ in blocks(DOCS / "reference" / "api.md") if lang == "text"]


@pytest.mark.parametrize("signature", SIGNATURES, ids=lambda text: text.partition("(")[0])
def test_signatures_are_those_of_the_code(signature):
    path, _, arguments = signature.partition("(")
    names = {}
    exec(f"def documented({arguments}: ...", names)
    actual = shoal
    for name in path.split(".")[1:]:
        actual = getattr(actual, name)

    def plain(function):
        return {p.name: (p.kind, p.default) for p in inspect.signature(function).parameters.values()}

    documented, shown = plain(names["documented"]), plain(actual)
    if "fields" in documented and "fields" not in shown:
        # The function shows the fields of a plan one by one; the page links to their table.
        del documented["fields"]
        of_plan = {*shoal.Plan.model_fields, *OF_ONE_TYPE} - set(documented)
        shown = {name: shown[name] for name in sorted(set(shown) - of_plan, key=list(documented).index)}
    assert list(documented.items()) == list(shown.items())


def test_methods_named_in_the_guides_exist():
    known = {method.name for method in shoal.methods()}
    text = (DOCS / "how-to" / "choose-a-method.md").read_text(encoding="utf-8")
    like_a_method = r"`((?:v-)?mdav[\w*+-]*|mondrian[\w-]*|cbfs[\w-]*|tfrp[\w-]*|gsms|univariate|mst)`"
    named = set(re.findall(like_a_method, text))
    assert named
    assert named <= known


def test_what_the_guide_says_of_auto():
    """docs/how-to/choose-a-method.md: ten related columns, one thread."""
    text = " ".join((DOCS / "how-to" / "choose-a-method.md").read_text(encoding="utf-8").split())
    found = re.search(
        r"full length up to about (\d+ \d+) records; a shorter one follows the rounds up to (\d+ \d+ \d+)", text
    )
    whole, shorter = (int(number.replace(" ", "")) for number in found.groups())

    def chosen(n):
        return choose(n, 10, 5, extent=Extent(n, 5))

    assert chosen(whole).options["max_steps"] == 100 * (whole // 5)
    assert chosen(round(1.3 * whole)).options["max_steps"] < 100 * (round(1.3 * whole) // 5)
    assert chosen(shorter).options["max_steps"] > 0
    large = chosen(round(1.3 * shorter))
    assert (large.method, large.options["rounds"], large.options["max_steps"]) == ("anytime", 2, 0)
    assert choose(6000, 10, 5).options == {"max_steps": 120_000}
