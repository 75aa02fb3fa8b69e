"""``shoal serve``: the page, on this machine."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rich.text import Text

from shoal.cli.command import takes
from shoal.cli.shell import current, reports_errors
from shoal.cli.words import shown
from shoal.errors import OptionError
from shoal.options.option import Given, Option, switch
from shoal.options.table import QUIET, VERBOSE
from shoal.options.values import NAMES, NUMBER, WHOLE

if TYPE_CHECKING:
    from shoal.cli.shell import Shell
    from shoal.web.settings import Settings

EXAMPLES = """
[bold]Examples[/bold]

[cyan]shoal serve[/cyan]

[cyan]shoal serve people.csv --no-browser[/cyan]

[dim]For a department, behind a proxy with TLS that is reached as data.example.org, with links for five people:[/dim]

[cyan]shoal serve --behind-proxy data.example.org --host 0.0.0.0 --port 8642 --users 5[/cyan]

[dim]Every link is good for one visit. Tables and results are kept in a private folder, which is wiped when the server
ends, when a visit ends, and after hours without a click.[/dim]
"""
LIMITS = "Limits"
PROXY = "For a department"


@reports_errors
@takes(
    Option("source", "A table to begin with: a file or a database.", "FILE"),
    Option("--port", "Port. Default: the first free one from 8642 on.", "N", WHOLE),
    switch("--no-browser", "Open no browser; only print the link."),
    Option(
        "--behind-proxy",
        "Name by which a proxy with TLS, which stands in front, is reached. Tables can then only be uploaded.",
        "NAME",
        NAMES,
        panel=PROXY,
    ),
    Option("--host", "Address to listen on, with --behind-proxy. Default: 127.0.0.1.", "ADDRESS", panel=PROXY),
    Option("--users", "Number of links, each for a user of its own. Default: 1.", "N", WHOLE, panel=PROXY),
    Option("--upload-limit", "Largest upload, in MB. Default: 2048.", "MB", NUMBER, panel=LIMITS),
    Option("--disk", "Disk space of one user, in MB. Default: 16384.", "MB", NUMBER, panel=LIMITS),
    Option(
        "--disk-total",
        "Disk space of all users, in MB. Default: nine tenths of what is free.",
        "MB",
        NUMBER,
        panel=LIMITS,
    ),
    Option("--memory", "Largest memory of a job, in MB. Default: three quarters of all.", "MB", NUMBER, panel=LIMITS),
    Option("--job-time", "Longest time of a job, in seconds. Default: 3600.", "S", NUMBER, panel=LIMITS),
    Option("--jobs", "Jobs at a time. Default: 1.", "N", WHOLE, panel=LIMITS),
    Option("--idle", "Minutes without a click until everything is wiped. Default: 480.", "MIN", NUMBER, panel=LIMITS),
    Option("--folder", "Where to make the private folder. Default: among temporary files.", "DIR", panel=LIMITS),
    QUIET,
    VERBOSE,
)
def serve(given: Given) -> None:
    """Open the page: a table is anonymised in the browser, on this machine."""
    from shoal.web.server import serve as run

    shell, settings = current(), settings_of(given)

    def on_start(settings: Settings, links: list[str]) -> None:
        _show(shell, settings, links)
        if not given["no_browser"] and not settings.behind_proxy:
            _open(links[0])

    with suppress(KeyboardInterrupt):  # the usual end of a server
        run(settings, on_start=on_start, on_link=lambda link: shell.out.print(_link("A visit ended. A new one", link)))
    shell.show(Text("The server was ended, and everything that it kept was wiped.", style="dim"))


def settings_of(given: Given) -> Settings:
    """Return the settings of the server, or refuse the options."""
    from shoal.io.files import checked_input
    from shoal.io.formats import locate
    from shoal.web.settings import Settings

    least = {"port": 1, "users": 1, "jobs": 1, "memory": 64, "job_time": 1, "idle": 0.1}
    least |= dict.fromkeys(("upload_limit", "disk", "disk_total"), 0.001)
    for key, low in least.items():
        if given[key] is not None and not low <= given[key] < 10**9:
            raise OptionError(f"The option --{key.replace('_', '-')} must be at least {low:g}. Got {given[key]:g}.")
    names = tuple(given["behind_proxy"] or ())
    if given["source"] is not None:
        place = locate(given["source"], None, "source")
        if place.path is not None:
            checked_input(place.path)
    if any(not _plain(name) for name in names):
        raise OptionError("The name of a proxy must be that of a host, with a port if need be. Got something else.")
    chosen: dict[str, Any] = {
        "host": given["host"],
        "port": 0 if given["port"] is None else given["port"],
        "names": names,
        "users": given["users"],
        "source": _absolute(given["source"]),
        "paths": not names,
        "folder": given["folder"],
        "upload_bytes": _bytes(given["upload_limit"]),
        "disk_bytes": _bytes(given["disk"]),
        "disk_total_bytes": _bytes(given["disk_total"]),
        "memory_bytes": _bytes(given["memory"]),
        "job_seconds": given["job_time"],
        "idle_seconds": None if given["idle"] is None else given["idle"] * 60,
        "at_once": given["jobs"],
    }
    return Settings(**{name: value for name, value in chosen.items() if value is not None})


def _bytes(megabytes: float | None) -> int | None:
    return None if megabytes is None else int(megabytes * 2**20)


def _plain(name: str) -> bool:
    return bool(name) and all(c.isascii() and (c.isalnum() or c in ".-:[]") for c in name)


def _absolute(source: str | None) -> str | None:
    return source if source is None or "://" in source else os.path.abspath(os.path.expanduser(source))


def _show(shell: Shell, settings: Settings, links: list[str]) -> None:
    many = len(links) > 1
    what = "The page of user" if many else "The page"
    for at, link in enumerate(links, 1):
        # Even when quiet: nobody gets in without it.
        shell.out.print(_link(f"{what} {at}" if many else what, link))
    shell.show(
        Text("The link is good for one visit. Ctrl-C ends the server, and wipes everything that it kept.", style="dim")
    )
    if settings.behind_proxy:
        shell.warn(
            f"The server listens on {settings.host}:{settings.port} without TLS. Put a proxy in front that takes "
            f"https://{settings.names[0]}, passes Host on, and does not buffer events; let nobody else reach the port."
        )


def _link(words: str, link: str) -> Text:
    return Text.assemble(f"{words}: ", (shown(link), "bold cyan"))


def _open(link: str) -> None:
    """Open a browser, if there is one; its own messages are not ours."""
    import threading
    import webbrowser

    threading.Timer(0.5, lambda: webbrowser.open(link)).start()
