"""Settings shared by all tests."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from servers import postgresql, server_programs
from shoal.datasets import load
from shoal.errors import DatasetNotFoundError
from shoal.estimator import standardized
from sparks import spark  # noqa: F401 - a fixture

# A shell has what it starts in the background ignore Ctrl-C, and so would all that is tested here.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

EXAMPLES = int(os.environ.get("SHOAL_TEST_EXAMPLES", "120"))

settings.register_profile(
    "shoal",
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES <= 120,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("shoal")


@pytest.fixture
def hangups():
    """Let hangups end processes during a test, even if nohup has the test run ignore them."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="session")
def benchmark_table():
    """Return a function that gives a standardised benchmark table, or skips where the data are not there."""
    tables = {}

    def get(name):
        if name not in tables:
            try:
                tables[name] = standardized(load(name).data)
            except DatasetNotFoundError as error:
                pytest.skip(f"benchmark data absent: {error.hint}")
        return tables[name]

    return get


@pytest.fixture(scope="session")
def postgres():
    """Return the address of a PostgreSQL server that was started for the tests."""
    programs = server_programs()
    if programs is None:
        reason = "no PostgreSQL server on this machine: .ci/postgres installs one"
        if os.environ.get("SHOAL_TEST_POSTGRES") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    with postgresql(programs) as address:
        yield address
