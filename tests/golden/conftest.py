"""What the tests of printed figures share."""

import pytest
from benchmarks.published import TABLES


@pytest.fixture(scope="session")
def benchmark_data(benchmark_table):
    """Skip where one of the benchmark tables is missing."""
    for name in TABLES.values():
        benchmark_table(name)
