"""Certificates: read strictly, enough to verify a release by, and without any value that is not in the release."""

import copy
import json
import random
from importlib import metadata

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal import io
from shoal.engines.verification import open_published, verify_promised
from shoal.errors import DataError, DisclosureError, ShoalError
from shoal.plan import Plan
from shoal.release import certificate
from shoal.release.certificate import PUBLIC, Certificate, public_plan, read_certificate, withheld
from shoal.release.grounds import cut_down
from shoal.release.verification import plan_of, verify_file
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.sensitive import tree_of

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.DisclosureWarning")
ILLS = {"corpus": {"lung": ["flu", "asthma"], "heart": ["stroke"]}, "mind": ["panic", {"rare": ["secret one"]}]}
LEVELS = ["never", "low", "mid", "high", "unheard of"]


def people(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(20, 60, n),
            "area": rng.choice(["n", "s"], n),
            "ill": rng.choice(["flu", "asthma", "stroke", "panic"], n),
            "pain": rng.choice(["low", "mid", "high"], n),
            "pay": rng.integers(10, 20, n),
        }
    )


FIELDS = {
    "quasi_identifiers": ["age"],
    "stratum": "area",
    "sensitive_attributes": ["ill", "pain", "pay"],
    "hierarchies": {"ill": Hierarchy.from_nested(ILLS)},
    "levels": {"pain": LEVELS},
    "models": {"ill": ["t-closeness t=0.4"], "pain": ["t-closeness t=0.4"], "pay": ["distinct-diversity l=2"]},
    "method": "mdav",
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    release = shoal.anonymize(people(), k=5, **FIELDS)
    return release.save(folder / "out.csv", certificate=folder / "m.json"), folder


# --- it is enough ---


def test_a_release_is_verified_by_the_certificate_alone(saved):
    release, folder = saved
    found = verify_file(folder / "out.csv", folder / "m.json")
    assert found
    assert [(one.attribute, one.held) for one in found.models] == [
        (one.attribute, one.held) for one in release.audit.models
    ]
    assert {one.attribute for one in found.models} == {"ill", "pain", "pay"}


def test_what_it_says_of_sensitive_columns_is_in_the_release(saved):
    release, _ = saved
    readings = release.certificate["readings"]
    assert readings["pain"]["levels"] == ["low", "mid", "high"]
    words = json.dumps(release.certificate) + release.report()
    for secret in ("never", "unheard of", "secret one", "corpus", "lung"):
        assert secret not in words


def test_markers_of_missing_values_that_occur_are_told(tmp_path):
    rows = [f"{20 + i % 7},{['NA', i][i % 5 > 0]}" for i in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["age,pay", *rows, ""]))
    fields = {"sensitive_attributes": ["pay"], "t": 0.9, "missing_values": ["NA", "secret"], "method": "mdav"}
    release = shoal.anonymize_file(
        tmp_path / "people.csv", tmp_path / "out.csv", k=5, certificate=tmp_path / "m.json", **fields
    )
    assert release.certificate["readings"]["pay"]["missing_values"] == ["NA"]
    assert "secret" not in (tmp_path / "m.json").read_text()
    found = verify_file(tmp_path / "out.csv", tmp_path / "m.json")
    assert found.models[0].held == release.audit.models[0].held


@pytest.mark.parametrize(
    "values", [["flu", "panic"], ["flu", "asthma"], ["stroke", "mind", "flu"], ["rare"], ["corpus"]]
)
def test_a_hierarchy_that_is_cut_down_has_the_same_distances(values):
    hierarchy = Hierarchy.from_nested(ILLS)
    plain = cut_down(hierarchy, values)
    assert {label for label in plain["labels"] if not label.startswith("*")} == set(values)
    whole, cut = (tree_of(one, values, "x") for one in (hierarchy, Hierarchy.from_plain(plain)))

    def distances(tree):
        def path(node):
            while node >= 0:
                yield node
                node = int(tree.parents[node])

        def meet(a, b):
            return next(node for node in path(a) if node in set(path(b)))

        return [[float(tree.heights[meet(a, b)]) for b in tree.leaves.tolist()] for a in tree.leaves.tolist()]

    assert distances(cut) == distances(whole)


def test_nameless_nodes_are_named_like_no_value():
    hierarchy = Hierarchy.from_nested({"a": ["*1", "**2"], "b": ["*"]})
    labels = cut_down(hierarchy, ["*1", "**2"])["labels"]
    assert len(set(labels)) == len(labels)
    assert {"*1", "**2"} < set(labels)
    assert not {"a", "b"} & set(labels)


def test_strata_belong_to_every_block(tmp_path):
    """k holds in each block by itself, and not together with the stratum."""
    table = pa.table({"x": [1] * 6, "y": [2] * 6, "s": ["a"] * 3 + ["b"] * 3})
    release = shoal.anonymize(table, k=3, quasi_identifiers=["x", "y"], stratum="s", blocks="each", method="mdav")
    release.save(tmp_path / "out.parquet", certificate=tmp_path / "m.json")
    assert verify_file(tmp_path / "out.parquet", tmp_path / "m.json")
    wrong = io.Source(table.set_column(2, "s", [["a"] * 2 + ["b"] * 4]), False, "arrow", None, None, "x.arrow")
    with pytest.raises(shoal.DisclosureError, match="must hide every record among 3"):
        verify_file(wrong, tmp_path / "m.json")


def test_every_field_of_a_plan_is_public_or_withheld():
    """A new one must be put into PUBLIC, or here."""
    withheld = {"identifiers", "drop", "unit", "levels", "hierarchies", "missing_values", "population", "options"}
    private = {"dp", "epsilon", "delta", "domain"}  # of releases that have a certificate of their own
    machine = {"n_jobs", "memory", "master"}  # of nobody's concern; a master is an address inside of somebody's network
    assert set(Plan.model_fields) == {*PUBLIC, *withheld, *private, *machine, "random_state"}
    assert not set(PUBLIC) & (withheld | private | machine | {"random_state"})


def test_machines_are_not_told():
    plan = Plan.of(k=3, engine="spark", master="spark://10.1.2.3:7077", memory="3GB", n_jobs=7)
    assert public_plan(plan) == {"k": 3, "engine": "spark"}
    assert set(withheld(plan)) == {"master", "memory", "n_jobs"}


def test_a_population_is_for_promises_on_it_only(saved):
    _, folder = saved
    with pytest.raises(ShoalError, match="Got one, and the certificate has none"):
        verify_file(folder / "out.csv", folder / "m.json", population=people())


# --- it is read strictly ---

JUNK = (None, True, -1, 0, 3, 10**30, 1.5, -1e308, "", "x", "age", "\x00", "k-map k=2", "t-closeness t=9", [], [[]], {})
JUNK += ([None], ["age"], [["age"]], {"": 1}, {"labels": ["*"], "parents": [7]}, ["a"] * 50, {"type": "place"})


def places(content, at=()):
    """Yield the path of everything in a document."""
    yield at
    pairs = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, below in pairs:
        yield from places(below, (*at, key))


def mutant(document, rng):
    """Return the text of a document with one to three changes."""
    document = copy.deepcopy(document)
    for _ in range(rng.randint(1, 3)):
        *path, last = rng.choice([place for place in places(document) if place] or [("x",)])
        holder = document
        for key in path:
            holder = holder[key]
        change = rng.randint(0, 3)
        if change == 0:
            holder[last] = copy.deepcopy(rng.choice(JUNK))
        elif change == 1:
            del holder[last]
        elif change == 2 and isinstance(holder, dict):
            holder[rng.choice(["", "k", "extra", "age", "levels"])] = copy.deepcopy(rng.choice(JUNK))
        elif isinstance(holder, list):
            holder.insert(rng.randint(0, len(holder)), copy.deepcopy(rng.choice([*JUNK, *holder])))
        else:
            holder[last] = copy.deepcopy(rng.choice([holder[key] for key in holder]))
    return json.dumps(document).encode()


SCRATCHES = (b"", b'"', b"{", b"9", b"\xff", b"\\ud800", b"]", b"1e999", b"-")


def scratched(text, rng):
    """Return text with a few bytes changed, removed or doubled."""
    text = bytearray(text)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text))
        text[at : at + rng.randint(0, 3)] = rng.choice(
            [b"", b'"', b"{", b"9", b"\xff", b"\\ud800", b"]", b"1e999", b"-"]
        )
    return bytes(text)


def test_a_certificate_that_was_changed_is_verified_or_refused(saved, tmp_path):
    """2500 mutants of a certificate: nothing but errors of Shoal, all without values."""
    release, folder = saved
    source, certificate = io.read(folder / "out.csv"), release.certificate
    plain = json.dumps(certificate).encode()
    rng = random.Random(15)
    verified, refused = 0, []
    for turn in range(2500):
        text = mutant(certificate, rng) if turn % 5 else scratched(plain, rng)
        (tmp_path / "m.json").write_bytes(text)
        try:
            verify_file(source, tmp_path / "m.json")
            verified += 1
        except ShoalError as error:
            refused.append(str(error))
    assert verified > 100 < len(refused)
    assert not [words for words in refused if "asthma" in words]


def counted_in_pieces(table, certificate):
    return verify_promised(open_published(table, {}, 2**28), read_certificate(certificate), memory=2**28)


@pytest.mark.parametrize("verify", [verify_file, counted_in_pieces])
def test_a_certificate_that_tells_more_than_holds_is_refused(saved, tmp_path, verify):
    release, folder = saved
    k, held = release.k, {one.attribute: one.held for one in release.audit.models}
    lies = {
        rf"k = {k + 1} must hold, .* Got k = {k}\.": lambda told: told["k"].update(held=k + 1),
        r"'distinct-diversity l=2' must hold in 'pay'": lambda told: told["models"][2].update(held=held["pay"] + 1),
    }
    for words, lie in lies.items():
        told = json.loads((folder / "m.json").read_text())
        lie(told)
        (tmp_path / "m.json").write_text(json.dumps(told))
        with pytest.raises(DisclosureError, match=words):
            verify(folder / "out.csv", tmp_path / "m.json")
    less = json.loads((folder / "m.json").read_text())
    less["k"]["held"], less["models"][2]["held"] = k - 1, held["pay"] - 1
    (tmp_path / "m.json").write_text(json.dumps(less))
    assert verify(folder / "out.csv", tmp_path / "m.json")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[" * 100_000, "is not JSON"),
        (b'{"a":' * 50_000, "is not JSON"),
        (b"\xff\xfe\x00", "is not JSON"),
        (b"1" * 5000, "is not the certificate of a release"),
        (b"null", "is not the certificate of a release"),
    ],
)
def test_what_is_no_certificate_at_all_is_refused(tmp_path, content, said):
    (tmp_path / "m.json").write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_certificate(tmp_path / "m.json")


def test_a_mistake_is_named_by_its_place_and_not_quoted(saved, tmp_path):
    release, _ = saved
    certificate = release.certificate
    certificate["k"]["wanted"] = "MARKER"
    (tmp_path / "m.json").write_text(json.dumps(certificate))
    with pytest.raises(DataError, match="its 'k' is not as it must be") as caught:
        read_certificate(tmp_path / "m.json")
    assert "MARKER" not in str(caught.value)


def test_a_folder_is_no_certificate(tmp_path):
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        read_certificate(tmp_path)


def test_a_certificate_goes_to_json_and_back(saved):
    release, folder = saved
    read = read_certificate(folder / "m.json")
    assert read == Certificate.model_validate_json(json.dumps(release.certificate))
    assert plan_of(read).models == {name: tuple(texts) for name, texts in FIELDS["models"].items()}


def test_versions_are_those_that_are_installed(monkeypatch):
    found = {package: metadata.version(package) for package in certificate.PACKAGES}
    assert certificate._installed() == found
    # Metadata that do not begin with the version are read as what they are.
    monkeypatch.setattr(
        metadata.PathDistribution, "read_text", lambda self, name: "Name: x\nVersion: a b\n\nVersion: 9\n"
    )
    assert certificate._version("numpy") == "a b"
