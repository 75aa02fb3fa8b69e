"""Probabilistic linkage against splink, which writes down all pairs, given the same levels of agreement."""

import logging

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.risk import probabilistic

splink = pytest.importorskip("splink", reason="splink absent: the extra 'test' installs it")

ROUNDS, N = 12, 150
LEVELS, ERRORS = [40, 12, 6, 3], [0.05, 0.1, 0.3, 0.2]
NAMES = ["k0", "k1", "k2", "k3"]


def tables():
    rng = np.random.default_rng(0)
    first, drawn = (np.column_stack([rng.integers(0, level, N) for level in LEVELS]) for _ in range(2))
    second = np.where(rng.random(first.shape) < ERRORS, drawn, first)
    gone = rng.random(first.shape) < 0.05
    return [
        pa.table(
            {
                "unique_id": np.arange(N),
                **{
                    name: pa.array([f"v{v}" for v in values], pa.string(), mask=mask)
                    for name, values, mask in zip(NAMES, table.T, missing.T, strict=True)
                },
            }
        )
        for table, missing in ((first, gone), (second, np.zeros_like(gone)))
    ]


def by_splink(ours, theirs, m, u):
    """Return m, u, and the weight and chance of each pair after some rounds from these chances."""
    logging.getLogger("splink").setLevel(logging.CRITICAL)
    comparisons = [
        {
            "output_column_name": name,
            # Without a level of its own, a missing value agrees with nothing, as in Shoal.
            "comparison_levels": [
                {"sql_condition": f"{name}_l = {name}_r", "m_probability": p, "u_probability": q},
                {"sql_condition": "ELSE", "m_probability": 1 - p, "u_probability": 1 - q},
            ],
        }
        for name, p, q in zip(NAMES, m.tolist(), u.tolist(), strict=True)
    ]
    database = splink.DuckDBAPI()
    both = [database.register(one, dataset_display_name=name) for one, name in ((ours, "a"), (theirs, "b"))]
    settings = splink.SettingsCreator(
        link_type="link_only",
        comparisons=comparisons,
        blocking_rules_to_generate_predictions=["1=1"],
        probability_two_random_records_match=1 / N,
        max_iterations=ROUNDS,
        em_convergence=1e-15,
    )
    linker = splink.Linker(both, settings, log_level=logging.CRITICAL)
    linker.training.estimate_parameters_using_expectation_maximisation(
        "1=1",
        fix_u_probabilities=False,
        fix_probability_two_random_records_match=True,
        record_sample_proportion=1.0,
    )
    learnt = [one["comparison_levels"][0] for one in linker.misc.save_model_to_json()["comparisons"]]
    pairs = linker.inference.predict().as_pyarrow_table()
    return (*([level[f"{side}_probability"] for level in learnt] for side in "mu"), pairs)


def test_chances_and_weights_are_those_of_splink(monkeypatch):
    monkeypatch.setattr(probabilistic, "ROUNDS", ROUNDS)
    ours, theirs = tables()
    found = shoal.risk.probabilistic_linkage(ours, theirs, NAMES)
    a, b = (np.column_stack([table.column(name).to_pylist() for name in NAMES]) for table in (ours, theirs))
    agree = np.array([[[x == y and x is not None for x, y in zip(p, q, strict=True)] for q in b] for p in a])
    start = agree.mean(axis=(0, 1))
    m, u, pairs = by_splink(ours, theirs, np.maximum(start, 0.9), start)
    np.testing.assert_allclose(found.matches, m, rtol=1e-9)
    np.testing.assert_allclose(found.others, u, rtol=1e-9)
    # splink adds the odds that two records match at all to the weight of their agreement.
    weights = probabilistic._weights(found.matches, found.others)
    left, right = (pairs.column(f"unique_id_{side}").to_numpy() for side in "lr")
    patterns = agree[left, right] @ (1 << np.arange(4))
    assert len(patterns) == N * N
    prior = np.log2(1 / N / (1 - 1 / N))
    np.testing.assert_allclose(pairs.column("match_weight").to_numpy(), weights[patterns] + prior, rtol=1e-9)
    odds = 2.0 ** (weights[patterns] + prior)
    np.testing.assert_allclose(pairs.column("match_probability").to_numpy(), odds / (1 + odds), rtol=1e-9)
    # The link of each record, by the highest weight: rows that share it are equally likely.
    table = np.empty((N, N))
    table[left, right] = pairs.column("match_weight").to_numpy()
    best = table.max(axis=1, keepdims=True)
    level = table >= best - 1e-9
    np.testing.assert_allclose(found.chances, np.diag(level) / level.sum(axis=1))
