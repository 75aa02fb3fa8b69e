"""The guard in front of the application: who may ask, from where, and what every answer says to the browser.

It is plain ASGI, so that streams pass through it as they are. It refuses:

* programs of other users of this machine, as far as the system tells (see `shoal.web.peers`);
* a `Host` that is not on the list. This alone stops DNS rebinding, in which `Origin` and `Host` agree;
* an `Origin` that is not on the list, and requests that a browser says come from another site (`Sec-Fetch-Site`);
* bodies beyond the limit, whatever `Content-Length` says, and those that come too slowly. Uploads see to it themselves;
* more than a browser full of windows could ask for at a time;
* WebSockets, which the page does not use.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from shoal.web.faults import Fault, defect, told
from shoal.web.peers import is_foreign
from shoal.web.settings import BODY, REQUESTS, SILENCE, SLOWEST, Settings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

log = logging.getLogger("shoal.web")

POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; object-src 'none'"
)
# Of a report, which has its styles in it: it may load nothing, run nothing and reach nothing.
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'; sandbox allow-same-origin"
)
HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"x-frame-options": b"DENY",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), microphone=(), geolocation=()",
}
HERE = (b"same-origin", b"none")


class Guard:
    """Lets through what the settings allow.

    Parameters
    ----------
    app : ASGI application
    settings : Settings
    """

    def __init__(self, app: App, settings: Settings) -> None:
        self.app = app
        self.hosts = settings.hosts
        self.origins = settings.origins
        self.local = not settings.behind_proxy
        self.answering = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        reply = _with_headers(send, private=scope["path"].startswith("/api/"))
        fault = self._fault(scope) if self.answering < REQUESTS else _too_many()
        if fault is not None:
            await _refuse(reply, fault)
            return
        self.answering += 1
        body = receive if scope["path"].endswith("/upload") else _bounded(receive)
        try:
            await self.app(scope, body, reply)
        except Exception as error:
            # It was answered. The server would write its traceback, which may quote values of the data.
            log.error("%s", defect(error)["message"])
        finally:
            self.answering -= 1

    def _fault(self, scope: Scope) -> Fault | None:
        """Return why a request is refused; None if it is not."""
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        client, server = scope.get("client"), scope.get("server")
        if self.local and client and server and is_foreign(client, server):
            return Fault(403, "Requests must come from programs of whoever started the server. Got another user's.")
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or hosts[0].decode("latin-1").lower() not in self.hosts:
            return Fault(403, "The address must be the one that shoal serve printed. Got another host.")
        for origin in headers.get(b"origin", []):
            if origin.decode("latin-1").lower() not in self.origins:
                return Fault(403, "Requests must come from the page itself. Got another origin.")
        for site in headers.get(b"sec-fetch-site", []):
            # A link to the page may be followed from anywhere: it shows nothing by itself.
            link = scope["method"] == "GET" and scope["path"] == "/" and headers.get(b"sec-fetch-dest") == [b"document"]
            if site not in HERE and not link:
                return Fault(403, "Requests must come from the page itself. Got another site.")
        claimed = headers.get(b"content-length", [b""])[0]
        if not scope["path"].endswith("/upload") and claimed.isdigit() and int(claimed) > BODY:
            return _too_large()
        return None


def _with_headers(send: Send, *, private: bool) -> Send:
    """Return a `send` that adds the headers of every answer, unless the answer has its own."""

    async def reply(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", []))
            names = {name.lower() for name, _ in given}
            ours = HEADERS | ({b"cache-control": b"no-store"} if private else {b"cache-control": b"no-cache"})
            message["headers"] = [*given, *((name, value) for name, value in ours.items() if name not in names)]
        await send(message)

    return reply


def _bounded(receive: Receive) -> Receive:
    """Return a `receive` that fails when the body is beyond the limit, or takes for ever."""
    size, more, begun = 0, True, time.monotonic()

    async def bounded() -> Message:
        nonlocal size, more
        if not more:  # what comes after the body is waited for as long as an answer takes
            return await receive()
        try:
            async with asyncio.timeout(begun + SILENCE + size / SLOWEST - time.monotonic()):
                message = await receive()
        except TimeoutError:
            raise Fault(408, "A request must come to its end. Got one that is too slow.") from None
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
        if size > BODY:
            raise _too_large()
        return message

    return bounded


def _too_many() -> Fault:
    return Fault(503, f"At most {REQUESTS} requests may be answered at a time. Got one more.", "try again in a moment.")


def _too_large() -> Fault:
    return Fault(413, f"A request must have at most {BODY // 2**20} MB. Got more.", "upload it as a file.")


async def _refuse(send: Send, fault: Fault) -> None:
    body = json.dumps({"error": told(fault)}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": fault.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
