"""Rules of the house that a machine can check: who imports whom, what imports cost, how kernels are made."""

import ast
import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from shoal.partitioning.registry import check_options

SOURCE = Path(shoal.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))

# Free to import for everybody; they import nothing of the house but each other.
BASE = {"arrays", "entry", "errors", "fields", "frozen", "progress", "plan", "plan_checks", "options"}

# Each part of the house and the parts it may import, besides itself and BASE. Packages that do not exist yet
# have their place already; a part that is not listed fails the tests below.
KERNELS = {"kernels"}
PARTITIONING = KERNELS | {"partitioning"}
RELEASE = PARTITIONING | {"measure", "risk", "tables", "privacy", "dp", "io"}
SHELLS = RELEASE | {"job_files", "release", "engines", "estimator", "datasets"}
MAY_IMPORT: dict[str, set[str]] = {
    "arrays": set(),
    "entry": set(),
    "errors": set(),
    "fields": set(),
    "frozen": set(),
    "progress": set(),
    "plan": set(),
    "plan_checks": set(),
    "options": set(),
    # Data to try things on: of BASE it may import arrays and errors alone.
    "datasets": set(),
    "kernels": set(),
    "partitioning": KERNELS,
    "measure": PARTITIONING | {"tables"},
    # What an intruder can do with any two tables: nothing that makes releases.
    "risk": PARTITIONING | {"measure", "tables"},
    "tables": PARTITIONING,
    "estimator": PARTITIONING | {"measure"},
    # Recomputes everything from what is published: neither kernels nor partitioning.
    "privacy": {"tables"},
    # Private releases: of partitioning, groups that do not depend on single records.
    "dp": PARTITIONING | {"tables"},
    "io": {"tables"},
    "job_files": {"io"},
    "release": RELEASE | {"job_files"},
    "engines": RELEASE | {"release"},
    # The door of Spark: names and docstrings.
    "spark": {"engines", "release"},
    "web": SHELLS,
    "cli": SHELLS | {"web"},
    "__main__": SHELLS | {"cli", "web"},
}
HEAVY = ("numba", "opendp", "pandas", "polars", "sklearn", "scipy", "matplotlib", "pyarrow")


def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def part_of(path):
    """Return the part of the house a file belongs to; '' is the front door, shoal/__init__.py."""
    first = path.relative_to(SOURCE).parts[0]
    return "" if first == "__init__.py" else first.removesuffix(".py")


def name_of(path):
    return str(path.relative_to(SOURCE))


def imported_names(path, tree):
    """Yield (line, full dotted name) of every import of the house, wherever it stands in the file."""
    package = ("shoal", *path.relative_to(SOURCE).parts[:-1])
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*package[: len(package) - node.level + 1], *([base] if base else [])])
            for alias in node.names:
                yield node.lineno, f"{base}.{alias.name}"
        elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__") and node.args:
            text = node.args[0]
            if isinstance(text, ast.JoinedStr):
                text = text.values[0]
            if isinstance(text, ast.Constant):
                yield node.lineno, str(text.value)


def called(node):
    """Return the last name of what is called: f for f(..) and for a.b.f(..)."""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def target_of(name):
    """Return the part of the house that a dotted name lies in, None if it lies outside."""
    parts = name.split(".")
    if parts[0] != "shoal":
        return None
    if len(parts) == 1 or parts[1].startswith("__version"):
        return ""
    # What the front door offers under its own name lives in some part as well.
    home = shoal._HOME.get(parts[1])
    return home.split(".")[1] if home and not (SOURCE / parts[1]).is_dir() else parts[1]


def offences(path, tree):
    """Return the imports of a file that its part of the house is not allowed."""
    part = part_of(path)
    allowed = MAY_IMPORT[part] | {part, ""} | ({"arrays", "errors"} if part == "datasets" else BASE)
    found = []
    for line, name in imported_names(path, tree):
        target = target_of(name)
        if target is not None and target not in allowed:
            found.append(f"{name_of(path)}:{line} imports {name}")
    return found


def test_the_house_is_found():
    """A wrong path would let every test of this file pass."""
    names = {name_of(path) for path in MODULES}
    assert {
        "__init__.py",
        "kernels/search.py",
        "partitioning/run.py",
        "measure/loss.py",
        "estimator.py",
    } <= names


def test_every_part_has_a_place():
    unknown = {part_of(path) for path in MODULES} - set(MAY_IMPORT) - {""}
    assert not unknown, f"{sorted(unknown)}: give it a place in the table MAY_IMPORT of {__file__}"


def test_the_table_goes_one_way_only():
    """No part may import, even through others, a part that may import it."""
    reach = {part: set(targets) for part, targets in MAY_IMPORT.items()}
    for _ in reach:
        for part in reach:
            reach[part] |= {further for target in reach[part] for further in reach[target]} - {part}
    circles = [(a, b) for a in reach for b in reach[a] if a != b and a in reach[b]]
    assert not circles
    assert not MAY_IMPORT["privacy"] & {"kernels", "partitioning"}


@pytest.mark.parametrize("path", [path for path in MODULES if part_of(path)], ids=name_of)
def test_imports_go_one_way(path):
    """Every file but the front door, which may name everything (see the next test)."""
    assert not offences(path, tree_of(path))


def test_the_front_door_loads_nothing_by_itself():
    """`shoal/__init__.py` names all parts, but only for type checkers and on demand."""
    tree = tree_of(SOURCE / "__init__.py")
    eager = [
        node.lineno
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom) and "shoal" in ast.unparse(node)
    ]
    assert not eager
    for name in shoal.__all__:
        assert getattr(shoal, name) is not None
    assert set(shoal._HOME) | set(shoal._MODULES) | {"__version__"} == set(shoal.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = shoal.no_such_name


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("kernels/x.py", "from shoal.partitioning import door"),
        ("kernels/x.py", "from ..partitioning import door"),
        ("kernels/x.py", "from .. import measure"),
        ("partitioning/x.py", "def f():\n    import shoal.measure.loss"),
        ("partitioning/x.py", "from shoal import information_loss"),
        ("partitioning/x.py", "import_module('shoal.release')"),
        ("measure/x.py", "from shoal.release import run"),
        ("tables/x.py", "from shoal.measure import loss"),
        ("privacy/x.py", "if True:\n    from shoal.kernels.groups import all_means"),
        ("privacy/x.py", "from shoal import partition"),
        ("datasets/x.py", "from shoal.progress import silent"),
        ("release/x.py", "from shoal.cli import main"),
        ("errors.py", "import shoal.kernels"),
        ("progress.py", "from shoal.partitioning.door import threads"),
    ],
)
def test_the_check_of_imports_sees_what_it_should(where, text):
    assert len(offences(SOURCE / where, ast.parse(text))) == 1


# --- circles inside a part ---


def module_name(path):
    parts = ("shoal", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def without_type_checking(tree):
    """Return the tree without what only type checkers read."""

    class Cut(ast.NodeTransformer):
        def visit_If(self, node):
            self.generic_visit(node)
            return node.orelse or ast.Pass() if "TYPE_CHECKING" in ast.unparse(node.test) else node

    return Cut().visit(tree)


def graph_of(trees):
    """Return {module: the modules that it imports}, of {module: (path, tree)}, imports inside of functions included."""
    graph = {}
    for module, (path, tree) in trees.items():
        names = [name for _, name in imported_names(path, without_type_checking(tree))]
        # `from a import b` imports the module a.b if there is one, else a.
        found = {name if name in trees else name.rpartition(".")[0] for name in names}
        graph[module] = sorted((found & set(trees)) - {module})
    return graph


def circle_in(graph):
    """Return modules each of which imports the next, the first and the last being the same; None if there are none."""
    done = set()

    def search(module, way):
        if module in way:
            return [*way[way.index(module) :], module]
        if module not in done:
            for target in graph[module]:
                found = search(target, [*way, module])
                if found:
                    return found
            done.add(module)
        return None

    return next(filter(None, (search(module, []) for module in sorted(graph))), None)


PACKAGES = sorted({part_of(path) for path in MODULES if len(path.relative_to(SOURCE).parts) > 1})


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_imports_itself_through_others(package):
    """Wherever an import stands; those for type checkers do not count."""
    trees = {module_name(path): (path, tree_of(path)) for path in MODULES if part_of(path) == package}
    circle = circle_in(graph_of(trees))
    assert circle is None, " -> ".join(circle)


def test_the_check_of_circles_sees_what_it_should():
    texts = {
        "shoal.x.a": "def f():\n    from shoal.x import b",
        "shoal.x.b": "from shoal.x.c import thing",
        "shoal.x.c": "from shoal.x.a import f",
    }
    checked = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from shoal.x.a import f"

    def circle(texts):
        return circle_in(graph_of({name: (SOURCE / "x" / "y.py", ast.parse(text)) for name, text in texts.items()}))

    assert circle(texts) == ["shoal.x.a", "shoal.x.b", "shoal.x.c", "shoal.x.a"]
    assert circle({**texts, "shoal.x.c": checked}) is None
    assert circle({**texts, "shoal.x.c": f"{checked}\nelse:\n    import shoal.x.a"}) is not None


# --- what an import costs ---


def fresh(code):
    """Run code in a fresh interpreter; return the heavy packages it loaded."""
    script = f"{code}\nimport json, sys\nprint(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "code",
    [
        "import shoal",
        "import shoal; shoal.methods()",
        "import shoal; dir(shoal); shoal.ShoalError",
        "import shoal; shoal.datasets.sim_u(0)",
        "import shoal; shoal.dp.Budget(1); shoal.dp.releases()",
        "import shoal; shoal.partition",
        "import shoal; shoal.measure.group_sizes([0, 0, 1, 1])",
    ],
)
def test_what_needs_no_kernel_loads_nothing_heavy(code):
    assert fresh(code) == []


def test_reading_the_estimator_does_not_load_numba():
    assert "numba" not in fresh("import shoal; shoal.Microaggregator(k=3)")


def test_bad_input_is_refused_before_numba_is_loaded():
    code = "import shoal\ntry:\n    shoal.partition([[1.0], [2.0]], k=3)\nexcept shoal.ShoalError:\n    pass"
    assert "numba" not in fresh(code)


# --- how modules are written ---


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_what_it_is(path):
    assert (ast.get_docstring(tree_of(path)) or "").strip()


@pytest.mark.parametrize("path", [path for path in MODULES if part_of(path) != "cli"], ids=name_of)
def test_no_print_and_no_assert(path):
    """Only the command line prints."""
    found = [
        f"{name_of(path)}:{node.lineno}"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Assert) or (isinstance(node, ast.Call) and called(node) == "print")
    ]
    assert not found


DECORATORS = {"inlined", "inner", "kernel", "lent"}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_numba_is_spoken_to_in_one_place_only(path):
    """Only two modules know numba, and even they know neither fastmath nor parallel nor prange."""
    tree = tree_of(path)
    around = name_of(path) in ("kernels/jit.py", "kernels/cache.py")
    compiled = part_of(path) == "kernels"
    if not around:
        assert not [name for _, name in imported_names(path, tree) if name.split(".")[0] == "numba"]
    for node in ast.walk(tree):
        name = getattr(node, "id", None) or getattr(node, "attr", None)
        assert name not in ("prange", "fastmath"), f"{name_of(path)}:{node.lineno}"
        if isinstance(node, ast.keyword):
            # `parallel` is also a field of a Method, but never an option of a kernel.
            assert node.arg != "fastmath"
            assert not (compiled and node.arg == "parallel")
        if isinstance(node, ast.FunctionDef) and compiled and not around:
            assert {ast.unparse(decorator) for decorator in node.decorator_list} <= DECORATORS, node.name


def test_the_house_decorators_do_what_they_say():
    from shoal.kernels import search, sums

    for compiled in (search.search_near, search.furthest, sums.square_distance, sums.add_exactly):
        assert compiled.targetoptions["nogil"] is True
        assert not compiled.targetoptions.get("fastmath")
        assert not compiled.targetoptions.get("parallel")


def test_of_partitioning_private_releases_know_insensitive_groups_alone():
    named = {name for path in MODULES if part_of(path) == "dp" for _, name in imported_names(path, tree_of(path))}
    of_groups = {name for name in named if target_of(name) in ("partitioning", "kernels")}
    assert all(
        name.startswith(("shoal.partitioning.insensitive", "shoal.partitioning.definitions")) for name in of_groups
    )


# --- the registry ---


def test_names_of_methods_are_unique():
    names = [method.name for method in shoal.methods()]
    assert len(names) == len(set(names)) > 10
    assert "auto" not in names


@pytest.mark.parametrize("method", shoal.methods(), ids=lambda method: method.name)
def test_every_registered_method_is_what_its_entry_says(method):
    module, name = method.function.split(":")
    function = getattr(importlib.import_module(f"shoal.partitioning.{module}"), name)
    assert method.load() is function
    assert (inspect.getdoc(function) or "").strip()
    for text in (method.summary, method.paper, method.cost):
        assert text.strip()

    parameters = list(inspect.signature(function).parameters.values())
    assert [parameter.name for parameter in parameters[:2]] == ["X", "k"]
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters[2:])
    keywords = {parameter.name: parameter.default for parameter in parameters[2:]}
    assert "report" in keywords
    del keywords["report"]
    assert ("n_jobs" in keywords) == method.parallel
    keywords.pop("n_jobs", None)
    assert ("rng" in keywords) == method.random
    keywords.pop("rng", None)
    assert ("time_limit" in keywords) == method.timed
    keywords.pop("time_limit", None)
    assert keywords == {option.name: option.default for option in method.options}


@pytest.mark.parametrize("method", shoal.methods(), ids=lambda method: method.name)
def test_options_accept_their_defaults_and_say_what_they_allow(method):
    assert check_options(method, {}) == {option.name: option.default for option in method.options}
    for option in method.options:
        assert option.summary.strip()
        assert option.domain
        for choice in option.choices:
            assert option.check(choice, method.name) == choice


def test_names_of_test_modules_are_unique():
    """Without packages, pytest collects modules by their names alone: two of one name cannot be collected."""
    names = [path.name for path in Path(__file__).parents[1].rglob("test_*.py")]
    assert len(names) > 50
    assert sorted({name for name in names if names.count(name) > 1}) == []
