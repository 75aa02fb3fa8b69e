"""Models of privacy in releases: enforced, checked on what is published, told, and refused where they cannot be had."""

import json
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import DisclosureError, DisclosureWarning, OptionError
from shoal.release import run
from shoal.release.verification import verify_file

QIS = ["age", "wage", "sex"]
ILLS = ("flu", "cold", "cancer", "gout", "none")


def people(n=120, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    ill = rng.choice(ILLS, n, p=[0.3, 0.25, 0.05, 0.1, 0.3]).astype(object)
    ill[rng.random(n) < missing] = None
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "wage": np.round(rng.lognormal(8, 0.5, n), 2),
            "sex": rng.choice(["f", "m"], n),
            "ill": ill,
            "debt": rng.integers(0, 10**6, n),
        }
    )


def release(table, k=3, **fields):
    said = {"quasi_identifiers": QIS, "sensitive_attributes": ["ill"], "method": "mdav", "random_state": 0}
    said["rest"] = "other"
    return shoal.anonymize(table, k, **{**said, **fields})


def groups_of(result):
    """The published table by hand: the sensitive values of every set of equal rows."""
    return [part for _, part in result.table.groupby(QIS, dropna=False)]


# --- what is asked is kept ---


@pytest.mark.parametrize("enforcement", [None, "best", "repair", "growth", "mondrian"])
def test_l_different_values_are_in_every_group(enforcement):
    result = release(people(), l=3, enforcement=enforcement)
    assert min(part["ill"].nunique() for part in groups_of(result)) >= 3
    assert min(len(part) for part in groups_of(result)) >= 3
    (found,) = result.audit.models
    assert found.held == min(part["ill"].nunique() for part in groups_of(result))


def earth_moved(part, whole):
    """By hand: the distance along the ranks of the different values."""
    values = np.unique(whole)
    shares = [np.array([(np.asarray(one) <= v).mean() for v in values]) for one in (part, whole)]
    return np.abs(shares[0] - shares[1])[:-1].sum() / (len(values) - 1)


@pytest.mark.parametrize("enforcement", [None, "best", "repair", "merge", "k-first", "t-first", "buckets", "mondrian"])
def test_groups_are_close_to_the_table(enforcement):
    table = people()
    result = release(table, sensitive_attributes=["debt"], t=0.15, enforcement=enforcement)
    worst = max(earth_moved(part["debt"], table["debt"]) for part in groups_of(result))
    assert worst <= 0.15 + 1e-9
    assert result.audit.models[0].held == pytest.approx(worst)


def test_each_attribute_has_models_of_its_own():
    models = {"ill": "entropy-diversity l=2", "debt": ["t-closeness t=0.2", "distinct-diversity l=2"]}
    result = release(people(), sensitive_attributes=[], models=models, method="auto")
    assert [(f.attribute, str(f.model)) for f in result.audit.models] == [
        ("ill", "entropy-diversity l=2"),
        ("debt", "t-closeness t=0.2"),
        ("debt", "distinct-diversity l=2"),
    ]
    assert all(result.audit.models)
    assert [column.role for column in result.columns if column.name in models] == ["sensitive", "sensitive"]


def test_the_price_is_not_higher_than_one_group_and_not_lower_than_k_alone():
    table = people()
    alone = release(table).loss
    for fields in ({"l": 4}, {"models": {"ill": "alpha alpha=0.5"}}):
        assert alone <= release(table, **fields).loss < 1


@settings(max_examples=settings.default.max_examples // 3)
@given(
    st.sampled_from(
        [
            *("distinct-diversity l=2", "entropy-diversity l=1.5", "recursive-diversity c=3 l=2", "p-sensitive p=2"),
            *("alpha alpha=0.7", "t-closeness t=0.35", "n-t-closeness n=20 t=0.3", "beta-likeness beta=2"),
            *("enhanced-beta-likeness beta=2", "delta-disclosure delta=3"),
        ]
    ),
    st.sampled_from(["mdav", "mondrian", "cbfs", "univariate"]),
    st.integers(0, 50),
    st.sampled_from([0.0, 0.1]),
)
def test_what_is_released_is_accepted_by_verify(model, method, seed, missing):
    table = people(60, seed, missing)
    names = ["wage"] if method == "univariate" else QIS
    result = release(table, quasi_identifiers=names, sensitive_attributes=[], models={"ill": model}, method=method)
    again = shoal.verify(result.table.sample(frac=1, random_state=seed), names, 3, models={"ill": model})
    assert again.holds
    assert again.models[0].held == pytest.approx(result.audit.models[0].held)


def test_strata_units_and_global_recoding_keep_models_too():
    table = people(300)
    table["unit"] = np.arange(300) // 2
    by_stratum = release(table.drop(columns="unit"), quasi_identifiers=["age", "wage"], stratum=["sex"], l=3)
    assert all(by_stratum.audit.models)
    parts = by_stratum.table.groupby(["age", "wage", "sex"])
    assert parts["ill"].nunique().min() >= 3
    by_unit = release(table, unit="unit", l=3)
    assert all(by_unit.audit.models)
    assert by_unit.audit.k_units >= 3
    recoded = release(table.drop(columns="unit"), release="global-recoding", l=3)
    assert all(recoded.audit.models)
    pairs = pd.concat([table[QIS], recoded.table[QIS].add_prefix("published ")], axis=1).drop_duplicates()
    assert Counter(map(tuple, pairs[QIS].to_numpy())).most_common(1)[0][1] == 1, "equal records were separated"


def test_n_t_closeness_falls_back_on_t_closeness_if_the_published_table_is_seen_otherwise(monkeypatch):
    asked, real = [], run._audited

    def audited(result, prepared, *rest):
        asked.append([str(demand.model) for demand in prepared.constraints.demands])
        if len(asked) == 1:
            raise DisclosureError("seen otherwise")
        return real(result, prepared, *rest)

    monkeypatch.setattr(run, "_audited", audited)
    result = release(people(), sensitive_attributes=[], models={"debt": "n-t-closeness n=30 t=0.2"})
    assert asked == [["n-t-closeness n=30 t=0.2"], ["t-closeness t=0.2"]]
    assert str(result.audit.models[0].model) == "n-t-closeness n=30 t=0.2"
    monkeypatch.setattr(run, "_audited", lambda *_: (_ for _ in ()).throw(DisclosureError("no")))
    with pytest.raises(DisclosureError):
        release(people(), l=2)


def test_what_is_published_as_a_quasi_identifier_has_no_model_and_that_is_said():
    with pytest.warns(DisclosureWarning, match="do not apply to 'age', because it is published as a quasi-identifier"):
        result = release(people(), sensitive_attributes=["ill", "age"], l=3)
    assert [finding.attribute for finding in result.audit.models] == ["ill"]


# --- what cannot be had ---


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        ({"l": 6}, ["'ill'", "5"]),
        ({"models": {"ill": "entropy-diversity l=4.9"}}, ["entropy-diversity l=4.9", "at most"]),
        ({"models": {"ill": "alpha alpha=0.1"}}, ["alpha=0.1"]),
        ({"l": 3, "blocks": "each"}, ["all quasi-identifiers in one block", "blocks"]),
        ({"l": 3, "release": "global-recoding", "enforcement": "growth"}, ["by merging", "enforcement='growth'"]),
        ({"models": {"ill": "entropy-diversty l=2"}}, ["entropy-diversity"]),
    ],
)
def test_what_cannot_be_had_is_refused_with_the_reason(fields, parts):
    with pytest.raises(OptionError) as caught:
        release(people(), **fields)
    for part in parts:
        assert part in str(caught.value)


def test_a_stratum_that_cannot_have_it_is_refused():
    table = people(100)
    table.loc[table["sex"] == "f", "ill"] = "flu"
    with pytest.raises(OptionError, match="Got 1 of 2 strata that do not, in 'ill'"):
        release(table, quasi_identifiers=["age", "wage"], stratum=["sex"], l=2)


# --- what is told ---


def test_files_are_checked_again_and_verified_with_the_certificate(tmp_path):
    out, certificate = tmp_path / "release.csv", tmp_path / "release.json"
    result = release(people(), l=3, t=0.4)
    result.save(out, certificate=certificate)
    said = json.loads(certificate.read_text())
    assert [(one["attribute"], one["model"]) for one in said["models"]] == [
        ("ill", "distinct-diversity l=3"),
        ("ill", "t-closeness t=0.4"),
    ]
    assert verify_file(out, certificate).models[0].held == said["models"][0]["held"]
    # The same k, but all of a group have one illness.
    table = pd.read_csv(out)
    first = (table[QIS] == table.loc[0, QIS]).all(axis=1)
    table.loc[first, "ill"] = "flu"
    table.to_csv(out, index=False)
    said["output"]["sha256"] = None
    certificate.write_text(json.dumps(said))
    with pytest.raises(DisclosureError, match=r"must satisfy 'distinct-diversity l=3' in 'ill'. Got 1 groups"):
        verify_file(out, certificate)


def test_the_report_explains_each_model_and_draws_the_worst_group():
    table = people(400)
    table.loc[0, "ill"] = "a very rare one"
    page = release(table, l=3, models={"debt": "t-closeness t=0.3"}).report()
    assert "ill: l = 3 (distinct)" in page
    assert "debt: t = 0.3" in page
    assert "cancer" in page
    assert "a very rare one" not in page
    assert "Neither l-diversity nor t-closeness was demanded" not in page
    assert "Neither l-diversity nor t-closeness was demanded" in release(table).report()


def test_a_release_says_what_it_keeps():
    assert "k = 3, ill: l = 3 (distinct), loss" in repr(release(people(), l=3))


def test_verify_tells_what_sensitive_attributes_have_if_nothing_is_asked():
    found = shoal.verify(people()[["sex", "ill"]], ["sex"], sensitive_attributes=["ill"])
    assert found.holds
    assert found.models == ()
    assert [(str(one.model).split()[0], one.attribute) for one in found.glances] == [
        ("distinct-diversity", "ill"),
        ("t-closeness", "ill"),
    ]
    assert found.glances[0].held == 5


# --- against a population ---


def test_every_record_matches_enough_people_of_the_population():
    population = people(600)
    sample = population.sample(80, random_state=1)
    result = release(sample, release="local-recoding", population=population, k_map=10, sensitive_attributes=[])
    for (age, wage, sex), _ in result.table.groupby(QIS):
        ages, wages = (tuple(float(x) for x in text.strip("[]").split(", ")) for text in (age, wage))
        match = population["age"].between(ages[0], ages[-1]) & population["wage"].between(wages[0], wages[-1])
        match &= population["sex"].isin(sex.strip("{}").split(", "))
        assert match.sum() >= 10
    assert result.audit.models[0].held >= 10


def test_presence_in_the_table_stays_uncertain(tmp_path):
    population = people(600)
    sample = population.sample(80, random_state=1)
    population.to_csv(tmp_path / "all.csv", index=False)
    fields = {"release": "local-recoding", "presence": (0, 0.25), "population": str(tmp_path / "all.csv")}
    result = release(sample, sensitive_attributes=[], **fields)
    assert 0 < result.audit.models[0].held <= 0.25
    result.save(tmp_path / "out.csv", certificate=tmp_path / "m.json")
    for everybody in (tmp_path / "all.csv", population):
        found = verify_file(tmp_path / "out.csv", tmp_path / "m.json", population=everybody)
        assert found.models[0].held == result.audit.models[0].held
    with pytest.raises(OptionError, match=r"The population must be given to check 'delta-presence low=0 high=0\.25'"):
        verify_file(tmp_path / "out.csv", tmp_path / "m.json")
    # How many people of the population match is not on the published table.
    assert result.certificate["models"] == [
        {"attribute": None, "model": "delta-presence low=0 high=0.25", "held": None}
    ]
    assert "all.csv" not in json.dumps(result.certificate) + result.report()


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"release": "microaggregation"}, "counted for ranges"),
        ({"release": "local-recoding", "stratum": ["sex"], "quasi_identifiers": ["age"]}, "Got strata or blocks"),
        ({"release": "local-recoding", "k_map": 100_000}, "if all records are in one group"),
    ],
)
def test_populations_that_do_not_serve_are_refused(fields, part):
    with pytest.raises(ValueError, match=part):
        release(people(), sensitive_attributes=[], population=people(200), **{"k_map": 5, **fields})


def test_a_population_without_the_quasi_identifiers_is_refused():
    with pytest.raises(OptionError, match="must have the quasi-identifier 'wage'"):
        release(people(), release="local-recoding", population=people(200).drop(columns="wage"), k_map=5)


@pytest.mark.parametrize(("seed", "regrouped"), [(32, True), (0, False)])
def test_groups_made_for_another_model_are_said(seed, regrouped):
    rng = np.random.default_rng(seed)
    columns = {"age": rng.integers(20, 80, 60), "town": rng.integers(0, 4, 60), "ill": rng.integers(0, 2, 60)}
    table = pa.table({name: v if name == "age" else [f"v{x}" for x in v] for name, v in columns.items()})
    models = {"ill": ["n-t-closeness n=20 t=0.2"]}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = shoal.anonymize(table, k=3, quasi_identifiers=["age", "town"], models=models, method="mdav")
    words = [str(one.message) for one in said if "made for t-closeness" in str(one.message)]
    assert len(words) == regrouped
    assert list(result.warnings) == words
    assert result.audit.holds
    assert str(result.audit.models[0].model) == models["ill"][0]


def test_a_release_of_one_group_says_so():
    """Whatever the reason: few records, or a t that only the whole table satisfies; and in every stratum."""
    few = people(5)
    with pytest.warns(DisclosureWarning, match="All 5 records are in one group"):
        found = release(few, sensitive_attributes=[], quasi_identifiers=QIS)
    assert found.audit.classes == 1
    table = people(40)
    with pytest.warns(DisclosureWarning, match="All 40 records are in one group"):
        found = release(table, t=0.0001)
    assert found.audit.holds
    assert any("one group" in words for words in found.certificate["warnings"])
    assert "All 40 records are in one group" in found.report()
    with pytest.warns(DisclosureWarning, match="All 40 records of every stratum are in one group"):
        release(table, quasi_identifiers=["age", "wage"], stratum=["sex"], t=1.0, k=15)


def test_a_release_of_several_groups_says_nothing_of_one():
    assert not any("one group" in words for words in release(people(40), l=2).warnings)


def test_one_group_is_refused_only_if_it_falls_short():
    with pytest.raises(OptionError, match="l can be at most"):
        release(people(40), l=30)


def test_models_count_units():
    """Every second row of a person has a disease that nobody else has."""
    table = people(120)
    table["person"] = np.arange(120) // 2
    table["ill"] = np.where(np.arange(120) % 2 == 0, "flu", "rare " + table["person"].astype(str))
    found = release(
        table, unit="person", sensitive_attributes=[], models={"ill": ["alpha alpha=0.5", "distinct-diversity l=3"]}
    )
    for _, rows in found.table.groupby(QIS):
        persons = table.loc[rows.index, "person"]
        share = (1 / persons.map(persons.value_counts())).groupby(rows["ill"]).sum() / persons.nunique()
        assert share.max() <= 0.5 + 1e-9
    assert found.audit.k_units >= 3
