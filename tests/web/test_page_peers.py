"""Programs of other users of the machine are not let in, whatever they know."""

import os
import socket
import subprocess
import sys
from contextlib import closing, contextmanager

import pytest
from web_servers import BASE, run

from clocks import PATIENCE
from shoal.web import peers
from shoal.web.app import app_of
from shoal.web.desk import Desk
from shoal.web.settings import Settings

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells whose socket it is")
OTHER = os.getuid() + 4711


@contextmanager
def connected(host="127.0.0.1"):
    """Yield both ends of a real connection: those of the client and of the server, as a server knows them."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with closing(socket.socket(family)) as listening:
        listening.bind((host, 0))
        listening.listen(1)
        client = socket.create_connection(listening.getsockname()[:2], timeout=PATIENCE)
        accepted, ours = listening.accept()
        with closing(client), closing(accepted):
            yield ours[:2], accepted.getsockname()[:2]


@LINUX
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_connection_is_found_with_its_owner(host):
    try:
        with connected(host) as ends:
            assert peers.owner(*ends) == (peers.ESTABLISHED, os.getuid())
            assert not peers.is_foreign(*ends)
            client, server = ends
            assert peers.owner((client[0], server[1]), server) is None  # who listens has not made a connection
            assert peers.owner((client[0], 1), server) is None
    except OSError as error:
        pytest.skip(f"this machine has no {host}: {error}")


@LINUX
def test_what_a_closed_connection_asked_for_is_not_done():
    """The system says that it belongs to root, whoever had it."""
    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)
        client = socket.create_connection(listening.getsockname(), timeout=PATIENCE)
        ends = client.getsockname(), listening.getsockname()
        client.sendall(b"POST")
        client.close()
        assert peers.is_foreign(*ends)


@pytest.mark.parametrize(
    ("state", "uid", "foreign"),
    [(1, os.getuid(), False), (1, 0, False), (1, OTHER, True), (4, 0, True), (5, OTHER, True)],
)
def test_only_this_user_and_root_may_ask_on_an_open_connection(monkeypatch, state, uid, foreign):
    monkeypatch.setattr(peers, "owner", lambda client, server: (state, uid))
    assert peers.is_foreign(("127.0.0.1", 50_000), ("127.0.0.1", 8642)) is foreign


@pytest.mark.parametrize("client", ["127.0.0.1", "::1", "a name", ""])
def test_where_the_system_does_not_tell_the_secrets_decide(monkeypatch, client):
    monkeypatch.setattr(peers, "_PROTOCOL", 31)  # which nothing answers
    assert not peers.is_foreign((client, 50_000), ("127.0.0.1", 8642))
    monkeypatch.delattr(socket, "AF_NETLINK", raising=False)
    assert not peers.is_foreign((client, 50_000), ("127.0.0.1", 8642))


@pytest.mark.parametrize(("names", "status"), [((), 403), (("127.0.0.1:8642",), 401)])
def test_the_guard_asks_for_it_unless_a_proxy_stands_in_front(tmp_path, monkeypatch, names, status):
    monkeypatch.setattr("shoal.web.guard.is_foreign", lambda client, server: True)

    async def ask():
        import httpx

        guard = app_of(Desk(Settings(port=8642, names=names), tmp_path))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(guard), base_url=BASE) as client:
            return await client.get("/api/v1/state")

    answer = run(ask())
    assert answer.status_code == status
    assert answer.json()["error"]["hint"] is None or status == 401


@LINUX
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_a_program_of_another_user_is_foreign():
    code = (
        "import os, socket, sys\nos.setuid(65534)\none = socket.socket()\n"
        "one.connect(('127.0.0.1', int(sys.argv[1])))\none.recv(1)"
    )
    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)
        listening.settimeout(PATIENCE)
        port = listening.getsockname()[1]
        with subprocess.Popen([sys.executable, "-c", code, str(port)]) as process:
            accepted, client = listening.accept()
            with closing(accepted):
                assert peers.is_foreign(client, accepted.getsockname())
            process.wait(PATIENCE)
