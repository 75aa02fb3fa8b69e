"""Plain oracles: every method written as simply as possible, to test the fast code against.

The fast code must return *equal* labels, also with ties and duplicate records, so the arithmetic is part of
the rules:

- squared distances are summed column by column, in column order (`sqdist`);
- every mean is a correctly rounded sum divided by the count, whatever the order of the records, and that of
  equal records is their value (`mean`);
- lists of rows are kept in rising order, so the first of several minima or maxima is the lowest row; of
  several groups equally near the one created first is taken.

An oracle takes the table X (n x d, float64), k <= n and its options, and returns labels; groups are numbered
by their first appearance in row order.
"""

import math
from itertools import combinations, pairwise

import numpy as np

GAMMAS = [i / 10 for i in range(21)]


# --- arithmetic ---------------------------------------------------------------------------------------------


def sqdist(P, q):
    """Squared Euclidean distance of every row of P to the point q."""
    acc = np.zeros(len(P))
    for j in range(P.shape[1]):
        t = P[:, j] - q[j]
        acc = acc + t * t
    return acc


def sqdist1(p, q):
    """Squared Euclidean distance of two points."""
    return float(sqdist(p[None, :], q)[0])


def mean(P):
    """Mean of the rows of P, from correctly rounded sums; of equal rows, their value."""
    if (P[0] == P).all():
        return P[0]
    return np.array([math.fsum(P[:, j]) / len(P) for j in range(P.shape[1])])


def cost(P):
    """Sum of the squared distances of the rows of P to their mean (SSE)."""
    return math.fsum(sqdist(P, mean(P)))


def added_cost(x, c, m):
    """What the cost of a group of m records with mean c grows by when x joins it."""
    return (m / (m + 1)) * sqdist1(x, c)


def total_cost(X, groups):
    """Sum of the costs of all groups."""
    return math.fsum(cost(X[g]) for g in groups)


# --- steps shared by the methods ----------------------------------------------------------------------------


def numbered(groups, n):
    """Labels from a list of lists of rows; groups are numbered by first appearance in row order."""
    labels = np.full(n, -1, dtype=np.int64)
    for label, group in enumerate(sorted(groups, key=min)):
        labels[group] = label
    return labels


def without(rows, gone):
    """The rows that are not in `gone`, order kept."""
    gone = set(gone)
    return [i for i in rows if i not in gone]


def furthest(X, rows, q):
    """The row furthest from the point q."""
    return rows[int(np.argmax(sqdist(X[rows], q)))]


def nearest(X, rows, q, m):
    """The m rows nearest to the point q, by (distance, row)."""
    order = np.argsort(sqdist(X[rows], q), kind="stable")
    return [rows[i] for i in order[:m]]


def grow_nn(X, rows, seed, k):
    """The seed and its k - 1 nearest neighbours among the rows."""
    return [seed, *nearest(X, without(rows, [seed]), X[seed], k - 1)]


def grow_nc(X, rows, seed, k):
    """The seed, then k - 1 times the row nearest to the mean of the group so far."""
    group = [seed]
    while len(group) < k:
        group += nearest(X, without(rows, group), mean(X[group]), 1)
    return group


def closest_group(X, groups, x, closest="mean"):
    """(distance, index) of the group closest to x: by its mean, nearest record, or the cost x would add."""
    if closest == "record":
        holder = {i: g for g, group in enumerate(groups) for i in group}
        i = nearest(X, sorted(holder), x, 1)[0]
        return sqdist1(X[i], x), holder[i]
    d = sqdist(np.array([mean(X[group]) for group in groups]), x)
    if closest == "cost":
        m = np.array([len(group) for group in groups])
        d = (m / (m + 1)) * d
    return float(np.min(d)), int(np.argmin(d))


def place_leftovers(X, groups, rows, closest="mean"):
    """Add the rows one by one to their closest groups, each time the row then closest to its group."""
    rows = list(rows)
    while rows:
        found = [closest_group(X, groups, X[i], closest) for i in rows]
        first = int(np.argmin([distance for distance, _ in found]))
        groups[found[first][1]].append(rows.pop(first))


def best_gamma(run, X):
    """Groups of run(gamma) with the lowest total cost over the grid; the first of equals."""
    return min((run(gamma) for gamma in GAMMAS), key=lambda groups: total_cost(X, groups))


# --- MD, MDAV -----------------------------------------------------------------------------------------------


def furthest_pair(X, rows):
    """Ends (a, b), a before b, of the first largest entry of the distance matrix, read row by row."""
    D = np.array([sqdist(X[rows], X[row]) for row in rows])
    a, b = np.unravel_index(np.argmax(D), D.shape)
    return rows[a], rows[b]


def two_a_round(X, rows, k, seed):
    """While 2k rows remain: a group around r = seed(rows), then one around the row furthest from r.

    Gives the groups and the rows left over (fewer than k); k .. 2k - 1 remaining rows are the last group.
    """
    groups = []
    while len(rows) >= 2 * k:
        r = seed(rows)
        groups.append(grow_nn(X, rows, r, k))
        rows = without(rows, groups[-1])
        groups.append(grow_nn(X, rows, furthest(X, rows, X[r]), k))
        rows = without(rows, groups[-1])
    return ([*groups, rows], []) if len(rows) >= k else (groups, rows)


def md_groups(X, rows, k):
    """Maximum distance: r is the *later* row of the furthest pair."""
    return two_a_round(X, rows, k, lambda left: furthest_pair(X, left)[1])


def md_split(X, rows, k):
    """MD with its leftovers placed."""
    groups, left = md_groups(X, rows, k)
    place_leftovers(X, groups, left)
    return groups


def md(X, k):
    """The two most distant records seed two groups a round, first that of the later row of the two."""
    return numbered(md_split(X, list(range(len(X))), k), len(X))


def mdav_split(X, rows, k):
    """MDAV with the end of T alg 2 (two groups a round while 3k remain)."""
    groups = []
    while len(rows) >= 3 * k:
        r = furthest(X, rows, mean(X[rows]))
        groups.append(grow_nn(X, rows, r, k))
        rows = without(rows, groups[-1])
        groups.append(grow_nn(X, rows, furthest(X, rows, X[r]), k))
        rows = without(rows, groups[-1])
    if len(rows) >= 2 * k:
        groups.append(grow_nn(X, rows, furthest(X, rows, mean(X[rows])), k))
        rows = without(rows, groups[-1])
    return [*groups, rows]


def mdav(X, k):
    """A group around r, furthest from the mean of the remaining records, and one around s, furthest from r."""
    return numbered(mdav_split(X, list(range(len(X))), k), len(X))


def mdav_nc(X, k):
    """Seeds as MDAV; every group, the last one too, grows to k by the record nearest to its moving mean."""
    rows, groups = list(range(len(X))), []
    while len(rows) >= k:
        r = furthest(X, rows, mean(X[rows]))
        groups.append(grow_nc(X, rows, r, k))
        rows = without(rows, groups[-1])
        if len(rows) >= k:
            s = furthest(X, rows, X[r])
            groups.append(grow_nc(X, rows, s, k))
            rows = without(rows, groups[-1])
    place_leftovers(X, groups, rows)
    return numbered(groups, len(X))


# --- one seed a round, furthest from the fixed mean of all records ------------------------------------------


def mdav_plus(X, k):
    """One group a round around the record furthest from the mean of all records."""
    c = mean(X)
    rows, groups = list(range(len(X))), []
    while len(rows) >= k:
        groups.append(grow_nn(X, rows, furthest(X, rows, c), k))
        rows = without(rows, groups[-1])
    place_leftovers(X, groups, rows)
    return numbered(groups, len(X))


def v_mdav(X, k, gamma=0.2):
    """MDAV+; a new group takes in its nearest record, up to 2k - 1 records, while that is nearer to the
    group than gamma times (in squared distance) to its nearest other unassigned record.
    """
    if gamma == "best":
        return numbered(best_gamma(lambda g: v_mdav_groups(X, k, g), X), len(X))
    return numbered(v_mdav_groups(X, k, gamma), len(X))


def v_mdav_groups(X, k, gamma):
    c = mean(X)
    rows, groups = list(range(len(X))), []
    while len(rows) >= k:
        group = grow_nn(X, rows, furthest(X, rows, c), k)
        rows = without(rows, group)
        while rows and len(group) < 2 * k - 1:
            to_group = np.min([sqdist(X[rows], X[i]) for i in group], axis=0)
            x = rows[int(np.argmin(to_group))]
            others = without(rows, [x])
            to_others = np.min(sqdist(X[others], X[x])) if others else math.inf
            if not np.min(to_group) < gamma * to_others:
                break
            group.append(x)
            rows = others
        groups.append(group)
    place_leftovers(X, groups, rows)
    return groups


def mdav_star(X, k, closest="mean"):
    """MDAV+, but a seed joins the closest group if that costs less per record than a new group around it."""
    return numbered(mdav_star_groups(X, k, 1.0, closest, second_test=False), len(X))


def mdav_star_gamma(X, k, gamma=0.8, closest="mean"):
    """MDAV* with a gain factor on its test, and a second test: would the seed and its neighbour both fit?"""
    if gamma == "best":
        return numbered(best_gamma(lambda g: mdav_star_groups(X, k, g, closest, second_test=True), X), len(X))
    return numbered(mdav_star_groups(X, k, gamma, closest, second_test=True), len(X))


def mdav_star_groups(X, k, gamma, closest, second_test):
    c = mean(X)
    rows, groups = list(range(len(X))), []
    while len(rows) >= k:
        r = furthest(X, rows, c)
        new = grow_nn(X, rows, r, k)
        if groups and len(rows) > k:
            target = groups[closest_group(X, groups, X[r], closest)[1]]
            if extend(X, k, rows, r, new, target, gamma, second_test):
                target.append(r)
                rows = without(rows, [r])
                continue
        groups.append(new)
        rows = without(rows, new)
    place_leftovers(X, groups, rows, closest)
    return groups


def extend(X, k, rows, r, new, target, gamma, second_test):
    """Whether r should join the group `target` rather than seed the group `new`."""
    others = without(rows, [r])
    nu = nearest(X, others, X[r], 1)[0]
    m = len(target)
    join = added_cost(X[r], mean(X[target]), m)
    cost_n = cost(X[new]) / k
    cost_e = (join + cost(X[grow_nn(X, others, nu, k)])) / (k + 1)
    if cost_e < gamma * cost_n:
        return True
    cost_e2 = (join + added_cost(X[nu], mean(X[[*target, r]]), m + 1)) / 2
    return second_test and cost_e2 < cost_n


# --- other seeds --------------------------------------------------------------------------------------------


def cbfs(X, k, grow=grow_nc):
    """One group a round around the record furthest from the mean of the remaining records."""
    rows, groups = list(range(len(X))), []
    while len(rows) >= k:
        groups.append(grow(X, rows, furthest(X, rows, mean(X[rows])), k))
        rows = without(rows, groups[-1])
    place_leftovers(X, groups, rows)
    return numbered(groups, len(X))


def cbfs_nn(X, k):
    """CBFS whose groups are the seed and its nearest neighbours."""
    return cbfs(X, k, grow=grow_nn)


def tfrp(X, k, grow=grow_nn):
    """Seeds furthest from the maxima of all attributes, then from the minima, by turns."""
    points = [X.max(axis=0), X.min(axis=0)]
    rows, groups = list(range(len(X))), []
    while len(rows) >= k:
        seed = furthest(X, rows, points[len(groups) % 2])
        groups.append(grow(X, rows, seed, k))
        rows = without(rows, groups[-1])
    place_leftovers(X, groups, rows)
    return numbered(groups, len(X))


def tfrp_nc(X, k):
    """TFRP whose groups grow by the record nearest to their moving mean."""
    return tfrp(X, k, grow=grow_nc)


def gsms(X, k):
    """Of the candidates (a record and its k - 1 nearest) take the one with the least SSE(p) + SSE(rest).

    With t records left, SSE(p) + SSE(rest) = SSE(left) - k t / (t - k) * |mean(p) - mean(left)|^2, and all p
    have k records, so it is the candidate whose mean is furthest from the mean of the remaining records.
    """
    rows, groups = list(range(len(X))), []
    while len(rows) >= k:
        candidates = [grow_nn(X, rows, i, k) for i in rows]
        means = np.array([mean(X[p]) for p in candidates])
        groups.append(candidates[int(np.argmax(sqdist(means, mean(X[rows]))))])
        rows = without(rows, groups[-1])
    place_leftovers(X, groups, rows)
    return numbered(groups, len(X))


# --- groups of fixed size, as used inside the methods below ------------------------------------


def mdav_groups(X, rows, k):
    """MDAV as D ends it: r is the row furthest from the mean of the remaining."""
    return two_a_round(X, rows, k, lambda left: furthest(X, left, mean(X[left])))


def cbfs_groups(X, rows, k):
    """While 2k remain: a group around the row furthest from their mean; the rest is a group."""
    groups = []
    while len(rows) >= 2 * k:
        groups.append(grow_nn(X, rows, furthest(X, rows, mean(X[rows])), k))
        rows = without(rows, groups[-1])
    return [*groups, rows], []


# --- cut of an order ---------------------------------------------------------------------------


def stretch_costs(X, order, i, longest):
    """Costs (SSE) of order[i : i+1], order[i : i+2], ..., one record at a time, relative to the first."""
    origin, centre, total, costs = X[order[i]], [0.0] * X.shape[1], 0.0, []
    for m, row in enumerate(order[i : i + longest]):
        t = 0.0
        for j in range(X.shape[1]):
            y = X[row, j] - origin[j]
            delta = y - centre[j]
            centre[j] += delta / (m + 1)
            t += delta * (y - centre[j])
        total += t
        costs.append(total)
    return costs


def cut_order(X, order, k):
    """The cheapest cut of an order into k .. 2k-1 at a time; on ties the smallest last group."""
    n = len(order)
    costs = [stretch_costs(X, order, i, 2 * k - 1) for i in range(n)]
    best, last = [0.0] + [math.inf] * n, [0] * (n + 1)
    for j in range(k, n + 1):
        for m in range(k, min(2 * k - 1, j) + 1):
            value = best[j - m] + costs[j - m][m - 1]
            if value < best[j]:
                best[j], last[j] = value, m
    groups, j = [], n
    while j > 0:
        groups.append(list(order[j - last[j] : j]))
        j -= last[j]
    return groups[::-1]


def optimal_cut_cost(X, order, k):
    """The least cost of all cuts of a short order into groups of at least k, tried one after the other."""
    n, best = len(order), math.inf
    for parts in range(1, n // k + 1):
        for inner in combinations(range(1, n), parts - 1):
            ends = [0, *inner, n]
            if all(b - a >= k for a, b in pairwise(ends)):
                best = min(best, sum(cost(X[list(order[a:b])]) for a, b in pairwise(ends)))
    return best


def univariate(X, k):
    order = sorted(range(len(X)), key=lambda row: (X[row, 0], row))
    return numbered(cut_order(X, order, k), len(X))


# --- paths -------------------------------------------------------------------------------------


def nearest_next(P, start):
    """Nearest point next: from each point to the nearest not yet visited, the lowest number on ties."""
    path, left = [start], without(range(len(P)), [start])
    while left:
        path.append(left[int(np.argmin(sqdist(P[left], P[path[-1]])))])
        left.remove(path[-1])
    return path


def path_of_groups(X, groups):
    """All rows: groups in nearest-mean-next order; inside a group by distance to its first row.

    The first row is the seed in the first group, later the one nearest to the mean of the group before.
    """
    means = np.array([mean(X[g]) for g in groups])
    order, before = [], None
    for g in nearest_next(means, 0):
        rows = sorted(groups[g])
        first = groups[g][0] if before is None else nearest(X, rows, means[before], 1)[0]
        order += [first, *nearest(X, without(rows, [first]), X[first], len(rows))]
        before = g
    return order


def npn_mhm(X, k, start="pair"):
    """Nearest point next over the records, then the best cut of that order.

    It starts at the earlier row of the furthest pair; with start="mean" (the text of D 4.2.1) at the row
    furthest from the mean.
    """
    rows = list(range(len(X)))
    first = furthest_pair(X, rows)[0] if start == "pair" else furthest(X, rows, mean(X))
    return numbered(cut_order(X, nearest_next(X, first), k), len(X))


def grouped_mhm(X, k, make_groups):
    """Fixed-size groups, a path through them, the best cut; leftovers go where their mean is nearest."""
    groups, left = make_groups(X, list(range(len(X))), k)
    if left:
        groups[closest_group(X, groups, mean(X[left]))[1]] += left
    return numbered(cut_order(X, path_of_groups(X, groups), k), len(X))


def md_mhm(X, k):
    return grouped_mhm(X, k, md_groups)


def mdav_mhm(X, k):
    return grouped_mhm(X, k, mdav_groups)


def cbfs_mhm(X, k):
    return grouped_mhm(X, k, cbfs_groups)


# --- minimum spanning tree ---------------------------------------------------------------------


def prim(X):
    """Edges (squared length, tree row, new row) of the tree grown from row 0, as they were added."""
    n = len(X)
    near, via, edges, new = np.full(n, np.inf), np.zeros(n, dtype=int), [], 0
    outside = list(range(1, n))
    while outside:
        d = sqdist(X, X[new])
        via[d < near] = new
        near = np.minimum(near, d)
        new = outside[int(np.argmin(near[outside]))]
        edges.append((near[new], int(via[new]), new))
        outside.remove(new)
    return edges


def side(links, a):
    """All rows that hang together with row a."""
    found, todo = {a}, [a]
    while todo:
        new = links[todo.pop()] - found
        found |= new
        todo += new
    return sorted(found)


def mst(X, k):
    """Cut the longest edges first where both sides keep k rows; split 2k or more by maximum distance."""
    links = [set() for _ in X]
    edges = prim(X)
    for _, a, b in edges:
        links[a].add(b)
        links[b].add(a)
    for _, a, b in sorted(edges, key=lambda edge: -edge[0]):  # stable: of equal lengths the edge added first
        links[a].remove(b)
        links[b].remove(a)
        if min(len(side(links, a)), len(side(links, b))) < k:
            links[a].add(b)
            links[b].add(a)
    groups = []
    for part in sorted({tuple(side(links, a)) for a in range(len(X))}):
        if len(part) < 2 * k:
            groups.append(list(part))
        else:
            groups += md_split(X, list(part), k)
    return numbered(groups, len(X))


# --- median cuts -------------------------------------------------------------------------------


def seqsum(x):
    return np.add.accumulate(x)[-1]


def directions(P, pairs, weight):
    """(sum of squares about the mean, values) of the columns, then of x_i + x_j and x_i - x_j, i < j."""
    d = P.shape[1]
    Z = [P[:, j] - seqsum(P[:, j]) / len(P) for j in range(d)]
    var = [seqsum(z * z) for z in Z]
    found = [(var[j], P[:, j]) for j in range(d)]
    for i, j in combinations(range(d), 2) if pairs else ():
        half = (var[i] + var[j]) / 2
        cov = seqsum(Z[i] * Z[j])
        found += [(weight * (half + cov), P[:, i] + P[:, j]), (weight * (half - cov), P[:, i] - P[:, j])]
    return found


def cut_at_median(P, rule, weight):
    """Positions of the lower and the upper half along the widest direction; equal values keep their order."""
    if rule == "range":
        found, slack = [(x.max() - x.min(), x) for x in P.T], 0.0
    else:
        found, slack = directions(P, rule == "v2d", weight), 1e-9
    best, values = found[0]
    for size, x in found[1:]:
        if size > best * (1 + slack):
            best, values = size, x
    order = np.argsort(values, kind="stable")
    return order[: len(P) // 2], order[len(P) // 2 :]


def mondrian(X, k, rule="range", weight=1.0, whole="2k"):
    """Parts of more than 2k rows are halved; a part keeps the order in which its last cut sorted it.

    In print parts of exactly 2k rows stay whole; whole="2k-1" cuts them too, as the pseudo-code says.
    """
    parts, groups = [np.arange(len(X))], []
    while parts:
        part = parts.pop()
        if len(part) > 2 * k or (whole == "2k-1" and len(part) == 2 * k):
            lower, upper = cut_at_median(X[part], rule, weight)
            parts += [part[lower], part[upper]]
        else:
            groups.append(part)
    return numbered(groups, len(X))


def mondrian_v(X, k, whole="2k"):
    return mondrian(X, k, rule="v", whole=whole)


def mondrian_v2d(X, k, weight=1.0, whole="2k"):
    """weight=2 drops the factor 1/sqrt(2) of the pairs (figures of S; 1 gives those of T)."""
    return mondrian(X, k, rule="v2d", weight=weight, whole=whole)


def mondrian_strict(X, k):
    """A part is cut below a value of its widest coordinate, as near to the middle as k on both sides allow.

    A coordinate without such a value is passed over for the next widest; a part without any is a group.
    """
    parts, groups = [np.arange(len(X))], []
    while parts:
        part = parts.pop()
        P, m = X[part], len(part)
        for j in sorted(range(X.shape[1]), key=lambda j: P[:, j].min() - P[:, j].max()):  # stable: the first on ties
            below = [(int((P[:, j] < value).sum()), value) for value in set(P[:, j].tolist())]
            allowed = [(abs(2 * size - m), size, value) for size, value in below if k <= size <= m - k]
            if allowed:
                value = min(allowed)[2]
                parts += [part[P[:, j] < value], part[P[:, j] >= value]]
                break
        else:
            groups.append(part)
    return numbered(groups, len(X))


# --- fixed orders ------------------------------------------------------------------------------


def place_on_curve(cell, bits):
    """Place of a cell on the Hilbert curve, after Skilling (2004), on plain integers."""
    x, q = list(cell), 1 << (bits - 1)
    while q > 1:
        for i in range(len(x)):
            if x[i] & q:
                x[0] ^= q - 1
            else:
                t = (x[0] ^ x[i]) & (q - 1)
                x[0], x[i] = x[0] ^ t, x[i] ^ t
        q >>= 1
    for i in range(1, len(x)):
        x[i] ^= x[i - 1]
    t = sum(1 << bit for bit in range(bits) if (x[-1] >> (bit + 1)).bit_count() % 2)
    return int("".join(str((xi ^ t) >> bit & 1) for bit in reversed(range(bits)) for xi in x), 2)


def insensitive(X, k, order="hilbert"):
    """Groups of k in an order of all possible records; the last one takes what is left."""

    def key(row):
        x = X[row].tolist()
        if order == "hilbert":
            cell = [int(min(0.5 * (1 + v / (3 + abs(v))) * 2**16, 2**16 - 1)) for v in x]
            return place_on_curve(cell, 16), x
        return sqdist1(X[row], np.full(len(x), -10.0)) if order == "distance" else 0, x

    rows = sorted(range(len(X)), key=key)
    groups = [rows[i : i + k] for i in range(0, len(X) - k + 1, k)]
    groups[-1] += rows[len(groups) * k :]
    return numbered(groups, len(X))


# --- density -----------------------------------------------------------------------------------


def densest_first(X, k):
    """Each time the group of least cost among those of the remaining records; leftovers one by one."""
    rows, groups = list(range(len(X))), []
    while len(rows) >= k:
        candidates = [grow_nn(X, rows, row, k) for row in rows]
        groups.append(candidates[int(np.argmin([cost(X[g]) for g in candidates]))])
        rows = without(rows, groups[-1])
    place_leftovers(X, groups, rows)
    return groups


def dissolved(X, groups, i):
    """The other groups once the records of group i went to the nearest means; None if nothing is gained."""
    others = groups[:i] + groups[i + 1 :]
    if not others:
        return None
    target = [closest_group(X, others, X[row])[1] for row in groups[i]]  # means before any record moves
    new = {t: others[t] + [row for row, to in zip(groups[i], target, strict=True) if to == t] for t in target}
    kept = math.fsum([cost(X[groups[i]]), *(cost(X[others[t]]) for t in new)])
    if kept > math.fsum(cost(X[g]) for g in new.values()):
        return [new.get(t, g) for t, g in enumerate(others)]
    return None


def dba(X, k):
    """Densest groups first; dissolve the latest first where it pays; split 2k or more by MDAV."""
    groups = densest_first(X, k)
    for i in reversed(range(len(groups))):
        groups = dissolved(X, groups, i) or groups
    pieces = []
    for g in groups:
        pieces += mdav_split(X, sorted(g), k) if len(g) >= 2 * k else [g]
    return numbered(pieces, len(X))


# --- sorting -----------------------------------------------------------------------------------


def rank_sums(X):
    """Sum over the columns of the position of each row in the order (value, row)."""
    sums = np.zeros(len(X), dtype=np.int64)
    for j in range(X.shape[1]):
        sums[np.argsort(X[:, j], kind="stable")] += np.arange(len(X))
    return sums


def sbm(X, k):
    """A group around the least rank sum, then one around the largest, which the first may not take."""
    sums, rows, groups = rank_sums(X), list(range(len(X))), []
    while len(rows) >= 3 * k:
        low = min(rows, key=lambda row: (sums[row], row))
        high = min(without(rows, [low]), key=lambda row: (-sums[row], row))
        groups.append(grow_nn(X, without(rows, [high]), low, k))
        rows = without(rows, groups[-1])
        groups.append(grow_nn(X, rows, high, k))
        rows = without(rows, groups[-1])
    if len(rows) >= 2 * k:
        groups.append(grow_nn(X, rows, min(rows, key=lambda row: (sums[row], row)), k))
        rows = without(rows, groups[-1])
    return numbered([*groups, rows], len(X))


ORACLES = {
    "md": md,
    "mdav": mdav,
    "mdav-nc": mdav_nc,
    "mdav+": mdav_plus,
    "v-mdav": v_mdav,
    "mdav*": mdav_star,
    "mdav*-gamma": mdav_star_gamma,
    "cbfs-nn": cbfs_nn,
    "cbfs": cbfs,
    "cbfs-nc": cbfs,
    "tfrp": tfrp,
    "tfrp-nc": tfrp_nc,
    "gsms": gsms,
    "univariate": univariate,
    "npn-mhm": npn_mhm,
    "md-mhm": md_mhm,
    "mdav-mhm": mdav_mhm,
    "cbfs-mhm": cbfs_mhm,
    "mst": mst,
    "insensitive": insensitive,
    "mondrian": mondrian,
    "mondrian-strict": mondrian_strict,
    "mondrian-v": mondrian_v,
    "mondrian-v2d": mondrian_v2d,
    "dba": dba,
    "sbm": sbm,
}
