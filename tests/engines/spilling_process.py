"""A process that has a spill folder and is ended in some way: run by the tests of it."""

import os
import resource
import signal
import sys
import time

import numpy as np
import pyarrow as pa

from shoal.engines.buckets import Buckets
from shoal.engines.spill import Spill
from shoal.errors import ShoalError


def main(how: str, parent: str) -> None:
    with Spill(parent, key="the same") as spill:
        buckets = Buckets(spill, "rows", pa.schema([("a", pa.int64())]), 4, memory=1000)
        buckets.append(pa.table({"a": np.arange(1000)}), np.arange(1000) % 4)
        buckets.finish()
        spill.mark("spread", rows=1000)
        say(spill.folder)
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif how == "full":
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            fill(spill)
        elif how == "fill":
            fill(spill)
        else:
            os.kill(os.getpid(), getattr(signal, how))
            time.sleep(60)


def say(words: object) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def fill(spill: Spill) -> None:
    """Write until the disk is full."""
    more = Buckets(spill, "more", pa.schema([("a", pa.int64())]), 2, memory=1000)
    try:
        for _ in range(1000):
            more.append(pa.table({"a": np.arange(10_000)}), np.zeros(10_000, np.int64))
    except ShoalError as error:
        say(error)


if __name__ == "__main__":
    main(*sys.argv[1:])
