"""A process that is killed while it stages a release: run by the tests of Spark."""

import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

from shoal.engines.spark_folders import Folder


def main(output: str, how: str) -> None:
    target = Folder(SimpleNamespace(sparkContext=SimpleNamespace(master="local[2]")), output)
    with target.staging() as staging:
        table = staging.within("table")
        os.mkdir(table.path)
        (Path(table.path) / "part").write_text("not audited yet")
        if how == "while it is moved":  # between the two steps that replace a release
            table._rename = lambda _: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
            table.move(target, force=True)
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
