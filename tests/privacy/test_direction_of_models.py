"""Whether more or less is better is the same wherever it is asked: in the model, its bound and its worst group.

The bound itself is enough, except for recursive diversity, which is defined by a strict inequality.
"""

import numpy as np
import pytest

from privacy.demand_strategies import SPECS
from shoal.privacy.models import MODELS, any_model

ALL = [*SPECS, "n-t-closeness n=12 t=0.3", "k-map k=4", "delta-presence low=0 high=0.3"]


def test_every_model_is_here():
    assert {spec.partition(" ")[0] for spec in map(str, ALL)} == set(MODELS)


@pytest.mark.parametrize("spec", ALL, ids=str)
def test_what_is_better_is_allowed(spec):
    model = any_model(spec)
    bound = model.required
    more, less = bound * 1.5 + 1e-3, bound * 0.5
    better, worse = (more, less) if model.rising else (less, more)
    assert model.allows(np.array([better, bound, worse])).tolist() == [True, model.name != "recursive-diversity", False]
    assert model.worst(np.array([bound, more, less])) == (2 if model.rising else 1)
