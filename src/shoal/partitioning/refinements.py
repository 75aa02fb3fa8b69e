"""The entries of the registry: every refinement of the house."""

from __future__ import annotations

from shoal.partitioning.catalogue import KHOMNOTAI, MAX_STEPS, OWN, THAETER
from shoal.partitioning.definitions import Option, Refinement

__all__ = ["REFINEMENTS"]

REFINEMENTS: tuple[Refinement, ...] = (
    Refinement(
        "tfrp2",
        "whole groups are given to the nearest means where that pays, in passes until nothing is gained",
        f"{KHOMNOTAI}, figure 2; {THAETER}, 8.2",
        "refine:tfrp2",
        (
            Option(
                "passes",
                "all",
                "how many passes are made at most; 1 as in the printed figures, 'all' while the squared error falls",
                choices=("all",),
                least=1,
                whole=True,
            ),
        ),
    ),
    Refinement(
        "decompose-shrink",
        "groups are decomposed and large ones shrunk, in turn, until nothing is gained",
        f"{KHOMNOTAI}, figures 1 to 4",
        "refine:decompose_shrink",
    ),
    Refinement(
        "ona-rounds",
        "the rounds of ONA*: groups dissolved and records reassigned until nothing is gained",
        f"{THAETER}, algorithms 15 to 17",
        "refine:ona_rounds",
    ),
    Refinement(
        "anytime",
        "the search of the method of that name, from the partition that is given",
        OWN,
        "anytime:refine_anytime",
        (MAX_STEPS,),
        parallel=True,
        random=True,
        timed=True,
    ),
)
