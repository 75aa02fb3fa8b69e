"""Transfer of bytes from the network to the disk, whole or not at all."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["LARGEST", "TransferError", "fetch", "write_whole"]

LARGEST = 64 * 2**20  # bytes; the largest table has four million bytes
_WAIT = 30.0  # seconds without a byte
_DEADLINE = 300.0  # seconds for the whole file, as a server may also be slow byte by byte
_CHUNK = 2**16


class TransferError(Exception):
    """The file did not arrive whole. The message completes a sentence that begins with 'Got'."""


def fetch(url: str) -> bytes:
    """Return the bytes behind `url`, or raise TransferError."""
    # Imported here, as only downloads need them.
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    request = Request(url, headers={"User-Agent": "shoal", "Accept-Encoding": "identity"})
    deadline = time.monotonic() + _DEADLINE
    received = bytearray()
    try:
        with urlopen(request, timeout=_WAIT) as response:
            announced = response.headers.get("Content-Length")
            # read1 returns after each receipt; read would loop inside, where the deadline is not checked.
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
    # http.client reports an early end only if everything is read in one call.
    if announced is not None and announced.isdigit() and len(received) != int(announced):
        raise TransferError(f"{len(received)} of {announced} bytes")
    return bytes(received)


def write_whole(path: Path, content: bytes) -> None:
    """Write `content` to `path`, whole or not at all.

    At any moment there is the old file, the new one, or none. The folder is created if needed. If that or the writing
    fails, OSError is raised, and no part of a file is left.
    """
    from tempfile import mkstemp

    path.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder, as replacing a file is a single step only within one file system.
    descriptor, temporary = mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes the file readable for its owner only, but the data are public.
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        # The first error is the one to report.
        with suppress(OSError):
            os.unlink(temporary)
        raise
