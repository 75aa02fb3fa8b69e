"""Runs the server: a port, a private folder, links for users, and an end that leaves nothing behind."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Any

from shoal.errors import OptionError, ShoalError
from shoal.web.folders import private_place
from shoal.web.settings import LOOPBACK, PORT, REQUESTS, Settings

if TYPE_CHECKING:
    from shoal.web.desk import Desk

# Ports that are tried if none is asked for, and seconds that open requests have when the server ends.
PORTS, GRACE = 20, 2


def serve(
    settings: Settings, *, on_start: Callable[[Settings, list[str]], None], on_link: Callable[[str], None]
) -> None:
    """Serve the page until the process is asked to end.

    Parameters
    ----------
    settings : Settings
        With port 0, the first free one from 8642 on is taken.
    on_start : callable
        Called with the settings, the port being known, and the links of the users.
    on_link : callable
        Called with a new link, when a visit has ended.
    """
    try:
        import uvicorn

        from shoal.web.app import app_of
        from shoal.web.desk import Desk
    except ImportError:
        raise ShoalError(
            "The page needs the packages fastapi and uvicorn. Got none: they are not installed.",
            "pip install 'shoal[web]'",
        ) from None
    if settings.host not in LOOPBACK and not settings.behind_proxy:
        raise OptionError(
            f"The host must be this machine itself (127.0.0.1) without a proxy in front. Got {settings.host!r}.",
            "put a proxy with TLS in front, and name the host that it is reached by: --behind-proxy NAME.",
        )
    with private_place(settings.folder) as folder, _bound(settings) as listening:
        settings = replace(settings, port=listening.getsockname()[1])
        desk = Desk(settings, folder, on_link)
        config = uvicorn.Config(
            app_of(desk),
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=2 * REQUESTS,  # connections, which may ask for nothing; the guard counts requests
            timeout_graceful_shutdown=GRACE,
            ws="none",
        )
        on_start(settings, [desk.new_link() for _ in range(settings.users)])
        _server_of(config, desk).run(sockets=[listening])


def _server_of(config: Any, desk: Desk) -> Any:
    import uvicorn

    class Server(uvicorn.Server):
        """Tells all listeners when it is asked to end, so that their streams do not hold it up."""

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            for user in desk.users:
                user.events.close("The server was ended: everything was wiped.")
            super().handle_exit(sig, frame)

    return Server(config)


def _bound(settings: Settings) -> socket.socket:
    """Return the socket that the server listens on."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    ports = range(PORT, PORT + PORTS) if settings.port == 0 else [settings.port]
    for port in ports:
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError, OverflowError):
            listening.bind((settings.host, port))
            # At once: links are told before the server answers, and two servers must not share a port.
            listening.listen(REQUESTS)
            return listening
        listening.close()
    hint = "name another with --port." if settings.port else "name one with --port."
    raise ShoalError(
        f"The port {ports[0]} of {settings.host} must be free. Got one that is taken or not allowed.", hint
    )
