"""Errors as the API tells them: what must hold, what was found instead, a hint; never a value of the data."""

from __future__ import annotations

import os
import traceback
from typing import Any

from shoal.errors import DataError, OptionError, SeveralErrors, ShoalError


class Fault(ShoalError):
    """An error of a request, with its status of HTTP."""

    def __init__(self, status: int, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.status = status


def not_found(what: str) -> Fault:
    """Return the error for what is not there, or belongs to somebody else: both look alike."""
    return Fault(404, f"The {what} must be one of yours. Got another name.", "look at the list again.")


def told(error: BaseException) -> dict[str, Any]:
    """Return an error as plain values for JSON: ``kind``, ``message``, ``hint`` and ``problems``."""
    if isinstance(error, SeveralErrors):
        problems = [_words(problem) for problem in error.problems]
        first = str(error).split("\n", 1)[0]
        return {"kind": "SeveralErrors", "message": first, "hint": None, "problems": problems}
    if isinstance(error, ShoalError):
        return {"kind": type(error).__name__, **_words(error), "problems": []}
    if isinstance(error, MemoryError):
        words = "The job must fit into the memory. Got too little of it."
        return {"kind": "TooLargeError", "message": words, "hint": "take fewer rows or columns.", "problems": []}
    if isinstance(error, OSError):
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        words = f"The system must carry out what Shoal asks it for. Got: {reason}."
        return {"kind": "OSError", "message": words, "hint": "look for a full disk or missing rights.", "problems": []}
    return defect(error)


def defect(error: BaseException) -> dict[str, Any]:
    """Return an unexpected error: its type and place only, as its message may quote values of the data."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "shoal" in frame.filename]
    where = f", {os.path.basename(frames[-1].filename)} line {frames[-1].lineno}" if frames else ""
    words = f"This should not have happened ({type(error).__name__}{where}). It is a defect of Shoal."
    return {"kind": "Defect", "message": words, "hint": "please report it, without the data.", "problems": []}


def in_words(size: float) -> str:
    """Return a number of bytes in words."""
    return f"{size / 2**30:.3g} GB" if size >= 2**30 else f"{size / 2**20:.3g} MB"


def _words(error: ShoalError) -> dict[str, Any]:
    message = str(error)
    if error.hint is not None:
        message = message.removesuffix(f" Hint: {error.hint}")
    return {"message": message, "hint": error.hint}


def status_of(error: ShoalError) -> int:
    """Return the status of HTTP for an error of the library."""
    if isinstance(error, Fault):
        return error.status
    return 422 if isinstance(error, DataError | OptionError) else 409
