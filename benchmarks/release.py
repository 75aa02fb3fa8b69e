"""From file to verified release; run with `python -m benchmarks.release [--quick]`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from benchmarks.engine import correlated
from benchmarks.pages import Table, publish
from benchmarks.timing import MIB, in_fresh_process, show

INTRO = """\
A table of 1,000,000 rows and 20 columns, ten of them quasi-identifiers (six correlated amounts, age, sex, one of eight
regions, date of birth), goes from file to release with `shoal.anonymize_file`, k = 5: it is read, types are inferred,
records are grouped by what `auto` chooses, the release is written, read again from the disk, compared and audited,
and the report and the certificate are written.
"""

RUN = """
import json, time, warnings
warnings.simplefilter("ignore")
import shoal
fields = dict(k=5, quasi_identifiers=[f"amount{{j}}" for j in range(6)] + ["age", "sex", "region", "born"],
    identifiers=["person"], sensitive_attributes=["diagnosis"], rest="other")
shoal.anonymize_file({small!r}, **fields)
start = time.perf_counter()
target = {target!r}
release = shoal.anonymize_file({source!r}, target, certificate=target + ".json", report=target + ".html", **fields)
total = time.perf_counter() - start
import resource
print(json.dumps([total, dict(release.timings), release.blocks[0].method, release.k, release.loss,
    resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]))
"""


def people(n: int) -> pa.Table:
    """Return n generated people in 20 columns."""
    rng = np.random.default_rng(0)
    X = correlated(n, 6)
    columns: dict[str, pa.Array] = {"person": pa.array([f"P{row:07d}" for row in range(n)])}
    for j in range(6):
        columns[f"amount{j}"] = pa.array(np.round(1000 + 200 * X[:, j], 2))
    columns["age"] = pa.array(np.clip(45 + 15 * X[:, 0] + 5 * rng.normal(size=n), 18, 99).astype(int))
    columns["sex"] = pa.array(np.array(["female", "male"])[rng.integers(0, 2, n)])
    columns["region"] = pa.array(np.array([f"region {j}" for j in range(8)])[rng.integers(0, 8, n)])
    columns["born"] = pa.array(rng.integers(0, 20_000, n).astype("datetime64[D]"))
    for j in range(8):
        columns[f"answer{j}"] = pa.array(rng.integers(0, 1000, n))
    columns["diagnosis"] = pa.array(np.array([f"D{j}" for j in range(50)])[rng.integers(0, 50, n)])
    return pa.table(columns)


def from_file_to_release(*, quick: bool) -> Table:
    """Time every step, in CSV and in Parquet."""
    import json

    n = 100_000 if quick else 1_000_000
    steps = (
        "reading",
        "reading values",
        "embedding",
        "partitioning",
        "bounding",
        "publishing",
        "verifying",
        "measuring",
        "writing",
    )
    table = Table(
        "Seconds of each step",
        "By the clock, on all cores, kernels compiled before. *Writing* includes reading again, comparing, the audit "
        "and the hash; the report and the certificate are in the total. Memory is the most that the process held.",
        ["File", *steps, "total", "total / partitioning", "peak memory, MiB"],
    )
    with tempfile.TemporaryDirectory() as folder:
        small = str(Path(folder) / "small.csv")
        pyarrow.csv.write_csv(people(2000), small)
        big = people(n)
        for kind in ("csv", "parquet"):
            source, target = (str(Path(folder) / f"{name}.{kind}") for name in ("people", "release"))
            if kind == "csv":
                pyarrow.csv.write_csv(big, source)
            else:
                pyarrow.parquet.write_table(big, source)
            code = RUN.format(small=small, source=source, target=target)
            total, seconds, method, k, loss, peak = json.loads(in_fresh_process(code).splitlines()[-1])
            ratio = total / seconds["partitioning"]
            table.add(kind, *(show(seconds[step]) for step in steps), show(total), f"{ratio:.2f}", f"{peak / MIB:.0f}")
            holds = ratio < 2 and peak < 4096 * MIB
            verdict = "not judged" if quick else "holds" if holds else "DOES NOT HOLD"
            table.verdicts.append(
                f"{kind}, {n} rows, less than twice the time of partitioning and below 4 GiB: {verdict} "
                f"({ratio:.2f} times, {peak / MIB / 1024:.2f} GiB; `{method}`, k = {k} held, loss {100 * loss:.2f} %)."
            )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    quick = parser.parse_args().quick
    publish("release", "From file to release", INTRO, [from_file_to_release(quick=quick)], quick=quick)


if __name__ == "__main__":
    main()
