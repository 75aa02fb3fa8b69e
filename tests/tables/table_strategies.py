"""Columns of every kind to test with: plain values, and the form that Shoal keeps them in."""

import numpy as np
from hypothesis import strategies as st

from shoal.tables.embedding import FORMS
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.values import Codes, Numbers, Places

LEVELS = ("a", "b", "c", "d", "e")
TREE = {"*": None, "A": "*", "B": "*", "C": "B", "a": "A", "b": "A", "c": "C", "d": "C", "e": "*"}
HIERARCHY = Hierarchy.from_nested({"*": [{"A": ["a", "b"], "B": {"C": ["c", "d"]}}, "e"]})

one_value = {
    "continuous": st.floats(-1e6, 1e6).map(lambda x: round(x, 3)) | st.sampled_from([0.1, 1e6, -1e-3]),
    "integer": st.integers(-5, 5).map(float),
    "date": st.integers(10_000, 20_000).map(float),
    "datetime": st.integers(10**15, 10**15 + 10**7).map(float),
    "ordinal": st.sampled_from(LEVELS),
    "nominal": st.sampled_from(LEVELS),
    "boolean": st.sampled_from(LEVELS[:2]),
    "hierarchical": st.sampled_from((*LEVELS, "A", "C", "*")),
    "place": st.tuples(
        st.sampled_from([90.0, -90.0, 0.0, 52.5, 47.25]), st.sampled_from([0.0, 180.0, -180.0, 13.4, -77.0])
    ),
}


def coded(values, kind):
    """Return plain values in the form that Shoal keeps them in."""
    if FORMS[kind] is Numbers:
        return Numbers(np.array([np.nan if v is None else v for v in values]))
    if FORMS[kind] is Places:
        return Places(np.array([(np.nan, np.nan) if v is None else v for v in values]).reshape(-1, 2))
    levels = LEVELS[:2] if kind == "boolean" else (*LEVELS, "A", "B", "C", "*") if kind == "hierarchical" else LEVELS
    return Codes(np.array([-1 if v is None else levels.index(v) for v in values], np.int64), levels)
