"""Fields of a plan as keywords: what help, completion and type checkers show is what a plan takes."""

import inspect
import typing

import pyarrow as pa
import pytest

import shoal
from shoal import plan as plan_module
from shoal.errors import OptionError
from shoal.fields import COMMAND_LINE, MEANT, OF_ONE_TYPE, SDCMICRO, AllFields, Fields, OfPrivacy
from shoal.options.table import PLAN
from shoal.plan import Plan
from shoal.plan_checks import WITH_PRIVACY

DEFAULTS = {name: field.default for name, field in Plan.model_fields.items()}


def message(**fields):
    with pytest.raises(OptionError) as found:
        Plan.of(**fields)
    return str(found.value)


# --- what is shown ---


@pytest.mark.parametrize("function", [shoal.anonymize, shoal.anonymize_file, Plan.of], ids=lambda f: f.__name__)
def test_signatures_show_every_field_with_its_default(function):
    shown = inspect.signature(function).parameters
    assert {name: shown[name].default for name in DEFAULTS} == DEFAULTS
    assert set(OF_ONE_TYPE) < set(shown)
    assert not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in shown.values())


@pytest.mark.parametrize("function", [shoal.anonymize, shoal.anonymize_file], ids=lambda f: f.__name__)
def test_annotations_say_that_a_plan_may_be_private(function):
    by_plan, by_dp, others = [], [], []
    for signature in map(inspect.signature, typing.get_overloads(inspect.unwrap(function))):
        given = signature.parameters
        kind = by_dp if "dp" in given else by_plan if given["plan"].default is inspect.Parameter.empty else others
        kind.append(signature.return_annotation)
    assert by_dp == ["PrivateTable"]
    assert by_plan
    assert all("PrivateTable" in returned for returned in by_plan)
    assert others
    assert not any("PrivateTable" in returned for returned in others)


def test_signatures_keep_what_is_their_own():
    shown = inspect.signature(shoal.anonymize).parameters
    assert list(shown)[:3] == ["table", "k", "quasi_identifiers"]
    assert shown["k"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert {name: shown[name].default for name in ("plan", "progress")} == {"plan": None, "progress": None}
    shown = inspect.signature(shoal.anonymize_file).parameters
    assert list(shown)[:3] == ["source", "output", "plan"]
    assert shown["record"].default is True


def test_type_checkers_know_every_keyword_that_a_plan_takes():
    assert set(AllFields.__annotations__) == {*DEFAULTS, *OF_ONE_TYPE, *COMMAND_LINE, *SDCMICRO}
    own = inspect.signature(shoal.anonymize, follow_wrapped=False).parameters
    code = shoal.anonymize.__code__
    written = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    assert set(AllFields.__annotations__) - set(Fields.__annotations__) == set(written) & set(own) & set(DEFAULTS)


def test_type_checkers_know_what_may_be_given_with_dp():
    assert {"dp", "epsilon", "domain", *OfPrivacy.__annotations__} == set(WITH_PRIVACY)
    for name, hint in OfPrivacy.__annotations__.items():
        assert hint == AllFields.__annotations__[name]


def choices(hint):
    """Return all values of literals inside of a type."""
    inner = set(typing.get_args(hint))
    return inner if typing.get_origin(hint) is typing.Literal else set().union(*map(choices, inner))


def test_type_checkers_know_the_words_that_fields_take():
    hints = typing.get_type_hints(AllFields, localns=vars(plan_module))
    with_words = {name for name, field in Plan.model_fields.items() if choices(field.annotation)}
    assert {"missing", "bound", "release", "enforcement", "types"} < with_words
    for name in with_words:
        assert choices(hints[name]) == choices(Plan.model_fields[name].annotation), name


# --- names of the command line ---


def test_names_of_the_command_line_are_taken():
    assert Plan.of(
        qi=["age"],
        sensitive="ill",
        id="name",
        type={"age": "integer"},
        hierarchy={"zip": "prefixes"},
        na=["-9"],
        seed=3,
        jobs=1,
        option={"gamma": 0.5},
        method="mdav*-gamma",
    ) == Plan.of(
        quasi_identifiers=["age"],
        sensitive_attributes=["ill"],
        identifiers=["name"],
        types={"age": "integer"},
        hierarchies={"zip": "prefixes"},
        missing_values=["-9"],
        random_state=3,
        n_jobs=1,
        options={"gamma": 0.5},
        method="mdav*-gamma",
    )


def test_every_name_of_the_command_line_is_one_of_python():
    assert all(option.key in {**DEFAULTS, **COMMAND_LINE} for option in PLAN if option.field not in OF_ONE_TYPE)
    assert not set(COMMAND_LINE) & {*DEFAULTS, *SDCMICRO, *OF_ONE_TYPE}


def test_a_name_of_the_command_line_that_is_none_is_not_given():
    assert Plan.of(qi=None, seed=None, random_state=4).random_state == 4


def test_a_field_is_set_once():
    said = message(quasi_identifiers=["a"], qi=["b"])
    assert said == "A plan must set 'quasi_identifiers' once. Got 'qi' as well, the command line's name for it."


def test_anonymize_takes_them_too():
    people = pa.table({"age": [31, 33, 58, 60], "ill": ["a", "b", "a", "b"]})
    release = shoal.anonymize(people, 2, qi=["age"], sensitive=["ill"], seed=1)
    assert release.plan.quasi_identifiers == ("age",)
    assert release.plan.random_state == 1
    with pytest.raises(OptionError, match=r"With a plan, no other fields may be given. Got 'qi'"):
        shoal.anonymize(people, plan=release.plan, qi=["age"])


# --- hints ---


@pytest.mark.parametrize("name", MEANT)
def test_words_of_other_programs_are_hinted_at(name):
    assert f"did you mean {MEANT[name]!r}?" in message(**{name: "a"})


def test_the_table_of_such_words_is_needed_and_right():
    known = {*DEFAULTS, *OF_ONE_TYPE}
    assert set(MEANT.values()) <= known
    assert not set(MEANT) & {*known, *COMMAND_LINE, *SDCMICRO}


def test_near_names_include_those_of_the_command_line():
    assert "did you mean 'seed'?" in message(sead=3)


def test_a_mapping_written_as_on_the_command_line_is_answered_with_the_mapping():
    said = message(hierarchy="zip=prefixes")
    assert said.endswith("Got 'zip=prefixes'. Hint: write hierarchies={'zip': 'prefixes'}.")
    assert message(types="nominal").endswith("Hint: write types={'COLUMN': 'nominal'}.")


def test_job_files_say_what_their_key_is_called(tmp_path):
    from shoal.job_files import read_job

    path = tmp_path / "job.yaml"
    path.write_text("k: 3\nqi: [age]\n")
    with pytest.raises(OptionError, match="--qi of the command line is 'quasi_identifiers' in a job file"):
        read_job(path)
