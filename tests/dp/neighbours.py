"""Small tables."""

import numpy as np

from shoal.dp import Coded, Domain

MIXED = Domain.of(
    {
        "age": {"kind": "integer", "lower": 0, "upper": 9},
        "income": {"kind": "continuous", "lower": 0, "upper": 1, "step": 0.01},
        "sex": {"kind": "nominal", "values": ["f", "m"]},
        "town": {"kind": "hierarchical", "hierarchy": {"N": ["a", "b"], "S": ["c", "d", "e"]}},
    }
)


def table(domain, n, seed):
    generator = np.random.default_rng(seed)
    return Coded(domain, np.stack([generator.integers(0, size, n) for size in domain.sizes], axis=1))
