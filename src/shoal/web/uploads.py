"""Uploads: streamed to the disk, with every byte counted, and nothing left of one that is refused or broken off."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

from starlette.requests import ClientDisconnect, Request

from shoal.web.faults import Fault, in_words
from shoal.web.settings import SILENCE, SLOWEST

# Bytes that are gathered before they are written.
CHUNK = 2**20
# Chunks between two looks at the space that is left.
LOOK = 16


async def receive(
    request: Request,
    path: Path,
    limit: int,
    beyond: Callable[[], Fault | None] = lambda: None,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Write the body of a request to a new file that only its owner can read; return its size.

    Parameters
    ----------
    request : Request
    path : Path
    limit : int
        Bytes, at most. What the request says about its length is used to refuse it early, but not trusted.
    beyond : callable
        Returns the error if files take more of the disk than they may: uploads at the same time add up.
    clock : callable
        Seconds. A client that sends a byte now and then would hold its place for ever.

    Raises
    ------
    Fault
        If the body is too large or empty, comes too slowly, or ends before its end.
    """
    claimed = request.headers.get("content-length", "")
    if claimed.isdigit() and int(claimed) > limit:
        raise _too_large(limit)
    size, complete, chunks = 0, False, 0
    gathered, begun = bytearray(), clock()
    file = await asyncio.to_thread(os.open, path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        stream = request.stream()
        while True:
            try:
                part = await asyncio.wait_for(anext(stream), SILENCE)
            except StopAsyncIteration:
                break
            size += len(part)
            if size > limit:
                raise _too_large(limit)
            if clock() - begun > SILENCE + size / SLOWEST:
                raise Fault(408, f"An upload must have {SLOWEST} bytes a second at least. Got fewer.")
            gathered += part
            if len(gathered) >= CHUNK:
                await asyncio.to_thread(_write, file, bytes(gathered))
                gathered.clear()
                chunks += 1
                if chunks % LOOK == 0:
                    await _look(beyond)
        await asyncio.to_thread(_write, file, bytes(gathered))
        await _look(beyond)
        complete = True
    except ClientDisconnect:
        raise Fault(400, "An upload must come to its end. Got one that was broken off.") from None
    except TimeoutError:
        raise Fault(408, f"An upload must not pause for {SILENCE:.0f} seconds. Got one that did.") from None
    except OSError as error:
        raise Fault(507, f"The upload must fit on the disk. Got: {os.strerror(error.errno or 0)}.") from None
    finally:
        os.close(file)
        if not complete:
            path.unlink(missing_ok=True)
    if not size:
        path.unlink(missing_ok=True)
        raise Fault(422, "An upload must have something in it. Got an empty file.")
    return size


async def _look(beyond: Callable[[], Fault | None]) -> None:
    fault = await asyncio.to_thread(beyond)
    if fault is not None:
        raise fault


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _too_large(limit: int) -> Fault:
    hint = "leave out what is not needed, or raise --upload-limit of shoal serve."
    return Fault(413, f"An upload may have at most {in_words(limit)}. Got more.", hint)
