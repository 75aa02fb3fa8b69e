"""``shoal tune`` and the map of ``shoal compare`` on the command line."""

import json

from cli_tables import ROLES, flat


def test_a_plan_is_found_and_its_job_file_makes_the_release(people, run):
    wanted = ("tune", "people.csv", "--want", "linkage <= 0.2, l >= 2", *ROLES, "--method", "mdav", "--rest", "drop")
    said = run(*wanted, "-o", "job.yaml")
    assert "shoal anonymize --job job.yaml -o release.csv" in " ".join(said.stdout.split())
    assert max(map(len, said.stdout.splitlines())) <= 80
    found = json.loads(run(*wanted, "--json").stdout)
    assert found["met"]
    assert found["figures"]["linkage"] <= 0.2
    assert found["figures"]["l"] >= 2
    assert len(found["evidence"]) < 12
    run("anonymize", "--job", "job.yaml", "-o", "release.csv")
    assessed = json.loads(run("assess", "people.csv", "release.csv", "--json").stdout)
    assert assessed["questions"]["linkage"]["figures"]["correct"] == found["figures"]["linkage"]


def test_nothing_meets_it(people, run):
    said = run("tune", "people.csv", "--want", "linkage <= 1e-9", *ROLES, "--rest", "drop", "-k", 3, "--method", "mdav",
               "-o", "job.yaml", code=1)  # fmt: skip
    assert "the nearest is k = 3, mdav" in flat(said)
    assert not (people / "job.yaml").exists()
    assert "must be named" in flat(run("tune", "--want", "linkage <= 0.1", code=2))
    assert "At least one thing must be wanted" in flat(run("tune", "people.csv", code=2))
    assert "must end in .yaml or .yml" in flat(run("tune", "people.csv", "--want", "k >= 3", "-o", "x.json", code=2))
    assert "partial_linkage" in run("tune", "--figures").stdout


def test_the_map_is_shown_and_written(people, run):
    given = ("compare", "people.csv", "-k", 3, "-k", 6, "--method", "mdav", *ROLES, "--rest", "drop")
    said = run(*given, "--map", "map.html").stdout
    assert "k = 6, mdav" in said
    assert max(map(len, said.splitlines())) <= 80
    assert (people / "map.html").stat().st_mode & 0o777 == 0o600
    found = json.loads(run(*given, "--map", "-", "--json").stdout)
    assert [point["front"] for point in found["map"]["points"]] == [True, True]
    assert "must be given with a map" in flat(run(*given, "--risk", "nearest", code=2))
    assert "--force" in flat(run(*given, "--map", "map.html", code=2))
