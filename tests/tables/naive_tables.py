"""Plain Python oracles of dissimilarities and representatives, by their definitions and slowly.

Values are lists: floats, levels as text, (latitude, longitude), None where missing. A tree is a dict from each label to
its parent, None for the root.
"""

import math
from fractions import Fraction


def path(tree, label):
    steps = [label]
    while tree[steps[-1]] is not None:
        steps.append(tree[steps[-1]])
    return steps


def tree_distance(tree, a, b):
    """The number of labels that lie above (or at) one of the two but not above the other."""
    return len(set(path(tree, a)) ^ set(path(tree, b)))


def common_ancestor(tree, labels):
    paths = [path(tree, label) for label in labels]
    return next(label for label in paths[0] if all(label in other for other in paths))


def unit_vector(place):
    """A point of the unit sphere; a pole is one point, and so are -180 and 180 degrees east."""
    if abs(place[0]) == 90:
        return (0.0, 0.0, math.copysign(1.0, place[0]))
    latitude, longitude = math.radians(place[0]), math.radians(abs(place[1]) if place[1] == -180 else place[1])
    return (
        math.cos(latitude) * math.cos(longitude),
        math.cos(latitude) * math.sin(longitude),
        math.sin(latitude),
    )


def dissimilarity(a, b, kind, levels=None, tree=None):
    """The squared distance of two present values before scaling."""
    if kind == "place":
        return sum((x - y) ** 2 for x, y in zip(unit_vector(a), unit_vector(b), strict=True))
    if kind == "ordinal":
        return (levels.index(a) - levels.index(b)) ** 2
    if kind in ("nominal", "boolean"):
        return 0 if a == b else 2
    if kind == "hierarchical":
        return tree_distance(tree, a, b)
    return (Fraction(a) - Fraction(b)) ** 2


def squared_distances(values, kind, levels=None, tree=None):
    """All squared distances between rows, from dissimilarities alone.

    The mean squared distance from the centre is half the mean of all dissimilarities; a value's own follows from
    its mean dissimilarity (Huygens).
    """
    present = [i for i, value in enumerate(values) if value is not None]
    count = len(present)
    D = {(i, j): dissimilarity(values[i], values[j], kind, levels, tree) for i in present for j in present}
    spread = sum(D.values()) / (2 * count**2) if count else 0

    def distance(i, j):
        if (i in present) and (j in present):
            return D[i, j] / spread if spread else 0
        if i not in present and j not in present:
            return 0
        here = i if i in present else j
        return 1 + ((sum(D[here, other] for other in present) / count - spread) / spread if spread else 0)

    return [[float(distance(i, j)) for j in range(len(values))] for i in range(len(values))]


# --- representatives ---


def groups_of(values, labels, weights=None):
    """For each group None if it publishes missing, else its present rows with their weights."""
    result = []
    for g in range(max(labels) + 1):
        rows = [i for i, label in enumerate(labels) if label == g]
        present = [i for i in rows if values[i] is not None]
        if 2 * (len(rows) - len(present)) >= len(rows):
            result.append(None)
            continue
        amount = {i: Fraction(1 if weights is None else weights[i]) for i in present}
        if not any(amount.values()):
            amount = dict.fromkeys(present, Fraction(1))
        result.append(amount)
    return result


def mean(values, amount):
    return sum(w * Fraction(values[i]) for i, w in amount.items()) / sum(amount.values())


def median(values, amount, *, between):
    order = sorted((i for i in amount if amount[i] > 0), key=lambda i: values[i])
    half, reached = sum(amount.values()) / 2, 0
    for place, i in enumerate(order):
        reached += amount[i]
        if reached >= half:
            if reached == half and between:
                return (Fraction(values[i]) + Fraction(values[order[place + 1]])) / 2
            return values[i]
    raise AssertionError


def trimmed_mean(values, amount, trim):
    order = sorted(amount, key=lambda i: (values[i], i))
    cut = math.floor(Fraction(str(trim)) * len(order))
    kept = {i: amount[i] for i in order[cut : len(order) - cut]}
    if not any(kept.values()):
        kept = dict.fromkeys(kept, Fraction(1))
    return mean(values, kept)


def geometric_mean(values, amount):
    total = float(sum(amount.values()))
    return math.exp(math.fsum(float(w) / total * math.log(values[i]) for i, w in amount.items()))


def mean_vector(values, amount):
    total = float(sum(amount.values()))
    vectors = {i: unit_vector(values[i]) for i in amount}
    return [math.fsum(float(w) / total * vectors[i][j] for i, w in amount.items()) for j in range(3)]


def medoid_costs(values, amount, kind):
    """How far each member lies from the mean."""
    if kind == "place":
        centre = mean_vector(values, amount)
        return {i: math.dist(unit_vector(values[i]), centre) for i in amount}
    centre = mean(values, amount)
    return {i: float(abs(Fraction(values[i]) - centre)) for i in amount}


def first_of_level(values, amount, costs, levels):
    """The first row with the level of least cost; of several the more frequent in the table, then the first level."""
    best = min(costs, key=lambda level: (costs[level], -values.count(level), levels.index(level)))
    return min(i for i in amount if values[i] == best)


def mode(values, amount, levels):
    costs = {}
    for i, w in amount.items():
        costs[values[i]] = costs.get(values[i], 0) - w
    return first_of_level(values, amount, costs, levels)


def leaf(values, amount, levels, tree):
    costs = {values[i]: sum(w * tree_distance(tree, values[i], values[j]) for j, w in amount.items()) for i in amount}
    return first_of_level(values, amount, costs, levels)


def ordinal_median(values, amount, levels):
    positions = {i: levels.index(values[i]) for i in amount}
    level = median(positions, amount, between=False)
    return min(i for i in amount if positions[i] == level)


def interval(values, amount, text):
    low, high = text(min(values[i] for i in amount)), text(max(values[i] for i in amount))
    return low if low == high else f"[{low}, {high}]"


def level_set(values, amount, levels):
    found = sorted({values[i] for i in amount}, key=levels.index)
    return found[0] if len(found) == 1 else "{" + ", ".join(found) + "}"
