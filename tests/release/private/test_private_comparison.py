"""Private releases beside groups in a comparison: the questions that both are asked, and what is refused."""

import json
import random

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.dp.domain import Domain
from shoal.errors import OptionError
from shoal.plan import Plan
from shoal.release.comparison import compare_methods
from shoal.release.private.comparison import FLOOR, Questions, compare_private, private_plans

DOMAIN = {
    "columns": {"sex": {"kind": "nominal", "values": ["f", "m"]}, "zip": {"kind": "nominal", "values": ["a", "b", "c"]}}
}
MIXED = Domain.of({"age": {"kind": "integer", "lower": 0, "upper": 99}, **DOMAIN["columns"]})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder, which is the current one, with a table and a domain."""
    draw = random.Random(3)
    lines = [f"{draw.randint(20, 80)},{draw.choice('fm')},{draw.choice('abc')}" for _ in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["age,sex,zip", *lines]) + "\n")
    (tmp_path / "domain.json").write_text(json.dumps(DOMAIN))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def run(*arguments, code=0):
    result = CliRunner().invoke(app, ["compare", "people.csv", "--method", "mdav", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def answer(questions, query, rows, weights):
    """Return the answer of one query, row by row."""
    kinds = list(questions.domain.columns.values())
    found = 0.0
    for row, weight in zip(rows.tolist(), weights, strict=True):
        inside = [w[0] <= row[c] <= w[1] if kinds[c].ordered else bool(w[row[c]]) for c, w in query]
        found += weight * all(inside)
    return found / sum(weights)


def test_questions_are_answered_as_row_by_row():
    rng = np.random.default_rng(5)
    codes = np.stack([rng.integers(0, size, 70) for size in MIXED.sizes], axis=1)
    questions = Questions(MIXED, codes)
    assert {len(query) for query in questions.asked} == {1, 2, 3}
    assert questions.errors(codes).relative.max() == 0
    others, counts = codes[:20] // 2, rng.integers(0, 4, 20)
    found = questions.errors(others, counts.astype(float))
    for at, query in enumerate(questions.asked):
        true = answer(questions, query, codes, [1] * len(codes))
        wrong = abs(answer(questions, query, others, counts.tolist()) - true)
        assert found.absolute[at] == pytest.approx(wrong, abs=1e-12)
        assert found.relative[at] == pytest.approx(wrong / max(true, FLOOR), abs=1e-9)
    assert found.absolute.max() > 0.05
    # Counts and repeated rows answer alike.
    assert np.allclose(questions.errors(np.repeat(others, counts, axis=0)).absolute, found.absolute)


def test_private_releases_are_shown_beside_groups(folder):
    private = ("--dp", "histogram", "--epsilon", 10_000, "--epsilon", 0.001, "--domain", "domain.json")
    asked = ("-k", 20, "--release", "microaggregation,local-recoding", *private)
    said = run(*asked).stdout
    assert max(map(len, said.splitlines())) <= 80
    assert "epsilon 10000  histogram" in said
    assert "is not private" in said
    found = json.loads(run(*asked, "--json").stdout)
    assert "public or older data" in found["note"]
    nearly_none, much = found["private"]
    # Without noise to speak of, counts of all cells are the table itself.
    assert nearly_none["queries"] == {"query_error": 0, "query_error_high": 0}
    assert much["epsilon"] == 0.001
    assert much["queries"]["query_error"] > 0
    groups, recoded = found["trials"]
    released = shoal.anonymize_file("people.csv", k=20, method="mdav").table
    domain = Domain.from_plain(DOMAIN)
    original, published = (domain.encode(one).codes for one in (csv.read_csv("people.csv"), released))
    errors = Questions(domain, original).errors(published)
    assert groups["figures"] == {"query_error": errors.median, "query_error_high": errors.high}
    assert errors.median > 0
    assert recoded["form"] == "local-recoding"
    assert recoded["figures"]["query_error"] is None
    assert "private" not in json.loads(run("-k", 5, "--json").stdout)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--dp", "mondrian", "--epsilon", 1, "--weight", "age"), "--weight cannot be combined with --dp"),
        (("--dp", "mondrian", "--epsilon", 1, "--plot", "plot.svg"), "--plot cannot be combined with --dp"),
        (("--dp", "mondrian", "--epsilon", 1, "--map", "map.html"), "--map cannot be combined with --dp"),
        (("--dp", "mondrian", "--epsilon", 1, "--delta", 0.1), "--delta must be 0 for 'mondrian'"),
        (("--dp", "mondrian"), "--epsilon must be given with --dp"),
        (("--dp", "mondrian,none", "--epsilon", 1), "'none'"),
        (("--epsilon", 1), "--epsilon must come with --dp"),
        ((), "--domain must come with --dp"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_its_name(folder, arguments, words):
    said = " ".join(run(*arguments, "--domain", "domain.json", code=2).stderr.split())
    assert words in said
    assert not list(folder.glob("*.svg")) + list(folder.glob("*.html"))


def test_plans_of_several_releases_share_what_applies_to_them():
    plan = Plan.of(dp="histogram", epsilon=2, domain=DOMAIN, options={"bins": 3}, identifiers="name")
    both = private_plans(plan, ["histogram", "strongly-safe"], [], 1e-6, None)
    assert [(one.dp, one.epsilon, one.delta, dict(one.options)) for one in both] == [
        ("histogram", 2, 0, {"bins": 3}),
        ("strongly-safe", 2, 1e-6, {}),
    ]
    assert {one.identifiers for one in both} == {("name",)}
    table = pa.table({"sex": ["f", "m"] * 9, "zip": ["a", "b", "c"] * 6})
    (trial,) = compare_private(table, both[:1], Questions.about(table, both[0]))
    # The name is not a column of this table, which the release says.
    assert "identifiers" in trial.error
    assert trial.queries is None
    with pytest.raises(OptionError, match="compare_private"):
        next(compare_methods(table, plan, ["mdav"], [3]))
