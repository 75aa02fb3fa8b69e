"""From a table of a real PostgreSQL server to a file, and back into a table."""

import json

from cli_tables import ROLES, SECRETS, flat

import shoal
from servers import PASSWORD, QUOTED_PASSWORD
from shoal import io

QUASI_IDENTIFIERS = ["age", "zip", "income", "sex"]


def test_from_a_database_to_a_file_and_back_into_a_table(people, run, postgres):
    io.write(io.read(people / "people.csv").table, postgres, name_of_table="people", force=True)
    said = run("anonymize", postgres, "--table", "people", "-k", 3, "-o", "release.parquet", *ROLES, "--method", "mdav")
    assert shoal.verify(io.read("release.parquet").table, QUASI_IDENTIFIERS, 3)
    assert PASSWORD not in said.output
    assert QUOTED_PASSWORD not in said.output
    certificate = json.loads((people / "release.parquet.manifest.json").read_text())
    record = json.loads((people / "release.parquet.record.json").read_text())
    assert certificate["rows"] == record["rows"]["published"] == 40
    assert QUOTED_PASSWORD not in json.dumps([certificate, record])

    back = ("anonymize", "people.csv", "-k", 3, "-o", postgres, "--to-table", "released", *ROLES, "--method", "mdav")
    run(*back)
    published = io.read(postgres, table="released").table
    assert shoal.verify(published, QUASI_IDENTIFIERS, 3)
    assert "name" not in published.column_names
    refused = run(*back, code=2)
    assert "nothing was changed" in flat(refused)
    assert io.read(postgres, table="released").table.equals(published)
    run(*back, "--force")
    run("verify", postgres, "--table", "released", "-k", 3, "--qi", ",".join(QUASI_IDENTIFIERS))
    refused = run("verify", postgres, "--table", "people", "-k", 3, "--qi", ",".join(QUASI_IDENTIFIERS), code=1)
    assert not any(secret in refused.output for secret in SECRETS)
