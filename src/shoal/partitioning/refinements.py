"""The entries of the registry: every refinement of Shoal."""

from __future__ import annotations

from shoal.partitioning.catalogue import KHOMNOTAI, MAX_STEPS, OWN, THAETER
from shoal.partitioning.definitions import MethodOption, Refinement

__all__ = ["REFINEMENTS"]

REFINEMENTS: tuple[Refinement, ...] = (
    Refinement(
        "tfrp2",
        "gives whole groups to the nearest means where that pays, in passes until nothing is gained",
        f"{KHOMNOTAI}, figure 2; {THAETER}, 8.2",
        "refine:tfrp2",
        (
            MethodOption(
                "passes",
                "all",
                "most passes; 1 as in the printed figures, 'all' as long as the squared error falls",
                choices=("all",),
                least=1,
                whole=True,
            ),
            MethodOption(
                "reading",
                "printed",
                "how to read figure 2: 'printed' as the printed losses demand, 'pseudocode' to the letter",
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
        "decomposes groups and shrinks large ones, in turn, until nothing is gained",
        f"{KHOMNOTAI}, figures 1 to 4",
        "refine:decompose_shrink",
        reading="decomposing is read as by `tfrp2`; groups are shrunk in the order in which decomposing left them, "
        "which the paper leaves open",
    ),
    Refinement(
        "ona-rounds",
        "the rounds of ONA*: dissolves groups and reassigns records until nothing is gained",
        f"{THAETER}, algorithms 15 to 17",
        "refine:ona_rounds",
    ),
    Refinement(
        "anytime",
        "the search of the method of that name, starting from the given partition",
        OWN,
        "anytime:refine_anytime",
        (MAX_STEPS,),
        parallel=True,
        random=True,
        timed=True,
    ),
)
