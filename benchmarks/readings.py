"""Why a printed figure differs from ours, as far as it could be found out.

Every cell that does not agree must be covered by an entry here; the test of the golden figures fails otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.published import STARTS, Cell


@dataclass(frozen=True)
class Reading:
    """An explanation and the cells that it covers (empty: all)."""

    text: str
    methods: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    ks: tuple[int, ...] = ()

    def covers(self, cell: Cell) -> bool:
        """Whether this explains `cell`."""
        return (
            (not self.methods or cell.method in self.methods)
            and (not self.datasets or cell.dataset in self.datasets)
            and (not self.sources or cell.source.startswith(self.sources))
            and (not self.ks or cell.k in self.ks)
        )


DOMINGO = "domingo-ferrer-2006"
KHOMNOTAI = "khomnotai-2018"
SCALABLE = "thaeter-reischuk-2021"

READINGS: tuple[Reading, ...] = (
    Reading(
        "Random tables: the figure is a mean over 25 draws of ours, not over those of the paper. The draws of "
        "Domingo-Ferrer et al. (2006) must have held less noise than its text says: with the recipe as "
        "printed, all their SimC losses come out higher, and so do those that Thaeter (2021) prints for the "
        "same recipe, which ours agree with.",
        datasets=("SimU", "SimC"),
    ),
    Reading(
        "Adult has 9953 distinct records among 48842, so the figure moves in the third digit with the order of "
        "equal rows; the order of the paper is not known.",
        datasets=("Adult",),
    ),
    Reading(
        "Best of random starts: ours are other draws, and the paper does not say how long Lloyd and the nested "
        "runs go on.",
        methods=("LMaS_10", "LMaS_100", "ONA_10", "ONA_100"),
    ),
    Reading(
        "The rounds depend on the order in which groups are visited, which the text does not fix entirely; of the "
        "orders tried, ours agrees with most cells, and all lie within 0.5 %.",
        methods=("ONA*",),
    ),
    Reading(
        "The rounds depend on the order in which groups are visited, and the best of 21 gain factors takes the lowest "
        "of them: a start that ends elsewhere shows here first.",
        methods=("ONA*_gamma",),
    ),
    Reading(
        "The first cut is that of print (see the top of the page). What is left, at most 0.13 %, is probably the "
        "order in which the rounds of ONA* visit groups, which the text does not fix entirely.",
        methods=tuple(f"MONA_{i / 10:g}" for i in range(1, 11)) + tuple(f"MONA_2D_{i / 10:g}" for i in range(1, 10)),
        datasets=("Credit Card",),
    ),
    Reading(
        "The order in which groups are decomposed and shrunk is not stated; ours (by falling squared error, then as "
        "Decompose left them) gives most cells to the digit and all within 1.1 %. On Tarragona the printed figures fit "
        "better if groups that took leftover records are ordered by their error without them, which is no "
        "function of the partition. MDAV-NN starts from another end of MDAV there (see MDAV-NN).",
        methods=tuple(f"{start}{suffix}" for start in STARTS for suffix in (2, 3)),
    ),
    Reading(
        "Domingo-Ferrer et al. (2006) print more digits than the order of the two seeds leaves fixed: we "
        "give the later row its group first, which reproduces all figures of MD in the dissertation.",
        methods=("MD",),
        sources=(DOMINGO,),
    ),
    Reading(
        "Not reproduced by any end of the loop, order of rows or tie rule tried; all later papers print our "
        "figure. The cause is unknown.",
        methods=("MDAV",),
        sources=(DOMINGO,),
    ),
    Reading(
        "Khomnotai et al. (2018) end MDAV as they end CBFS: groups of k to the last, fewer than k records go to the "
        "nearest means. That end gives the printed figure; ours is the end of the dissertation.",
        methods=("MDAV-NN",),
        datasets=("Tarragona",),
    ),
    Reading(
        "1080 records make 108 full groups and there are no ties, so no step is open; 8 row orders give the "
        "same 14.0066. Probably a misprint of 14.007.",
        methods=("CBFS-NN",),
        datasets=("Census",),
        ks=(10,),
    ),
    Reading(
        "The CBFS of Domingo-Ferrer et al. (2006) grows by nearest neighbours (growth towards the mean is far "
        "off), and its figures lie within 1.1 % of ours; what differs is not stated.",
        methods=("CBFS",),
    ),
    Reading(
        "Figures that Domingo-Ferrer et al. (2006) quote from Laszlo and Mukherjee (2005) to two decimals; within "
        "0.6 % of ours. The order of equal edges and the rule of the final splits are not stated.",
        methods=("M-d",),
    ),
    Reading(
        "Cutting the path is exact here, so only the path can differ. On EIA the loss moves by 10 % and more with "
        "the first group of the path (from its other end: md-mhm k = 10 3.651, mdav-mhm k = 10 3.793), "
        "and the text does not fix it. npn-mhm from the record furthest from the mean, as the text says, is "
        "further from print than from the most distant pair, which we use; print stays a little above "
        "our exact cut of that path.",
        methods=("NPN-MHM", "MD-MHM", "MDAV-MHM", "MDAV + MHM", "CBFS-MHM"),
    ),
    Reading(
        "Every reading of the description gives 40.7 to 41.1, while the eleven other cells agree; print is "
        "probably a slip in the table.",
        methods=("SBM (re-implemented)",),
        datasets=("Tarragona",),
        ks=(10,),
    ),
    Reading(
        "Made without the factor 1 / sqrt(2) of the diagonals: `weight=2` gives it. The default is the dissertation's.",
        methods=("MONDRIAN_V2D",),
        sources=(SCALABLE,),
    ),
)


def explanation(cell: Cell) -> str | None:
    """Return why `cell` may differ, or None if that is not known."""
    return next((reading.text for reading in READINGS if reading.covers(cell)), None)
