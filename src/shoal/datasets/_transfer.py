"""Getting bytes from the network and onto the disk, whole or not at all."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["LARGEST", "TransferError", "fetch", "write_whole"]

LARGEST = 64 * 2**20  # bytes; the largest table has four million
_WAIT = 30.0  # seconds without a byte ...
_DEADLINE = 300.0  # ... and for the whole file, because a server can also be slow byte by byte
_CHUNK = 2**16


class TransferError(Exception):
    """The file did not arrive whole; the message completes a sentence that begins with 'Got'."""


def fetch(url: str) -> bytes:
    """Return the bytes behind `url`, or raise TransferError."""
    # Only whoever downloads pays for these imports.
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    request = Request(url, headers={"User-Agent": "shoal", "Accept-Encoding": "identity"})
    deadline = time.monotonic() + _DEADLINE
    received = bytearray()
    try:
        with urlopen(request, timeout=_WAIT) as response:
            announced = response.headers.get("Content-Length")
            # read1 returns after one receipt; read would sit in a loop that the deadline cannot interrupt.
            while chunk := response.read1(_CHUNK):
                received += chunk
                if len(received) > LARGEST:
                    raise TransferError(f"more than {LARGEST} bytes")
                if time.monotonic() > deadline:
                    raise TransferError(f"no end of the file within {_DEADLINE:g} seconds")
    except HTTPError as error:
        with error:  # it holds the open connection
            raise TransferError(f"HTTP status {error.code}") from None
    except TimeoutError:
        raise TransferError(f"no answer within {_WAIT:g} seconds") from None
    except URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise TransferError(f"no answer within {_WAIT:g} seconds") from None
        raise TransferError(f"no connection ({error.reason})") from None
    except (HTTPException, OSError) as error:
        raise TransferError(f"a broken connection ({type(error).__name__})") from None
    # http.client reports an early end only to those who read everything in one call.
    if announced is not None and announced.isdigit() and len(received) != int(announced):
        raise TransferError(f"{len(received)} of {announced} bytes")
    return bytes(received)


def write_whole(path: Path, content: bytes) -> None:
    """Write `content` to `path` so that at any moment the old file, the new one or none is there.

    The folder is made if need be. Raises OSError if that or the writing fails; no part of a file is left.
    """
    from tempfile import mkstemp

    path.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder: only within one file system is the replacement a single step.
    descriptor, temporary = mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes it readable for its owner alone; these are public data.
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        # The first error is the one to report.
        with suppress(OSError):
            os.unlink(temporary)
        raise
