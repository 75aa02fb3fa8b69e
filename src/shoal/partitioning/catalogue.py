"""The entries of the registry: every method of Shoal.

A new method takes a function, an oracle in `tests/naive.py` and one entry in `METHODS`. The estimator, the reference
pages, the invariants and the benchmarks follow from that entry.
"""

from __future__ import annotations

from shoal.partitioning.definitions import Method, MethodOption

__all__ = ["KHOMNOTAI", "MAX_STEPS", "METHODS", "OWN", "THAETER"]

THAETER = "Thaeter (2021), k-anonymous microaggregation, dissertation"
DOMINGO = "Domingo-Ferrer, Martínez-Ballesté, Mateo-Sanz, Sebé (2006), VLDB Journal 15"
KHOMNOTAI = "Khomnotai, Lin, Peng, Santra (2018), Symmetry 10"
RODRIGUEZ = "Rodríguez-Hoyos et al. (2020), Engineering Applications of Artificial Intelligence 90"
SCALABLE = "Thaeter, Reischuk (2021), SECRYPT"
SORIA = "Soria-Comas, Domingo-Ferrer, Sánchez, Martínez (2014), VLDB Journal 23"
LEFEVRE = "LeFevre, DeWitt, Ramakrishnan (2006), ICDE"
SEBE = "Domingo-Ferrer, Sebé, Solanas (2008), Computers and Mathematics with Applications 55"
OWN = "own work; see the page on how the search works"
OWN_BLOCKS = "the cuts and rounds are our own; see the page on tables larger than memory"

NEAR_LINEAR = "near-linear time where the index prunes, O(n^2 d{}) at worst; O(n d) memory"

_CLOSEST = MethodOption(
    "closest",
    "mean",
    "what makes a group the closest to a record: its mean, its nearest record, or the least increase of error",
    choices=("mean", "record", "cost"),
)
_WHOLE = MethodOption(
    "whole",
    "2k",
    "the largest part that is not cut any further: '2k' as in the printed figures, '2k-1' for a lower loss",
    choices=("2k", "2k-1"),
)


def _gamma(default: float) -> MethodOption:
    return MethodOption(
        "gamma",
        default,
        "gain factor of the extension test; 'best' tries 0, 0.1 .. 2 and keeps the lowest loss",
        choices=("best",),
        least=0.0,
    )


_N_INIT = MethodOption("n_init", 10, "number of random starts, of which the best is kept", least=1, whole=True)
MAX_STEPS = MethodOption(
    "max_steps",
    "none",
    "most steps, over all chains; makes the result reproducible",
    choices=("none",),
    least=0,
    whole=True,
)
_START = MethodOption(
    "start",
    "auto",
    'method of the first partition; "best": `mdav+` or `mondrian-strict`, whichever loses less',
    choices=("auto", "best", "mdav", "mdav+", "mondrian-strict"),
)
_ROUNDS = MethodOption(
    "rounds",
    "auto",
    "rounds of ONA before the search, which mend groups that lie scattered",
    choices=("auto",),
    least=0,
    most=30,
    whole=True,
)
_RHO = MethodOption("rho", 0.5, "parts of at most n^rho records are left to ONA*", least=0.0, most=1.0)

_HALVES = (
    "the pseudo-code puts every record up to the median value into the lower half; here, as the printed figures "
    "demand, records are ranked, the two halves differ by one record at most, and the lower half is rounded down. "
    "A part of exactly 2k records stays whole, where the pseudo-code cuts it"
)
_VISITS = (
    "the text does not fix the order in which groups are visited; here it is the order of their creation, new groups "
    "last, which is within 0.5 % of all printed figures of ONA*"
)
_PATHS = (
    "the paper does not say with which group the path begins; here it is the first one made. On EIA this choice moves "
    "the loss by 10 % and more"
)

METHODS: tuple[Method, ...] = (
    Method(
        "md",
        "the two most distant records seed two groups",
        f"{THAETER}, algorithm 1; {DOMINGO}, 4.2.2",
        "near O(n^1.5) time in few dimensions, O(n^3 d / k) at worst; O(n d) memory",
        "maximum_distance:md",
    ),
    Method(
        "mdav",
        "seeds furthest from the mean of what remains, then furthest from that seed",
        f"{THAETER}, algorithm 2; {RODRIGUEZ}, algorithm 1",
        NEAR_LINEAR.format(" / k"),
        "maximum_distance:mdav",
        reading="papers end MDAV in different ways; this is the end of the dissertation: the main loop stops "
        "below 3k records, 2k or more of them make two groups, fewer make one",
    ),
    Method(
        "mdav-nc",
        "MDAV whose groups take in the record nearest to their moving mean",
        f"{KHOMNOTAI}, 3.1 and 5.2",
        NEAR_LINEAR.format(""),
        "maximum_distance:mdav_nc",
    ),
    Method(
        "mdav+",
        "one seed per round, in order of falling distance from the mean of all records",
        f"{THAETER}, algorithm 3",
        NEAR_LINEAR.format(" / k"),
        "maximum_distance:mdav_plus",
    ),
    Method(
        "v-mdav",
        "MDAV+ whose groups may grow to 2k - 1 records",
        f"{THAETER}, algorithm 4",
        NEAR_LINEAR.format(" k"),
        "maximum_distance:v_mdav",
        (_gamma(0.2),),
        parallel=True,
    ),
    Method(
        "mdav*",
        "weighs extending the closest group against making a new one",
        f"{THAETER}, algorithm 5; {SCALABLE}, algorithm 1",
        NEAR_LINEAR.format(""),
        "maximum_distance:mdav_star",
        (_CLOSEST,),
        parallel=True,
        reading="the closest group is that of the nearest mean, as in the dissertation; Thaeter and Reischuk "
        "(2021) take the least increase of error, which is `closest='cost'`",
    ),
    Method(
        "mdav*-gamma",
        "MDAV* with a gain factor and a second extension test",
        f"{THAETER}, algorithm 6",
        NEAR_LINEAR.format(""),
        "maximum_distance:mdav_star_gamma",
        (_gamma(0.8), _CLOSEST),
        parallel=True,
    ),
    Method(
        "cbfs",
        "one seed per round, furthest from the mean of what remains; groups follow their moving mean",
        f"{KHOMNOTAI}, 3.1 and 5.2",
        NEAR_LINEAR.format(""),
        "fixed_size:cbfs",
    ),
    Method(
        "cbfs-nc",
        "another name for cbfs",
        f"{KHOMNOTAI}, 3.1 and 5.2",
        NEAR_LINEAR.format(""),
        "fixed_size:cbfs",
    ),
    Method(
        "cbfs-nn",
        "CBFS whose groups are a seed and its nearest neighbours",
        f"{KHOMNOTAI}, 5.2; {DOMINGO}, 4.2.3",
        NEAR_LINEAR.format(" / k"),
        "fixed_size:cbfs_nn",
        reading="the CBFS of Domingo-Ferrer et al. (2006) is taken for this method: its printed figures lie "
        "within 1.1 % of ours, while growth towards the mean is far off",
    ),
    Method(
        "tfrp",
        "seeds furthest from two fixed reference points: all maxima and all minima",
        f"{KHOMNOTAI}, 3.1; {THAETER}, 8.2",
        NEAR_LINEAR.format(" / k"),
        "fixed_size:tfrp",
    ),
    Method(
        "tfrp-nc",
        "TFRP whose groups take in the record nearest to their moving mean",
        f"{KHOMNOTAI}, 5.2",
        NEAR_LINEAR.format(""),
        "fixed_size:tfrp_nc",
    ),
    Method(
        "gsms",
        "always the candidate group that leaves the least squared error",
        f"{KHOMNOTAI}, 3.1 and 5.2",
        "O(n^2) time and more, O(n (d + k)) memory",
        "density:gsms",
        parallel=True,
        reading="the last records, if fewer than k, go one by one to the group of the nearest mean, which "
        "reproduces the printed figures",
    ),
    Method(
        "dba",
        "densest candidate group first, then dissolve in reverse order and split what grew large",
        f"{THAETER}, algorithm 21",
        "O(n^2) time and more, O(n (d + k)) memory",
        "density:dba",
        parallel=True,
    ),
    Method(
        "sbm",
        "groups around the smallest and the largest record in the order of rank sums",
        f"{THAETER}, 8.4",
        NEAR_LINEAR.format(" / k"),
        "fixed_size:sbm",
    ),
    Method(
        "mst",
        "the minimum spanning tree, cut into parts of at least k; large parts split by md",
        f"{THAETER}, 8.1; {DOMINGO}, section 5",
        NEAR_LINEAR.format(""),
        "spanning_tree:mst",
        reading="the order of equal edges and the rule of the final splits are not stated; the printed figures "
        "lie within 0.6 % of ours",
    ),
    Method(
        "npn-mhm",
        "the best cut of the path that always continues to the nearest record",
        f"{DOMINGO}, 4.1 and 4.2.1",
        NEAR_LINEAR.format(""),
        "paths:npn_mhm",
        (
            MethodOption(
                "start",
                "pair",
                "where the path starts: at the most distant pair, or at the record furthest from the mean",
                choices=("pair", "mean"),
            ),
        ),
    ),
    Method(
        "md-mhm",
        "the best cut of a path through the groups of md",
        f"{DOMINGO}, 4.1 and 4.2.2",
        "near O(n^1.5) time in few dimensions, O(n^3 d / k) at worst; O(n d) memory",
        "paths:md_mhm",
        reading=_PATHS,
    ),
    Method(
        "mdav-mhm",
        "the best cut of a path through the groups of mdav",
        f"{DOMINGO}, 4.1 and 4.2.3",
        NEAR_LINEAR.format(" / k"),
        "paths:mdav_mhm",
        reading=_PATHS,
    ),
    Method(
        "cbfs-mhm",
        "the best cut of a path through the groups of cbfs-nn",
        f"{DOMINGO}, 4.1 and 4.2.3",
        NEAR_LINEAR.format(" / k"),
        "paths:cbfs_mhm",
        reading=_PATHS,
    ),
    Method(
        "univariate",
        "the optimum for a single coordinate",
        f"{DOMINGO}, 4.1 (Hansen, Mukherjee 2003); {THAETER}, 4.3",
        "O(n log n + n k) time, from k = 100 on mostly O(n log n + n log k); O(n) memory",
        "paths:univariate",
        univariate=True,
        optimal=True,
    ),
    Method(
        "insensitive",
        "groups of k in a fixed order, which differ in at most one record each if one record is replaced",
        f"{THAETER}, definition 3.19; {SORIA}",
        "O(n d + n log n) time, O(n d) memory",
        "insensitive:insensitive",
        (
            MethodOption(
                "order",
                "hilbert",
                "along a Hilbert curve, by the coordinates one after the other, or by the distance from a far corner",
                choices=("hilbert", "lexicographic", "distance"),
            ),
        ),
    ),
    Method(
        "mondrian",
        "median cuts along the widest coordinate, also between equal records: a local recoder",
        f"{THAETER}, algorithm 18; {SCALABLE}, algorithm 4",
        "O(n d log n) time, O(n d) memory",
        "mondrian:mondrian",
        (_WHOLE,),
        parallel=True,
        reading=_HALVES,
    ),
    Method(
        "mondrian-strict",
        "cuts between values of the widest coordinate, near its median, never between equal records: a global recoder",
        f"{LEFEVRE}; {THAETER}, definition 3.1",
        "O(n d log n) time, O(n d) memory",
        "mondrian:mondrian_strict",
        parallel=True,
    ),
    Method(
        "mondrian-v",
        "median cuts along the coordinate of largest variance",
        f"{THAETER}, 7.1; {SCALABLE}, section 4",
        "O(n d log n) time, O(n d) memory",
        "mondrian:mondrian_v",
        (_WHOLE,),
        parallel=True,
        reading=_HALVES,
    ),
    Method(
        "mondrian-v2d",
        "median cuts along the coordinate or diagonal of two coordinates with the largest variance",
        f"{THAETER}, algorithm 19; {SCALABLE}, algorithm 5",
        "O(n d^2 log n) time, O(n d) memory",
        "mondrian:mondrian_v2d",
        (_WHOLE, MethodOption("weight", 1.0, "how much the variance along a diagonal counts", least=0.0)),
        parallel=True,
        reading=_HALVES,
    ),
    Method(
        "lmas",
        "Lloyd from k-means++ starts, small groups merged, large ones split",
        f"{THAETER}, algorithms 9 and 11 to 13",
        "O(n^2 d i / k) time for i rounds of Lloyd, O(n d) memory, times n_init",
        "random_starts:lmas",
        (_N_INIT,),
        parallel=True,
        random=True,
    ),
    Method(
        "ona",
        "random partitions improved by reassigning records and dissolving groups",
        f"{THAETER}, algorithm 14; {SCALABLE}, algorithm 2",
        "O(n^2 d) time per round, O(n d) memory, times n_init",
        "random_starts:ona",
        (_N_INIT,),
        parallel=True,
        random=True,
    ),
    Method(
        "ona*",
        "MDAV*, then rounds of dissolving groups and reassigning records",
        f"{THAETER}, algorithms 15 to 17; {SCALABLE}, algorithm 3",
        "near-linear time per round where the index prunes (at most 30), O(n^2 d) at worst; O(n d) memory",
        "lloyd:ona_star",
        (_CLOSEST,),
        parallel=True,
        reading=_VISITS,
    ),
    Method(
        "ona*-gamma",
        "ONA* from MDAV*-gamma",
        f"{THAETER}, 6.4",
        "near-linear time per round where the index prunes (at most 30), O(n^2 d) at worst; O(n d) memory",
        "lloyd:ona_star_gamma",
        (_gamma(1.0),),
        parallel=True,
        reading=_VISITS,
    ),
    Method(
        "mona",
        "median cuts down to parts of n^rho records, then ONA* in each",
        f"{THAETER}, algorithm 20; {SCALABLE}, algorithm 6",
        "O(n^(1 + rho) d) time and more, O(n d) memory",
        "lloyd:mona",
        (_RHO,),
        parallel=True,
        reading=_HALVES,
    ),
    Method(
        "mona-2d",
        "MONA with cuts along the diagonals of two coordinates as well",
        f"{THAETER}, 7.2; {SCALABLE}, section 5",
        "O(n^(1 + rho) d + n d^2 log n) time and more, O(n d) memory",
        "lloyd:mona_2d",
        (_RHO,),
        parallel=True,
        reading=_HALVES,
    ),
    Method(
        "ona-blocks",
        "ONA* in blocks of near records, refined in blocks that are cut elsewhere: large tables on several threads",
        f"{THAETER}, algorithms 15 to 17, for each block; {OWN_BLOCKS}",
        "O(n) blocks of bounded time, on all threads, with O(n d log n) for the cuts; O(n d) memory",
        "blocks:ona_blocks",
        (
            MethodOption(
                "block",
                50_000,
                "about how many records a block has; a table of one and a half blocks is not cut",
                least=1,
                whole=True,
            ),
            MethodOption("rounds", 3, "rounds in shifted blocks", least=0, most=30, whole=True),
        ),
        parallel=True,
    ),
    Method(
        "pcl",
        "Lloyd with a least group size: exact assignment by minimum-cost flow, groups may come and go",
        f"{THAETER}, algorithm 10 (Rebollo-Monedero et al. 2013)",
        "the start, then at most 200 rounds, O(n^2 d / k) time each at worst; O(n d) memory",
        "constrained_lloyd:pcl",
        (MethodOption("start", "mdav*", "method of the first partition", choices=("mdav*", "mdav", "mondrian-v")),),
        reading="the paper seeks prices that make all n / k groups equally large, which fails for small k; here "
        "sizes have a lower bound only and assignments are exact flows",
    ),
    Method(
        "mu-approx",
        "forest, decompose, MDAV: at most 2(2k-1)max(2k-1,3k-5)^2 times the least squared error",
        f"{SEBE}; {THAETER}, algorithms 22 and 23",
        "O(n^2 d) time at worst, O(n (d + k)) memory",
        "approximation:mu_approx",
    ),
    Method(
        "anytime",
        "local search with exact costs, shaken up again and again: the lowest loss within the time given",
        OWN,
        "runs until the time limit; the time per step does not depend on n; O(n (d + k)) memory",
        "anytime:anytime",
        (MAX_STEPS, _START, _ROUNDS),
        parallel=True,
        random=True,
        timed=True,
    ),
    Method(
        "exact",
        "the proven optimum: of 30 records always, of thousands for k = 2 and hundreds for k = 3 mostly, or an error",
        "set partitioning by column generation, exact pricing, cuts and search",
        "exponential time at worst: seconds for 30 records, at most ten minutes for more",
        "exact:exact",
        timed=True,
        optimal=True,
    ),
)
