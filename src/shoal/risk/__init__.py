"""Disclosure risk: what an intruder can still find or learn, from keys, from links, from groups.

To add a measure, write a function of tables that returns arrays and floats in a frozen dataclass, its plain oracle in
`tests/risk/naive_risk.py`, and an entry of the registry, from which the page of measures is made. Tables are read by
`inputs`; what is read once for several measures is a `Keys` or a `Pair`. Nothing here may import what makes releases.
"""

from shoal.risk.attributes import AttributeGain, attribute_gain
from shoal.risk.bridging import Linkability, linkability
from shoal.risk.distance import Linkage, linkage
from shoal.risk.guesses import Inference, inference
from shoal.risk.individual import Attack, IndividualRisk, Reidentification, individual_risk, reidentification
from shoal.risk.intervals import (
    IntervalDisclosure,
    RobustDisclosure,
    deviation_disclosure,
    rank_disclosure,
    robust_disclosure,
)
from shoal.risk.isolation import SinglingOut, singling_out
from shoal.risk.keys import KeyCounts, Keys, key_counts
from shoal.risk.knowledge import PartialLinkage, partial_linkage
from shoal.risk.members import Membership, membership
from shoal.risk.pairs import Pair
from shoal.risk.population import PopulationUniques, population_uniques
from shoal.risk.probabilistic import ProbabilisticLinkage, probabilistic_linkage
from shoal.risk.registry import Measure, measures
from shoal.risk.shares import Trials
from shoal.risk.special_uniques import Suda, suda
from shoal.risk.trained import ModelGain, model_gain

__all__ = [
    "Attack",
    "AttributeGain",
    "IndividualRisk",
    "Inference",
    "IntervalDisclosure",
    "KeyCounts",
    "Keys",
    "Linkability",
    "Linkage",
    "Measure",
    "Membership",
    "ModelGain",
    "Pair",
    "PartialLinkage",
    "PopulationUniques",
    "ProbabilisticLinkage",
    "Reidentification",
    "RobustDisclosure",
    "SinglingOut",
    "Suda",
    "Trials",
    "attribute_gain",
    "deviation_disclosure",
    "individual_risk",
    "inference",
    "key_counts",
    "linkability",
    "linkage",
    "measures",
    "membership",
    "model_gain",
    "partial_linkage",
    "population_uniques",
    "probabilistic_linkage",
    "rank_disclosure",
    "reidentification",
    "robust_disclosure",
    "singling_out",
    "suda",
]
