"""What updates cost: new records that join an earlier release, against a fresh release of everybody.

``python -m benchmarks.updates [ROWS NEW [COLUMNS]]`` prints processor seconds, the loss of everybody's records, rows
that changed, and what somebody who has both releases finds. Losses are measured on the original records, which an
update itself never sees.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
import pyarrow as pa

import shoal


def table(n: int, d: int, seed: int) -> tuple[pa.Table, list[str]]:
    """Return correlated numbers with two decimals, and a sensitive column of six values."""
    X = shoal.datasets.correlated_gaussian(n, d, random_state=seed).round(2)
    names = [f"x{at}" for at in range(d)]
    ill = np.random.default_rng(seed).choice(list("abcdef"), n, p=[0.4, 0.2, 0.15, 0.1, 0.1, 0.05])
    return pa.table({**dict(zip(names, X.T, strict=True)), "ill": ill}), names


def lost(original: pa.Table, published: pa.Table, names: list[str]) -> float:
    """Return the share of the variance of all records that is lost, in standardised columns."""
    x, y = (np.column_stack([one[name].to_numpy() for name in names]) for one in (original, published))
    return float((((x - y) / x.std(axis=0)) ** 2).mean())


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    return work(), time.process_time() - start


def main(n: int = 100_000, new: int = 10_000, d: int = 5) -> None:
    """Measure one table."""
    everybody, names = table(n + new, d, 1)
    plan: dict[str, Any] = {"k": 5, "quasi_identifiers": names, "sensitive_attributes": ["ill"], "method": "ona*"}
    plan |= {"bound": "none", "random_state": 0}
    print(f"{n:,} + {new:,} records, {d} columns, k = 5, ona*")
    for models in cast("list[dict[str, Any]]", [{}, {"l": 3}]):
        first, seconds = timed(partial(shoal.anonymize, everybody.slice(0, n), **plan, **models))
        print(f"\n{models or 'no models'}: first release {seconds:.1f} s, {100 * first.loss:.3f} %")
        fresh, seconds = timed(partial(shoal.anonymize, everybody, **plan, **models))
        of_new = lost(everybody.slice(n), fresh.table.slice(n), names)
        both = shoal.intersect(first.table, fresh.table, names, in_order=True)
        show("fresh", seconds, lost(everybody, fresh.table, names), of_new, both)
        for least in (None, 2, 1):
            how: dict[str, Any] = {"newcomers": least, "allow_differences": bool(models) and least is not None}
            made, seconds = timed(partial(shoal.update, first, everybody.slice(n), **how))
            of_new = lost(everybody.slice(n), made.table.slice(n), names)
            name = "newcomers k" if least is None else f"newcomers {least}"
            show(name, seconds, lost(everybody, made.table, names), of_new, made.intersection, made.rows_joined)
        _, seconds = timed(partial(shoal.intersect, first.table, made.table, names, 5))
        print(f"  the audit of both tables alone: {seconds:.2f} s")


def show(name: str, seconds: float, loss: float, of_new: float, both: Any, joined: int = 0) -> None:
    """Print a line."""
    print(
        f"  {name:12} {seconds:7.1f} s  loss {100 * loss:.3f} %, of new records {100 * of_new:.3f} %  "
        f"changed {both.changed:,}  joined {joined:,}  k of old {both.kept.k}, of new {both.new.k}",
        flush=True,
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*map(int, sys.argv[1:]))
