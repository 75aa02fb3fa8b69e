"""What a told loss gives away: an attacker who knows all records but those of one group tries every group that fits.

Prints a Markdown table for docs/how-to/what-to-publish.md: the share of the groups that fit the published mean which
also fit the told loss. Takes some seconds.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np

from shoal.release.measures.rounding import digits_left, most_digits, told

K, TURNS, REACH = 5, 40, 6


def main() -> None:
    """Print the table."""
    deviations = np.array([d for d in combinations_with_replacement(range(-REACH, REACH + 1), K) if sum(d) == 0])
    errors = (deviations**2).sum(axis=1).astype(float)
    print("| records | groups | digits by the rule | left by all digits | by three | by the rule |")
    print("|--:|--:|--:|--:|--:|--:|")
    for n in (50, 150, 300, 1000, 3000, 30_000):
        rng = np.random.default_rng(n)
        left = np.zeros((TURNS, 3))
        used = 0
        for turn in range(TURNS):
            # Groups of several columns are spread in each of them, unlike those of one.
            labels = np.repeat(np.arange(n // K), K)
            values = np.rint(rng.normal(45, 14, n // K)[labels] + rng.normal(0, 4, n))
            means = values.reshape(-1, K).mean(axis=1)
            by_group = ((values - means[labels]) ** 2).reshape(-1, K).sum(axis=1)
            between = K * ((means - values.mean()) ** 2).sum()
            known = by_group.sum() - by_group[turn % len(by_group)]
            # Every candidate for the group that is not known, and the group as it is, last.
            sse = known + np.append(errors, by_group[turn % len(by_group)])
            figures = sse / (sse + between)
            digits = min(most_digits([labels]), digits_left(by_group))
            used += digits
            for column, shown in enumerate((12, 3, digits)):
                if shown == 0:
                    left[turn, column] = len(errors)
                else:
                    rounded = [told(x, shown) if shown < 12 else round(x, 12) for x in figures]
                    left[turn, column] = sum(x == rounded[-1] for x in rounded[:-1])
        cells = [f"{100 * x / len(errors):.0f} %" for x in left.mean(axis=0)]
        print(f"| {n:,} | {n // K:,} | {used / TURNS:.1f} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
