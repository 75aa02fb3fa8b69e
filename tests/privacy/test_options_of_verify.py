"""A check takes what it can check, and refuses what would say nothing about a table."""

import pyarrow as pa
import pytest

import shoal
from shoal.errors import OptionError
from shoal.plan import Plan
from shoal.privacy.audit import WANTED

TABLE = pa.table({"age": [30, 30, 41, 41], "ill": ["a", "b", "a", "b"]})
OTHERS = sorted(set(Plan.model_fields) - {*WANTED, "quasi_identifiers", "k", "unit", "population"})


@pytest.mark.parametrize("field", OTHERS)
def test_what_only_makes_a_release_is_refused(field):
    with pytest.raises(OptionError, match=f"The check of a table has no option '{field}'"):
        shoal.verify(TABLE, ["age"], 2, **{field: getattr(Plan.of(), field)})


def test_an_option_that_is_none_is_refused_with_the_nearest():
    with pytest.raises(OptionError, match=r"(?s)no option 'sensitive_atributes'.*did you mean 'sensitive_attributes'"):
        shoal.verify(TABLE, ["age"], 2, sensitive_atributes=["ill"])


def test_what_holds_is_told_where_nothing_is_demanded_only():
    demanded = shoal.verify(TABLE, ["age"], 2, sensitive_attributes=["ill"], l=2)
    assert [str(finding.model) for finding in demanded.models] == ["distinct-diversity l=2"]
    assert demanded.glances == ()
    glanced = shoal.verify(TABLE, ["age"], 2, sensitive_attributes=["ill"])
    assert glanced.models == ()
    assert {finding.attribute for finding in glanced.glances} == {"ill"}
    assert shoal.verify(TABLE, ["age"], 2).glances == ()


def test_names_of_the_command_line_are_taken_or_answered():
    table = pa.table({"age": [30, 30, 41, 41], "ill": [0, 1, 0, 1]})
    assert shoal.verify(table, ["age"], sensitive=["ill"], l=2).holds
    with pytest.raises(OptionError, match=r"has no option 'qi'\. Hint: did you mean 'quasi_identifiers'"):
        shoal.verify(table, qi=["age"])
    with pytest.raises(OptionError, match="has no option 'seed'"):
        shoal.verify(table, seed=3)
