"""What a shell does while a job is carried out."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.io import Source
    from shoal.progress import Progress
    from shoal.release.preparation import Prepared
    from shoal.release.release import Release


class Hooks:
    """What is done along the way: here, nothing. Shells override what they need."""

    def on_step(self, step: str) -> Progress | None:
        """Return what is given the fraction done of a step that begins: "reading", "grouping" or "writing"."""
        return None

    def on_prepared(self, source: Source, prepared: Prepared) -> None:
        """Take note of the table and its schema, before records are grouped."""

    def grouping(self) -> AbstractContextManager[None]:
        """Return the context in which records are grouped."""
        return nullcontext()

    def on_warning(self, words: str) -> None:
        """Take note of what weakens the protection; Python's warnings say the same."""

    def on_written(self, release: Release) -> None:
        """Take note that the release is in its place, and its documents are not yet."""

    def on_note(self, words: str) -> None:
        """Take note of what the format of the output could not hold."""
