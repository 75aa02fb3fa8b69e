"""Every type of Arrow in every role: released to every format that can hold it, or refused in one sentence."""

from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import shoal
from shoal.errors import ShoalError

N = 24
BASE = [i % 6 for i in range(N)]
X = np.random.default_rng(0).normal(size=N)
MOMENTS = [datetime(2020, 1, 1 + i, 3, 4, 5, 123456) for i in range(6)]
pytestmark = pytest.mark.filterwarnings("ignore")


def turns(values, kind):
    return pa.array([values[i] for i in BASE], kind)


def moments(unit, zone=None):
    return turns(MOMENTS, pa.timestamp("us", zone)).cast(pa.timestamp(unit, zone), safe=False)


MOMENTS_OF_ALL_KINDS = {
    **{f"{unit} {zone}": moments(unit, zone) for unit in ("s", "us", "ns") for zone in (None, "UTC", "Asia/Tokyo")},
    "nanoseconds": pa.array([1_577_836_800_123_456_789 + i * 10**9 for i in BASE], pa.timestamp("ns")),
    "before 1970": turns([datetime(1930 + i, 1, 1, 1) for i in range(6)], pa.timestamp("ns")),
    "dates": turns([m.date() for m in MOMENTS], pa.date64()),
    "categories": moments("ns").dictionary_encode(),
    "decimals": turns([Decimal(i) / 4 for i in range(6)], pa.decimal128(20, 3)),
}
TEXTS = {
    "view": turns(list("abcdef"), pa.string_view()),
    "large": turns(list("abcdef"), pa.large_string()),
    "runs": pc.run_end_encode(turns(list("abcdef"), pa.string())),
    "categories that are views": pa.DictionaryArray.from_arrays(BASE, pa.array(list("abcdef"), pa.string_view())),
    "narrow decimals": turns([Decimal(i) / 4 for i in range(6)], pa.decimal32(5, 2)),
    "wide decimals": turns([Decimal(i) / 4 for i in range(6)], pa.decimal256(50, 3)),
    "half precision": turns([np.float16(i) for i in range(6)], pa.float16()),
}
OTHERS = {
    "durations": turns([timedelta(i) for i in range(6)], pa.duration("s")),
    "times": turns([m.time() for m in MOMENTS], pa.time64("us")),
    "binary views": turns([b"%d" % i for i in range(6)], pa.binary_view()),
    "lists": pa.array([[i] for i in BASE]),
    "structures": pa.array([{"a": i} for i in BASE]),
    "intervals": pa.array([pa.MonthDayNano([1, 2, i]) for i in BASE]),
    "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes([i]) * 16 for i in BASE], pa.binary(16))),
}
FORMATS = ("csv", "xlsx", "parquet", "arrow", "db")


@pytest.mark.parametrize("name", MOMENTS_OF_ALL_KINDS)
def test_closeness_of_moments_holds_in_every_file(name, tmp_path):
    table = pa.table({"x": X, "c": MOMENTS_OF_ALL_KINDS[name]})
    release = shoal.anonymize(table, k=3, method="mdav", quasi_identifiers=["x"], sensitive_attributes=["c"], t=0.45)
    for suffix in FORMATS:
        release.save(tmp_path / f"out.{suffix}")  # is audited once more
        assert shoal.io.read(tmp_path / f"out.{suffix}").table.num_rows == N


@pytest.mark.parametrize("name", TEXTS)
def test_unusual_types_are_released(name, tmp_path):
    table = pa.table({"x": X, "c": TEXTS[name]})
    for roles in (
        {"quasi_identifiers": ["x", "c"]},
        {"quasi_identifiers": ["x"], "other": ["c"]},
        {"quasi_identifiers": ["x"], "sensitive_attributes": ["c"], "l": 2},
        {"quasi_identifiers": ["x"], "stratum": ["c"]},
        {"quasi_identifiers": ["x"], "unit": "c"},
    ):
        release = shoal.anonymize(table, k=3, method="mdav", **roles)
        for suffix in FORMATS:
            release.save(tmp_path / f"out.{suffix}", force=True)
        names = release.quasi_identifiers
        assert shoal.verify(shoal.io.read(tmp_path / "out.arrow").table, names, 3).holds
    with pa.OSFile(str(tmp_path / "in.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    fields = {"k": 3, "method": "mdav", "quasi_identifiers": ["x", "c"]}
    assert shoal.anonymize_file(tmp_path / "in.arrow", tmp_path / "two.csv", **fields).k >= 3


@pytest.mark.parametrize("name", OTHERS)
def test_types_that_cannot_be_compared_are_refused_or_passed_on(name, tmp_path):
    table = pa.table({"x": X, "c": OTHERS[name]})
    with pytest.raises(ShoalError):
        shoal.anonymize(table, k=3, method="mdav", quasi_identifiers=["x", "c"])
    with pytest.raises(ShoalError):
        shoal.anonymize(table, k=3, method="mdav", quasi_identifiers=["x"], sensitive_attributes=["c"], l=2)
    release = shoal.anonymize(table, k=3, method="mdav", quasi_identifiers=["x"], other=["c"])
    assert release.table["c"].to_pylist() == table["c"].to_pylist()
    release.save(tmp_path / "out.arrow")


@pytest.mark.parametrize(
    ("texts", "published"),
    [
        (["2020-01-01T10:00:00Z", "2020-01-01T12:00:00Z"], {"2020-01-01T11:00:00Z"}),
        (["2020-01-01 10:00:00.5+01:00", "2020-01-01 12:00:00.5+01:00"], {"2020-01-01 11:00:00.5+01:00"}),
        (["2020-01-01 10:00:00.000000001", "2020-01-01 12:00:00.000000001"], {"2020-01-01 11:00:00.000000"}),
    ],
)
def test_moments_in_text_with_a_zone_or_nanoseconds_are_averaged(texts, published, tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("moment\n" + "\n".join(texts * 3) + "\n")
    release = shoal.anonymize_file(path, tmp_path / "out.csv", k=6, method="mdav")
    assert release.attributes[0].kind == "datetime"
    assert set(release.table["moment"].to_pylist()) == published
