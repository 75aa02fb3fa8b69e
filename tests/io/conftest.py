"""Tables and servers for the tests of reading and writing."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest


@pytest.fixture
def mixed():
    """Return a table with every type that people use."""
    day, moment = dt.date(2020, 2, 29), dt.datetime(2020, 2, 29, 13, 4, 5, 678000)
    return pa.table(
        {
            "int8": pa.array([1, None, -3], pa.int8()),
            "uint16": pa.array([1, None, 65535], pa.uint16()),
            "int32": pa.array([1, None, -(2**31) + 1], pa.int32()),
            "int64": pa.array([1, None, 2**40], pa.int64()),
            "float32": pa.array([1.5, None, -0.25], pa.float32()),
            "float64": pa.array([0.1, None, 1e300], pa.float64()),
            "string": pa.array(["a b", None, "Zürich €"], pa.string()),
            "large_string": pa.array(["x", None, "=1+1"], pa.large_string()),
            "bool": pa.array([True, None, False]),
            "date": pa.array([day, None, dt.date(1999, 12, 31)]),
            "timestamp": pa.array([moment, None, dt.datetime(1999, 1, 1)], pa.timestamp("us")),
            "milliseconds": pa.array([moment, None, None], pa.timestamp("ms")),
            "zoned": pa.array([moment, None, None], pa.timestamp("us", "Europe/Paris")),
            "time": pa.array([dt.time(3, 4, 5), None, dt.time(23, 59)], pa.time64("us")),
            "decimal": pa.array([Decimal("1.10"), None, Decimal("-3.00")], pa.decimal128(10, 2)),
            "category": pa.array(["red", None, "green"]).dictionary_encode(),
        }
    )
