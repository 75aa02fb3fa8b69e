"""``shoal serve`` as a process of its own: links, signals, and what is left on the disk."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import get_args
from urllib.parse import urlsplit

import httpx
import pytest
from web_servers import serving

from clocks import PATIENCE
from shoal.web import server
from shoal.web.jobs import Kind
from shoal.web.settings import Settings
from shoal.web.worker import FIRST_TO_GO, JOBS, NICE, NICER


def entered(link):
    """Return a client that has exchanged the token of a link for a cookie."""
    address, token = link.split("#token=")
    client = httpx.Client(base_url=address, timeout=PATIENCE)
    assert client.post("api/v1/session", json={"token": token}).status_code == 200
    return client


def test_nothing_is_left_after_the_end_nor_after_a_kill_and_another_start(tmp_path):
    marker = "Mallory Marker 4711"
    people = "name,age\n" + "".join(f"{marker} {i},{i}\n" for i in range(30))
    (tmp_path / "people.csv").write_text(people)
    folder = tmp_path / "kept"
    with serving(folder, str(tmp_path / "people.csv"), "--port", "18642") as (process, link):
        assert urlsplit(link).port == 18642
        with closing(entered(link)) as client:
            state = client.get("api/v1/state").json()
            assert [table["name"] for table in state["tables"]] == ["people.csv"]
            upload = client.post("api/v1/tables/upload", content=people, headers={"x-shoal-name": "a.csv"})
            assert upload.status_code == 201
            with client.stream("GET", "api/v1/events?after=0") as events:
                assert events.headers["x-accel-buffering"] == "no"
                assert next(events.iter_lines()).startswith("retry")
            (private,) = folder.iterdir()
            assert private.stat().st_mode & 0o777 == 0o700
            left = [path for path in private.rglob("*") if path.is_file() and path.stat().st_size]
            assert any(marker in path.read_text() for path in left)
            assert {path.stat().st_mode & 0o77 for path in private.rglob("*")} == {0}
        os.kill(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)
        rest = process.stdout.read()
    assert list(folder.iterdir())  # the killed one could not clean up
    with serving(folder, "--port", "18642") as (process, link):
        (private,) = folder.iterdir()
        assert not [path for path in private.rglob("*") if path.is_file() and path.stat().st_size]
        with closing(entered(link)) as client:
            client.post("api/v1/tables/upload", content=people, headers={"x-shoal-name": "a.csv"})
            with client.stream("GET", "api/v1/events") as events:
                lines = events.iter_lines()
                next(lines)
                process.send_signal(signal.SIGTERM)
                said = "\n".join(lines)
        process.wait(PATIENCE)
        rest += process.stdout.read()
    assert "event: ending" in said
    assert process.returncode == 0
    assert not list(folder.iterdir())
    assert "Mallory" not in rest
    assert "Traceback" not in rest


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--host", "0.0.0.0"], "--behind-proxy"),
        (["--behind-proxy", "http://x/"], "must be that of a host"),
        (["--port", "0"], "at least 1"),
        (["no-such-file.csv"], "no such file"),
    ],
)
def test_servers_that_must_not_be_are_refused(tmp_path, options, words):
    from typer.testing import CliRunner

    from shoal.cli.app import app

    answer = CliRunner().invoke(app, ["serve", "--no-browser", "--folder", str(tmp_path), *options])
    assert answer.exit_code == 2
    assert words in " ".join(answer.output.split())
    assert not list(tmp_path.iterdir())


def test_the_server_itself_loads_nothing_heavy(tmp_path):
    """Kernels and tables belong to the workers: the first compilation would hold up everybody."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom shoal.web.app import app_of\nfrom shoal.web.desk import Desk\n"
        "from shoal.web.settings import Settings\nimport shoal.web.server\n"
        f"app_of(Desk(Settings(), Path({str(tmp_path)!r})))\n"
        "print([name for name in ('numba', 'numpy', 'pyarrow', 'pandas', 'scipy', 'sklearn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout.strip() == "[]"


def test_a_worker_ends_with_its_server(tmp_path):
    """Its input ends when the server is killed, and so does it."""
    command = [sys.executable, "-m", "shoal.web.worker"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path, text=True) as process:
        process.stdin.close()
        process.wait(PATIENCE)
    assert process.returncode != 0
    assert Path(tmp_path).is_dir()


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="only Linux has batch processes")
@pytest.mark.parametrize(
    ("task", "batch", "nice"), [("run", True, NICER), ("compare", True, NICER), ("inspect", False, NICE)]
)
def test_workers_let_the_server_go_first(task, batch, nice):
    """A job more than what somebody waits for."""
    code = (
        "import os\nfrom shoal.web.worker import give_way\nbefore = os.nice(0)\n"
        f"give_way({task!r})\n"
        f"print(os.sched_getscheduler(0) == os.SCHED_BATCH, os.nice(0) == min(19, before + {nice}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout.split() == [str(batch), "True"]


@pytest.mark.skipif(not Path("/proc/self/oom_score_adj").exists(), reason="only Linux chooses by a score")
def test_workers_are_what_the_system_ends_when_memory_runs_out():
    code = "from shoal.web.worker import give_way\ngive_way('inspect')\nprint(open('/proc/self/oom_score_adj').read())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert int(done.stdout) == FIRST_TO_GO


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="only Linux tells the limits of other processes")
def test_a_worker_that_crashes_leaves_no_image_of_its_memory():
    code = "from shoal.web.worker import dump_nothing\ndump_nothing()\nprint(open('/proc/self/limits').read())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert "Max core file size 0 0" in " ".join(done.stdout.split())


def test_jobs_are_the_tasks_that_wait_for_their_turn():
    assert set(JOBS) == set(get_args(Kind))


def test_a_port_is_listened_on_before_its_link_is_told():
    """Whoever follows the link at once waits for an answer, and a second server takes another port."""
    first = server._bound(Settings(port=0))
    second = server._bound(Settings(port=0))
    with closing(first), closing(second), closing(socket.create_connection(first.getsockname(), timeout=PATIENCE)):
        assert first.getsockname()[1] != second.getsockname()[1]
