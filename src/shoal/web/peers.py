"""Who is at the other end of a connection of this machine: only programs of the user who runs the server may ask.

A link can be seen for a moment in the list of processes, when a browser is started with it, and browsers send a cookie
to every port of a host. Neither is of use to other users of the machine: Linux tells whose socket it is (sock_diag(7)).
"""

from __future__ import annotations

import os
import socket
import struct

ESTABLISHED, LISTENING, ROOT = 1, 10, 0
# The request of one socket by its ends: a header, then family, protocol, states and ends, of any cookie.
_HEADER, _WANTED = struct.Struct("=IHHII"), struct.Struct("=BBBBI2s2s16s16sIII")
_PROTOCOL, _BY_FAMILY, _REQUEST, _ANY = 4, 20, 1, 0xFFFFFFFF
# Where the answer, after its header, has the state and the owner.
_STATE, _OWNER = 1, struct.Struct("=64xI")

End = tuple[str, int]


def is_foreign(client: End, server: End) -> bool:
    """Return whether a program of another user made a connection; False where the system does not tell.

    A connection that its program has closed belongs to nobody: what it asked for is not done either.
    """
    found = owner(client, server)
    return found is not None and (found[0] != ESTABLISHED or found[1] not in (os.getuid(), ROOT))


def owner(client: End, server: End) -> tuple[int, int] | None:
    """Return the state and the owner of the client's end of a connection; None where the system does not tell."""
    family = socket.AF_INET6 if ":" in client[0] else socket.AF_INET
    try:
        ends = [socket.inet_pton(family, host).ljust(16, b"\0") for host, _ in (client, server)]
        ports = [port.to_bytes(2, "big") for _, port in (client, server)]
        wanted = _WANTED.pack(family, socket.IPPROTO_TCP, 0, 0, _ANY, *ports, *ends, 0, _ANY, _ANY)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _PROTOCOL) as asking:
            asking.setblocking(False)  # the answer is there when the question has been sent
            asking.sendto(_HEADER.pack(_HEADER.size + len(wanted), _BY_FAMILY, _REQUEST, 1, 0) + wanted, (0, 0))
            answer = asking.recv(8192)
    except (OSError, ValueError, AttributeError, OverflowError):
        return None
    kind, told = _HEADER.unpack_from(answer)[1], answer[_HEADER.size :]
    if kind != _BY_FAMILY or len(told) < _OWNER.size or told[_STATE] == LISTENING:
        return None  # there is no such connection, or only who would take one
    return told[_STATE], _OWNER.unpack_from(told)[0]
