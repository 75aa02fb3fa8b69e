"""What a server may do: addresses, limits, and what is opened at the start."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

PORT = 8642
LOOPBACK = ("127.0.0.1", "::1", "localhost")
# Groups and other marks of a picture, at most.
MARKS = 5000
# Bytes of a request that is not an upload.
BODY = 16 * 2**20
# Requests at the same time, over all users; a browser has six at most.
REQUESTS = 400
# Seconds that a client may be silent, and bytes a second that a body has on average once it has lasted for longer.
SILENCE, SLOWEST = 60.0, 4096
# Bytes that a compressed upload may have when it is unpacked, times its limit.
UNPACKED = 4
# Tables, and jobs that are not finished, of a user.
MOST_TABLES, MOST_WAITING, MOST_JOBS = 50, 200, 1000
# Streams of events of a user: one for every window of the page, and each holds a connection for as long as it is open.
MOST_STREAMS = 8


def available_memory() -> int:
    """Return the bytes of memory that this process may use: those of the machine, or of its container if fewer."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        whole = 8 * 2**30
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            limit = file.read().strip()
    except OSError:
        return whole
    return min(whole, int(limit)) if limit.isdigit() else whole


@dataclass(frozen=True)
class Settings:
    """The settings of a server.

    Attributes
    ----------
    host, port : str, int
        Where it listens.
    names : tuple of str
        Names by which a proxy in front of it is reached, with a port unless it is the usual one; () without a proxy.
    users : int
        Number of links, each for a user of its own.
    source : str or None
        The table that is opened for every user at the start.
    paths : bool
        Whether users may open tables of this machine by their paths: only those at its own keyboard.
    folder : str or None
        Where the private folder is made; by default one of this user's among the temporary files.
    upload_bytes, memory_bytes : int
        Largest upload, and largest memory of a worker.
    disk_bytes : int
        Largest space on the disk that tables and results of one user may take.
    disk_total_bytes : int or None
        The same of all users together; None: nine tenths of what is free when the server starts.
    job_seconds, idle_seconds : float
        Longest job, and how long a user may do nothing before everything of hers is wiped.
    at_once : int
        Jobs that run at the same time.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    names: tuple[str, ...] = ()
    users: int = 1
    source: str | None = None
    paths: bool = True
    folder: str | None = None
    upload_bytes: int = 2 * 2**30
    disk_bytes: int = 16 * 2**30
    disk_total_bytes: int | None = None
    memory_bytes: int = field(default_factory=lambda: available_memory() * 3 // 4)
    job_seconds: float = 3600.0
    idle_seconds: float = 8 * 3600.0
    at_once: int = 1

    @property
    def behind_proxy(self) -> bool:
        """Return whether a proxy stands in front."""
        return bool(self.names)

    @property
    def hosts(self) -> frozenset[str]:
        """Return what the header Host may be."""
        if self.behind_proxy:
            return frozenset(name.lower() for name in self.names)
        return frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]"))

    @property
    def origins(self) -> frozenset[str]:
        """Return what the header Origin may be."""
        scheme = "https" if self.behind_proxy else "http"
        return frozenset(f"{scheme}://{host}" for host in self.hosts)

    @property
    def cookie(self) -> str:
        """Return the name of the cookie: cookies of one host are shared by all of its ports.

        With its prefix, a browser takes it over TLS from this very host only, and not from another one of its domain.
        """
        return f"__Host-shoal-{self.port}" if self.behind_proxy else f"shoal-{self.port}"

    @property
    def address(self) -> str:
        """Return where users find the page."""
        if self.behind_proxy:
            return f"https://{self.names[0]}/"
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}/"

    def limits(self) -> dict[str, float]:
        """Return the limits as the page shows them."""
        return {
            "upload_bytes": self.upload_bytes,
            "disk_bytes": self.disk_bytes,
            "job_seconds": self.job_seconds,
            "memory_bytes": self.memory_bytes,
            "jobs_at_once": self.at_once,
            "idle_seconds": self.idle_seconds,
            "marks": MARKS,
        }
