"""Job files that nobody wrote: refused with one sentence that quotes nothing of them, in any time but soon."""

import copy
import json
import random
from itertools import pairwise

import pytest
import yaml

from shoal.errors import DataError, OptionError, ShoalError
from shoal.fields import SDCMICRO
from shoal.job_files import ACCESS_KEYS, JOB_KEYS, read_job
from shoal.plan import Plan
from test_job_files import WRITERS
from test_plan import EVERYTHING

MARK = "Xq7Secret"
BOMB = "a: &a [x, x]\n"
BOMB += "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefghijk"))
ODD = [
    *(None, True, 0, -1, 10**400, -(10**30), 1e308, float("nan"), float("inf"), "", MARK, "\0", "a\nb", "\x1b[31m"),
    *([], {}, [[]], [{}], [None], [MARK], {"": 1}, {MARK: None}, {MARK: [1]}, {MARK: float("nan")}, {MARK: True}),
    *(
        {MARK: {"widths": "x"}},
        {MARK: {"prefixes": [-1]}},
        {"ill": ["x", 1, None]},
        [["a"]],
        MARK * 1000,
        "postgres://",
    ),
]
PIECES = [
    *(
        b"[",
        b"{",
        b"}",
        b"]",
        b": ",
        b"- ",
        b"&a ",
        b"*a ",
        b"!!binary ",
        b"!!timestamp ",
        b"!!set ",
        b"!!omap ",
        b"? ",
    ),
    *(
        b"!!int ",
        b"!!float ",
        b"!!bool ",
        b"!!null ",
        b"!!pairs ",
        b"!<tag:x> ",
        b"2001-99-99",
        b"<<: ",
        b"\0",
        b"\xff",
    ),
    *(b"\t", b"'", b'"', b"#", b"%YAML 9.9\n", b"---\n", b"...\n", b"|\n", b"=", b".", b"0x", b"1:2:99", b"\r", b"[["),
    *(
        b"\xef\xbb\xbf",
        b"\xe2\x80\xa8",
        b"1e999",
        b".nan",
        b"!!python/object/apply:os.system ",
        b"\\u0000",
        b"9" * 5000,
    ),
]


def changed(rng, value):
    if isinstance(value, dict) and value and rng.random() < 0.7:
        value, key = dict(value), rng.choice(list(value))
        value[key] = changed(rng, value[key])
        return value
    if isinstance(value, list) and value and rng.random() < 0.6:
        value, at = list(value), rng.randrange(len(value))
        value[at] = changed(rng, value[at])
        return value
    return copy.deepcopy(rng.choice(ODD))


def mutants(count):
    """Yield suffixes and contents of job files that were changed at random."""
    rng = random.Random(15)
    keys = [*Plan.model_fields, *SDCMICRO, *JOB_KEYS, *ACCESS_KEYS, MARK]
    while count:
        job, suffix = copy.deepcopy(EVERYTHING), rng.choice(list(WRITERS))
        for _ in range(rng.randint(0, 3)):
            job = changed(rng, job) if rng.random() < 0.5 else {**job, rng.choice(keys): rng.choice(ODD)}
            if not isinstance(job, dict):
                break
        try:
            content = bytearray(WRITERS[suffix](job).encode())
        except (AttributeError, yaml.YAMLError):  # the writer of TOML takes mappings only
            continue
        for _ in range(rng.randint(0, 4)):
            at = rng.randrange(len(content) + 1)
            content[at : at + rng.choice([0, 0, 5])] = rng.choice([*PIECES, content[-20:]])
        if rng.random() < 0.05:
            content = content.decode(errors="replace").encode(rng.choice(["utf-16", "utf-32", "cp1252"]), "replace")
        count -= 1
        yield suffix, bytes(content)


def test_mutants_are_read_or_refused_without_a_quotation(tmp_path):
    said = []
    for suffix, content in mutants(250):
        path = tmp_path / f"job{suffix}"
        path.write_bytes(content)
        try:
            read_job(path)
        except ShoalError as error:
            said.append(str(error))
    assert 80 < len(said) < 250  # mutants of both sorts
    assert [words for words in said if not words.isprintable() or "{'" in words or MARK * 2 in words] == []


@pytest.mark.parametrize("name", ["people.csv", "people.txt", "people", "job.yaml.csv", "people.parquet"])
def test_a_table_is_no_job_file(tmp_path, name):
    (tmp_path / name).write_text(f"name,age\n{MARK}: 1,34\n")
    with pytest.raises(DataError, match=r"must end in \.yaml, \.yml, \.toml or \.json") as caught:
        read_job(tmp_path / name)
    assert MARK not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        f"name,age\n{MARK},34\n",
        f"{MARK}: 34\n",
        f"{MARK}: {MARK}\nk: 3\n",
        f"k: {MARK}\n",
        f"k: [{MARK}\n",
        f"k: *{MARK}\n",
        f"k: !{MARK} 3\n",
        f"k: 3\nmissing: {MARK}\n",
        f"{MARK} = 5\n",
        f'{{"{MARK}": 5}}',
        f'{{"k": "{MARK}"}}',
        f'{{"k": {MARK}}}',
        f"k = {MARK}\n",
        f"[{MARK}]\nx = 1\n[{MARK}]\n",
        f"k: '3\n{MARK}",
        f"\t{MARK}: 1",
        f"levels: {{age: {{{MARK}: 1}}}}",
        f"input: [{MARK}]",
        f"header: {MARK}",
        f"sheet: {{{MARK}: 1}}",
    ],
)
def test_nothing_of_the_file_is_quoted(tmp_path, content):
    for suffix in WRITERS:
        path = tmp_path / f"job{suffix}"
        path.write_text(content)
        with pytest.raises(ShoalError) as caught:
            read_job(path)
        assert MARK not in str(caught.value)


@pytest.mark.parametrize("content", [BOMB, "k: &a 3\nl: *a\n", "a: &a [*a]\n", "a: &a {k: 3}\nb: {<<: *a}\n"])
def test_aliases_are_refused(tmp_path, content):
    (tmp_path / "job.yaml").write_text(content)
    with pytest.raises(DataError, match=r"it has an alias \(\*\); write the value out"):
        read_job(tmp_path / "job.yaml")


def test_plans_are_written_without_aliases(tmp_path):
    tree = [["a", "b"], "c"]
    plan = Plan.of(hierarchies={"x": tree, "y": tree})
    (tmp_path / "job.yaml").write_text(plan.to_yaml())
    assert read_job(tmp_path / "job.yaml")[0] == plan


@pytest.mark.parametrize(("suffix", "content"), [(".json", '{"k": 3, "k": 4}'), (".yaml", "k: 3\nk: 4\n")])
def test_a_key_that_occurs_twice_is_refused(tmp_path, suffix, content):
    (tmp_path / f"job{suffix}").write_text(content)
    with pytest.raises(DataError, match="a key occurs twice"):
        read_job(tmp_path / f"job{suffix}")


@pytest.mark.parametrize("depth", [60, 300, 1500])
def test_deep_nesting_is_refused(tmp_path, depth):
    for suffix, sign in ((".json", ":"), (".yaml", ":"), (".toml", "=")):
        content = '"hierarchies"' + f"{sign} " + '{"a"' + sign + " " + "[" * depth + "]" * depth + "}"
        (tmp_path / f"job{suffix}").write_text(content if suffix == ".toml" else "{" + content + "}")
        with pytest.raises(DataError, match="nested too deeply"):
            read_job(tmp_path / f"job{suffix}")


def test_the_place_of_a_fault_is_given(tmp_path):
    for suffix, content in ((".json", '{"k":\n  x}'), (".yaml", "k: 3\nl: [\n"), (".toml", "k = 3\nl = \n")):
        (tmp_path / f"job{suffix}").write_text(content)
        with pytest.raises(DataError, match=r"see line \d,? column \d"):
            read_job(tmp_path / f"job{suffix}")


def test_keys_of_files_have_their_types(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text("input: a.xlsx\nsheet: 2\nheader: false\nescape_formulas: true\nquote: ''\ntable: t\n")
    files = read_job(path)[1]
    assert files["input"] == str(tmp_path / "a.xlsx")
    assert {key: files[key] for key in files if key != "input"} == {
        "table": "t",
        "sheet": "2",
        "quote": "",
        "header": False,
        "escape_formulas": True,
    }
    for wrong in ("input: 3", "output: [a]", "header: 1", "escape_formulas: 'no'", "table: true", "report: ''"):
        path.write_text(wrong + "\n")
        with pytest.raises(DataError, match="of a job file must be"):
            read_job(path)


def test_names_of_sdcmicro_take_names_only():
    for wrong in (3, 1.5, {"a": 1}):
        with pytest.raises(OptionError):
            Plan.of(keyVars=wrong)
        with pytest.raises(OptionError):
            Plan.of(keyVars="a", quasi_identifiers=wrong)


def test_json_of_a_job_is_plain():
    assert json.loads(json.dumps(EVERYTHING)) == EVERYTHING
