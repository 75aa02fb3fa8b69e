"""Users: whoever exchanged a link for a cookie. None of them sees anything of another one."""

from __future__ import annotations

import hashlib
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.web.events import Events
from shoal.web.faults import Fault, not_found

if TYPE_CHECKING:
    from shoal.web.jobs import Job
    from shoal.web.tables import Table

Clock = Callable[[], float]


class User:
    """A user, with her tables, jobs and events; they last until she is idle for long, or leaves.

    Attributes
    ----------
    id : str
    folder : Path
        Everything of hers that is on the disk.
    tables, jobs : by their names
    events : Events
    seen : float
        When she last asked for something.
    """

    def __init__(self, folder: Path, seen: float) -> None:
        self.id = f"u{secrets.token_hex(4)}"
        self.folder = folder / self.id
        self.folder.mkdir(mode=0o700)
        self.tables: dict[str, Table] = {}
        self.jobs: dict[str, Job] = {}
        self.events = Events()
        self.seen = seen

    def table(self, name: str) -> Table:
        """Return one of her tables."""
        if name not in self.tables:
            raise not_found("table")
        return self.tables[name]

    def job(self, name: str) -> Job:
        """Return one of her jobs."""
        if name not in self.jobs:
            raise not_found("job")
        return self.jobs[name]

    def new_folder(self, letter: str) -> tuple[str, Path]:
        """Return a new name that begins with a letter, and the folder of that name."""
        name = f"{letter}{secrets.token_hex(6)}"
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        return name, folder


class Users:
    """All users, found by their cookies; and the links that nobody has used yet.

    Parameters
    ----------
    folder : Path
    clock : callable
    """

    def __init__(self, folder: Path, clock: Clock = time.monotonic) -> None:
        self.folder = folder
        self.clock = clock
        self._tokens: set[bytes] = set()
        self._users: dict[bytes, User] = {}

    def __iter__(self) -> Iterator[User]:
        return iter(list(self._users.values()))

    def new_token(self) -> str:
        """Return a token that can be exchanged once."""
        token = secrets.token_urlsafe(32)
        self._tokens.add(_digest(token))
        return token

    def enter(self, token: str) -> tuple[User, str]:
        """Exchange a token for a user and the value of her cookie."""
        digest = _digest(token)
        if digest not in self._tokens:
            raise Fault(
                401,
                "The link must be one that shoal serve printed, and is good for one visit. Got another, or a used one.",
                "start shoal serve again for a new one.",
            )
        self._tokens.discard(digest)
        user, cookie = User(self.folder, self.clock()), secrets.token_urlsafe(32)
        self._users[_digest(cookie)] = user
        return user, cookie

    def of_cookie(self, cookie: str | None, *, seen: bool = True) -> User:
        """Return the user of a cookie, who is `seen` by it."""
        user = self._users.get(_digest(cookie)) if cookie else None
        if user is None:
            raise Fault(401, "A visit must begin with the link that shoal serve printed. Got none.", "open that link.")
        if seen:
            user.seen = self.clock()
        return user

    def remove(self, user: User, why: str) -> None:
        """Forget a user, and wipe everything of hers."""
        self._users = {digest: one for digest, one in self._users.items() if one is not user}
        user.events.close(why)
        shutil.rmtree(user.folder, ignore_errors=True)


def _digest(text: str) -> bytes:
    # Looked up by a digest: how long a comparison takes tells nothing about a secret.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
