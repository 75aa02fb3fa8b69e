"""A real PostgreSQL server for the tests, in a folder of its own and gone afterwards."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

from clocks import PATIENCE

PASSWORD = "se/cr@t:1%"  # with everything that an address must encode
QUOTED_PASSWORD = "se%2Fcr%40t%3A1%25"


def server_programs():
    """Return the folder with initdb and pg_ctl of the newest version, or None."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    beside = shutil.which("initdb")
    found += [Path(beside).resolve().parent] if beside else []
    return max(found, key=lambda folder: [int(part) for part in folder.parts if part.isdigit()], default=None)


def _as_whom():
    """Return options for subprocess: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}, None
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = names.get("postgres") or names["nobody"]
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}, user


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def postgresql(programs):
    """Start a server and give the address of its database, password and all."""
    folder = Path(tempfile.mkdtemp(prefix="shoal-pg-"))  # short: the path of a socket may have 107 characters
    options, user = _as_whom()
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    secret = folder / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)

    def run(*command):
        # No pipes: the server would keep them open.
        with open(os.devnull, "w") as nowhere:
            subprocess.run(command, check=True, stdout=nowhere, stderr=nowhere, cwd=folder, timeout=PATIENCE, **options)

    data = folder / "data"
    control = programs / "pg_ctl"
    try:
        run(
            *(programs / "initdb", "-D", data, "-U", "shoal", "-A", "scram-sha-256", "--pwfile", secret),
            *("-E", "UTF8", "--locale=C", "--no-sync"),
        )
        port = _free_port()
        settings = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        run(control, "-D", data, "-l", folder / "log", "-o", settings, "-w", "-t", str(round(PATIENCE)), "start")
        try:
            yield f"postgresql://shoal:{QUOTED_PASSWORD}@127.0.0.1:{port}/postgres"
        finally:
            run(control, "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
