"""Hooks that are called while a job runs."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.io import Source
    from shoal.progress import Progress
    from shoal.release.preparation import Prepared
    from shoal.release.private.table import PrivateTable
    from shoal.release.release import Release
    from shoal.release.updates.update import Update


class Hooks:
    """Hooks that do nothing. Subclasses override those that they need."""

    def on_step(self, step: str) -> Progress | None:
        """Return the progress callable of the step that begins: "reading", "grouping" or "writing"."""
        return None

    def on_prepared(self, source: Source, prepared: Prepared) -> None:
        """Called with the table and its schema, before records are grouped."""

    def grouping(self) -> AbstractContextManager[None]:
        """Return the context in which records are grouped."""
        return nullcontext()

    def enough(self) -> bool:
        """Return whether a search may end now, with the best groups so far; called often, from several threads."""
        return False

    def on_warning(self, words: str) -> None:
        """Called with what weakens the protection, which is also issued as a Python warning."""

    def on_written(self, release: Release | PrivateTable | Update) -> None:
        """Called when the release has been written, but not its documents yet."""

    def on_note(self, words: str) -> None:
        """Called with what the format of the output could not represent."""
