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
            Option(
                "reading",
                "printed",
                "how figure 2 is read: 'printed' as the printed losses demand, 'pseudocode' to the letter",
                choices=("printed", "pseudocode"),
            ),
        ),
        reading="the printed losses come out if the costliest group goes first, all means stay as they were before the "
        "pass, and a group is dissolved if the sum of squared distances to the means falls: 116 of 126 to the last "
        "digit. Figure 2 to the letter, which is `reading='pseudocode'`, moves the means with every record and "
        "compares squared errors: it gives 1 of the 126 printed losses, and loses less than the default in 118",
    ),
    Refinement(
        "decompose-shrink",
        "groups are decomposed and large ones shrunk, in turn, until nothing is gained",
        f"{KHOMNOTAI}, figures 1 to 4",
        "refine:decompose_shrink",
        reading="decomposing is read as by `tfrp2`; groups are shrunk in the order in which decomposing left them, "
        "which the paper leaves open",
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
