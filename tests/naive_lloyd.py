"""Plain oracles of the methods that improve a partition round by round; rules of arithmetic as in `naive`.

A partition under work is a list of groups (lists of rows). The position in the list decides in which order
groups are visited and which of several equally near groups is taken (the first).
"""

import math

import numpy as np

from naive import (
    added_cost,
    best_gamma,
    closest_group,
    cost,
    cut_at_median,
    furthest,
    grow_nc,
    grow_nn,
    mdav_star_groups,
    mean,
    numbered,
    place_leftovers,
    sqdist,
    sqdist1,
    total_cost,
    without,
)
from shoal.partitioning.cut_trees import grown, rotation_of, shares_of

# --- steps shared by the methods ----------------------------------------------------------------------------


def groups_of(labels):
    """The groups in label order, rows rising."""
    return [[int(i) for i in np.flatnonzero(labels == label)] for label in range(max(labels) + 1)]


def rounds_until_settled(X, groups, one_round, most=math.inf, in_label_order=True):
    """Repeat one_round(groups) while it lowers the total cost; at most `most` rounds.

    Where it does not, it is undone and tried again from the groups in label order (by their first row). So the
    end is never worse than the start, and a start that is such an end is kept.
    """
    count = 0
    while count < most:
        count += 1
        new = one_round([sorted(g) for g in groups])
        if total_cost(X, new) < total_cost(X, groups):
            groups, in_label_order = new, False
        elif in_label_order:
            break
        else:
            groups, in_label_order = sorted(groups, key=min), True
    return groups


def best_move(X, groups, i):
    """(gain, row, target) of the move out of group i that lowers the cost most; each row to the nearest mean."""
    m, c = len(groups[i]), mean(X[groups[i]])
    others = [j for j, g in enumerate(groups) if g and j != i]
    means = np.array([mean(X[groups[j]]) for j in others])
    moves = []
    for row in sorted(groups[i]):
        j = others[int(np.argmin(sqdist(means, X[row])))]
        removed = (m / (m - 1)) * sqdist1(X[row], c)
        moves.append((removed - added_cost(X[row], mean(X[groups[j]]), len(groups[j])), row, j))
    return max(moves, key=lambda move: move[0])


def mdav_plus_split(X, rows, k):
    """Groups of MDAV+ among the rows, in order of creation."""
    c, groups = mean(X[rows]), []
    while len(rows) >= k:
        groups.append(grow_nn(X, rows, furthest(X, rows, c), k))
        rows = without(rows, groups[-1])
    place_leftovers(X, groups, rows)
    return groups


def mdav_star_split(X, rows, k):
    """Groups of MDAV* among the rows, in order of creation."""
    pieces = mdav_star_groups(X[rows], k, 1.0, "mean", second_test=False)
    return [[rows[i] for i in piece] for piece in pieces]


def split_in_place(X, groups, i, k, split):
    """If group i has 2k rows or more: its first piece takes its place, the others come last."""
    if len(groups[i]) >= 2 * k:
        groups[i], *others = split(X, sorted(groups[i]), k)
        groups += others


# --- Decompose and Shrink (K figures 1-4) -------------------------------------------------------------------


def cbfs_split(X, rows, k):
    """Groups of CBFS among the rows, in order of creation."""
    groups = []
    while len(rows) >= k:
        groups.append(grow_nc(X, rows, furthest(X, rows, mean(X[rows])), k))
        rows = without(rows, groups[-1])
    place_leftovers(X, groups, rows)
    return groups


def split_large_groups(X, k, groups):
    """Groups of 2k rows or more are taken out; their pieces come last."""
    pieces = [piece for g in groups if len(g) >= 2 * k for piece in cbfs_split(X, sorted(g), k)]
    return [g for g in groups if len(g) < 2 * k] + pieces


def decompose(X, k, groups):
    """By falling cost: a group goes to the nearest means if its squared distances fall; means stay fixed."""
    groups = [list(g) for g in sorted(groups, key=lambda g: -cost(X[g]))]
    means = np.array([mean(X[g]) for g in groups])
    for i, group in enumerate(groups):
        others = [j for j, g in enumerate(groups) if g and j != i]
        if not others:
            break
        D = np.array([sqdist(means[others], X[row]) for row in group])
        if math.fsum(D.min(axis=1)) < math.fsum(sqdist(X[group], means[i])):
            groups[i] = []
            for row, to in zip(group, D.argmin(axis=1), strict=True):
                groups[others[to]].append(row)
    return split_large_groups(X, k, [g for g in groups if g])


def decompose_in_turn(X, k, groups):
    """K figure 2 to the letter: rows join the nearest mean one by one, means move, undone unless the cost falls."""
    groups = [list(g) for g in groups]
    for i, group in enumerate(groups):
        others = [j for j, g in enumerate(groups) if g and j != i]
        if not others:
            break
        tried = {j: list(groups[j]) for j in others}
        for row in group:
            D = sqdist(np.array([mean(X[sorted(tried[j])]) for j in others]), X[row])
            tried[others[int(D.argmin())]].append(row)
        grown = [j for j in others if len(tried[j]) > len(groups[j])]
        kept = math.fsum([cost(X[group]), *(cost(X[groups[j]]) for j in grown)])
        if math.fsum(cost(X[sorted(tried[j])]) for j in grown) < kept:
            groups[i] = []
            for j in grown:
                groups[j] = sorted(tried[j])
    return split_large_groups(X, k, [g for g in groups if g])


def shrink(X, k, groups):
    """In the order Decompose left: a group of more than k rows gives away rows, the best one first."""
    groups = [list(g) for g in groups]
    for i, group in enumerate(groups):
        while len(group) > k and len(groups) > 1:
            gain, row, to = best_move(X, groups, i)
            if not gain > 0:
                break
            group.remove(row)
            groups[to].append(row)
    return split_large_groups(X, k, groups)


def tfrp2(X, k, labels, passes="all", one_pass=decompose):
    """Decompose while the cost falls, at most `passes` times."""
    most = math.inf if passes == "all" else passes
    return numbered(rounds_until_settled(X, groups_of(labels), lambda gs: one_pass(X, k, gs), most), len(X))


def decompose_shrink(X, k, labels):
    """Decompose, then Shrink, while the cost falls."""

    def one_round(groups):
        return shrink(X, k, decompose(X, k, groups))

    return numbered(rounds_until_settled(X, groups_of(labels), one_round), len(X))


# --- ONA* (T algorithms 15-17) ------------------------------------------------------------------------------


def dissolve(X, k, groups, i):
    """Give the rows of group i to the nearest means (before any moves) if that costs less; split 2k or more."""
    others = [j for j, g in enumerate(groups) if g and j != i]
    if not others:
        return
    target = [others[closest_group(X, [groups[j] for j in others], X[row])[1]] for row in sorted(groups[i])]
    new = {j: groups[j] + [row for row, to in zip(sorted(groups[i]), target, strict=True) if to == j] for j in target}
    kept = math.fsum([cost(X[groups[i]]), *(cost(X[groups[j]]) for j in new)])
    if kept > math.fsum(cost(X[g]) for g in new.values()):
        groups[i] = []
        for j in sorted(new):
            groups[j] = new[j]
            split_in_place(X, groups, j, k, mdav_star_split)


def reassign(X, k, groups, i):
    """While group i has more than k rows: the move out of it that lowers the cost most; split 2k or more."""
    while len(groups[i]) > k and len(groups) > 1:
        gain, row, to = best_move(X, groups, i)
        if not gain > 0:
            break
        groups[i].remove(row)
        groups[to].append(row)
        split_in_place(X, groups, to, k, mdav_star_split)


def ona_star_round(X, k, groups):
    """Dissolve the groups of k (not those made meanwhile), then reassign from all larger ones (those too)."""
    for i in range(len(groups)):
        if len(groups[i]) == k:
            dissolve(X, k, groups, i)
    groups = [g for g in groups if g]
    i = 0
    while i < len(groups):
        reassign(X, k, groups, i)
        i += 1
    return groups


def ona_star_from(X, k, groups, in_label_order):
    """The rounds of ONA*, at most 30; groups of 2k or more are split by MDAV+ before."""
    groups = [list(g) for g in groups]
    for i in range(len(groups)):
        split_in_place(X, groups, i, k, mdav_plus_split)
    return rounds_until_settled(X, groups, lambda gs: ona_star_round(X, k, gs), 30, in_label_order)


def ona_rounds(X, k, labels):
    """The rounds of ONA* from any partition."""
    return numbered(ona_star_from(X, k, groups_of(labels), in_label_order=True), len(X))


def ona_star_groups(X, k, closest="mean"):
    groups = mdav_star_groups(X, k, 1.0, closest, second_test=False)
    return ona_star_from(X, k, groups, in_label_order=False)


def ona_star(X, k, closest="mean"):
    """From MDAV*, its groups in order of creation."""
    return numbered(ona_star_groups(X, k, closest), len(X))


def ona_star_gamma(X, k, gamma=1.0):
    """From MDAV*-gamma; "best" is the lowest cost at the end, the first of equals."""

    def run(g):
        groups = mdav_star_groups(X, k, g, "mean", second_test=True)
        return ona_star_from(X, k, groups, in_label_order=False)

    return numbered(best_gamma(run, X) if gamma == "best" else run(gamma), len(X))


# --- Mondrian, then ONA* (T algorithm 20) -------------------------------------------------------------------


def mona(X, k, rho=0.5, rule="v", weight=1.0):
    """Parts of more than n^rho rows are halved, smaller ones go to ONA*; parts of 2k rows or fewer stay whole."""
    n = len(X)
    if rho == 1:
        return ona_star(X, k)
    parts, groups = [np.arange(n)], []
    while parts:
        part = parts.pop()
        if len(part) <= 2 * k:
            groups.append(part)
        elif len(part) <= n**rho:
            rows = np.sort(part)
            groups += [rows[g] for g in ona_star_groups(X[rows], k)]
        else:
            lower, upper = cut_at_median(X[part], rule, weight)
            parts += [part[lower], part[upper]]
    return numbered(groups, n)


def mona_2d(X, k, rho=0.5, weight=1.0):
    return mona(X, k, rho, "v2d", weight)


# --- ONA* in blocks, and in shifted ones; the trees that cut them have tests of their own ---------------------


def near_others(M, origins, m=6):
    """Positions of the means one of whose m nearest others is of another origin."""
    near = []
    for i in range(len(M)):
        order = sorted((j for j in range(len(M)) if j != i), key=lambda j: sqdist1(M[i], M[j]))
        if any(origins[j] != origins[i] for j in order[:m]):
            near.append(i)
    return near


def formed_anew(X, k, groups, origins):
    """Groups near to those of other blocks are replaced by ONA* of their records, if that costs less."""
    near = near_others([mean(X[g]) for g in groups], [origins[min(g)] for g in groups])
    rows = np.sort(np.concatenate([groups[i] for i in near])) if near else []
    if len(near) < 2:
        return groups
    again = [rows[g] for g in ona_star_groups(X[rows], k)]
    if total_cost(X, again) >= (1 - 1e-9) * total_cost(X, [groups[i] for i in near]):
        return groups
    return [g for i, g in enumerate(groups) if i not in near] + again


def ona_blocks(X, k, block=50_000, rounds=3):
    """ONA* in each block, then rounds of ONA* in blocks of whole groups that are cut elsewhere."""
    n, block = len(X), max(block, 2 * k)
    if n <= 1.5 * block:
        return ona_star(X, k)
    origins = grown(X, np.ones(n), n, block, least=k).route(X)
    parts = [np.flatnonzero(origins == leaf) for leaf in np.unique(origins)]
    groups = [rows[g] for rows in parts for g in ona_star_groups(X[rows], k)]
    for turn in range(1, rounds + 1):
        labels = numbered(groups, n)
        groups = groups_of(labels)
        M = np.array([mean(X[g]) for g in groups])
        M = M @ rotation_of(X.shape[1], turn) if X.shape[1] > 1 else M
        blocks = grown(M, np.array([float(len(g)) for g in groups]), n, block, shares_of(turn)).route(M)
        moved = []
        for leaf in np.unique(blocks):
            own = [groups[i] for i in np.flatnonzero(blocks == leaf)]
            own = formed_anew(X, k, own, origins) if turn == 1 else own
            rows = np.sort(np.concatenate(own))
            labels = numbered([np.searchsorted(rows, g) for g in own], len(rows))
            moved += [rows[g] for g in groups_of(ona_rounds(X[rows], k, labels))]
        groups = moved
    return numbered(groups, n)


# --- random starts ------------------------------------------------------------------------------------------


def ona_groups(X, rows, k, rng, limits=(30, 10, 0)):
    """ONA among the rows: a random partition, then at most limits[0] rounds; limits[1:] is for its splits."""
    drawn = [rows[i] for i in rng.permutation(len(rows))]
    m = len(rows) // k
    groups = [drawn[i * k : (i + 1) * k] for i in range(m)]
    for i, row in enumerate(drawn[m * k :]):
        groups[i % m].append(row)
    for _ in range(limits[0]):
        before = sorted(sorted(g) for g in groups)
        for row in rows:
            ona_step(X, groups, row, k, rng, limits[1:])
        if sorted(sorted(g) for g in groups) == before:
            break
    return groups


def ona_step(X, groups, row, k, rng, limits):
    """Move the row to the nearest mean, or if its group has only k rows see whether to dissolve it; then split."""
    i = next(j for j, g in enumerate(groups) if row in g)
    if len(groups[i]) > k:
        groups[i].remove(row)
        groups[closest_group(X, groups, X[row])[1]].append(row)
    elif len(groups) > 1:
        others = groups[:i] + groups[i + 1 :]
        members = sorted(groups[i])
        target = [closest_group(X, others, X[s])[1] for s in members]
        new = {t: others[t] + [s for s, to in zip(members, target, strict=True) if to == t] for t in target}
        kept = math.fsum([cost(X[groups[i]]), *(cost(X[others[t]]) for t in new)])
        if kept > math.fsum(cost(X[g]) for g in new.values()):
            groups[:] = [new.get(t, g) for t, g in enumerate(others)]
    for j in range(len(groups)):
        if len(groups[j]) >= 2 * k and limits:
            groups[j], *pieces = ona_groups(X, sorted(groups[j]), k, rng, limits)
            groups += pieces


def ona(X, k, rng):
    """One run from a random partition.

    Draws: rng.permutation(m) at the start of every (also nested) run on m rows, nothing else.
    """
    return numbered(ona_groups(X, list(range(len(X))), k, rng), len(X))


def kmeans_plus_plus(X, m, rng):
    """Rows of m centres (fewer if not so many records differ): rng.integers(n), then one rng.random() each."""
    centres = [int(rng.integers(len(X)))]
    near = sqdist(X, X[centres[0]])
    while len(centres) < m and np.any(near > 0):
        sums = np.add.accumulate(near)
        centres.append(int(np.searchsorted(sums, rng.random() * sums[-1], side="right")))
        near = np.minimum(near, sqdist(X, X[centres[-1]]))
    return centres


def lloyd(X, centres):
    """Groups of the nearest centres; empty ones are dropped; until nothing changes, at most 50 rounds."""
    before = None
    for _ in range(50):
        nearest = np.argmin([sqdist(X, c) for c in centres], axis=0)
        groups = [[int(i) for i in np.flatnonzero(nearest == j)] for j in range(len(centres))]
        groups = [g for g in groups if g]
        if groups == before:
            break
        before, centres = groups, [mean(X[g]) for g in groups]
    return groups


def merge(X, k, groups):
    """Passes over the groups: one of fewer than k rows takes in the group of the nearest mean."""
    while min(len(g) for g in groups) < k:
        for i in range(len(groups)):
            others = [j for j, g in enumerate(groups) if g and j != i]
            if 0 < len(groups[i]) < k:
                j = others[closest_group(X, [groups[j] for j in others], mean(X[groups[i]]))[1]]
                groups[i], groups[j] = groups[i] + groups[j], []
        groups = [g for g in groups if g]
    return groups


def lmas(X, k, rng):
    """Lloyd from k-means++ with n // k centres, then merge, then split 2k or more by MDAV+."""
    groups = merge(X, k, lloyd(X, X[kmeans_plus_plus(X, len(X) // k, rng)]))
    for i in range(len(groups)):
        split_in_place(X, groups, i, k, mdav_plus_split)
    return numbered(groups, len(X))


ORACLES = {
    "ona*": ona_star,
    "ona*-gamma": ona_star_gamma,
    "mona": mona,
    "mona-2d": mona_2d,
    "ona-blocks": ona_blocks,
}
RANDOM_ORACLES = {"ona": ona, "lmas": lmas}
REFINEMENTS = {"tfrp2": tfrp2, "decompose-shrink": decompose_shrink, "ona-rounds": ona_rounds}
