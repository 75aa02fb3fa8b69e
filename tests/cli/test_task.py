"""What the command line was asked for: options over a job file."""

from shoal.cli import anonymize
from shoal.cli.task import plan_of, reading_of
from shoal.options.option import Given

JOB = """
k: 4
quasi_identifiers: [age, zip]
sensitive_attributes: [illness]
weight: w
types: {zip: nominal}
method: ona*-gamma
options: {gamma: 0.5}
input: people.csv
delimiter: ';'
"""


def given(**values):
    return Given(anonymize.options(), values)


def test_options_override_the_job_file(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    found, files = plan_of(given(job=str(path), k=9, type=["age=integer"], id=["illness"], unit="w"))
    assert found.k == 9
    assert found.quasi_identifiers == ("age", "zip")
    assert found.types == {"zip": "nominal", "age": "integer"}
    assert (found.sensitive_attributes, found.identifiers) == ((), ("illness",))
    assert (found.weight, found.unit) == (None, "w")
    assert found.options == {"gamma": 0.5}
    assert files == {"input": str(tmp_path / "people.csv"), "delimiter": ";"}
    assert plan_of(given(job=str(path), method="mdav"))[0].options == {}

    assert reading_of(given(decimal=","), files) == {"delimiter": ";", "decimal": ","}
    assert reading_of(given(source="other.csv", decimal=","), files) == {"decimal": ","}


def test_lists_of_columns_of_a_type_override_the_job_file_and_stand_in_it(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text(JOB + "nominal: [illness]\n")
    found, _ = plan_of(given(job=str(path), ordinal=["zip"], continuous=["age"]))
    assert found.types == {"zip": "ordinal", "illness": "nominal", "age": "continuous"}
