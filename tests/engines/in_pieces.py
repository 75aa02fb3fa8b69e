"""Tables and layouts for the tests of engines."""

import numpy as np
import pyarrow as pa

from shoal.engines.layout import Layout
from shoal.engines.survey import Survey


def people(n=600, seed=1):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    income = np.round(rng.lognormal(7, 0.7, n), 2)
    weight = rng.normal(70, 12, n)
    job = np.array(["cook", "nurse", "smith", "clerk", "miner"])[rng.integers(0, 5, n)]
    level = np.array(["low", "mid", "high"])[rng.integers(0, 3, n)]
    code = np.array([f"{a}{b}" for a in range(1, 5) for b in range(1, 6)])[rng.integers(0, 20, n)]
    day = np.datetime64("1990-01-01") + rng.integers(0, 9000, n)
    ill = np.array(["flu", "cold", "none", "cancer"])[rng.integers(0, 4, n)]
    return pa.table(
        {
            "age": age,
            "income": income,
            "weight": pa.array(weight, mask=rng.random(n) < 0.05),
            "job": pa.array(job, mask=rng.random(n) < 0.03),
            "level": level,
            "code": code,
            "day": pa.array(day.astype("datetime64[D]")),
            "ill": ill,
            "region": np.array(["n", "s"])[rng.integers(0, 2, n)],
            "person": rng.integers(0, n // 2, n),
            "share": rng.integers(1, 4, n),
        }
    )


PLAN = {
    "k": 3,
    "quasi_identifiers": ("age", "income", "weight", "job", "level", "code", "day"),
    "sensitive_attributes": ("ill",),
    "levels": {"level": ("low", "mid", "high")},
    "hierarchies": {"code": {"prefixes": [1]}},
    "rest": "drop",
}


def layout_of(table, plan, pieces=7, text=False, decimal="."):
    """Return the layout of a table that is surveyed in pieces, by two surveys that are merged."""
    surveys = [Survey.of(plan, table.schema, text=text, decimal=decimal) for _ in range(2)]
    size = -(-table.num_rows // pieces)
    for at in range(pieces):
        surveys[at % 2].add(table.select(surveys[0].needed).slice(at * size, size))
    surveys[1].merge(surveys[0])
    layout = Layout.of(surveys[1])
    while layout.open:
        sums = [layout.sums() for _ in range(2)]
        for at in range(pieces):
            sums[at % 2].add(layout.decode(table.slice(at * size, size), at * size))
        sums[0].merge(sums[1])
        layout = layout.settled(sums[0])
    return layout
