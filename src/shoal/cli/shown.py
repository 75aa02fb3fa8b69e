"""What a command shows of a job while it runs: progress, warnings and notes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shoal.cli import shows
from shoal.cli.shell import Shell, stoppable
from shoal.errors import DisclosureWarning
from shoal.release.hooks import Hooks

if TYPE_CHECKING:
    from shoal.progress import Progress


class Shown(Hooks):
    """Shows progress, warnings and notes."""

    def __init__(self, shell: Shell, bar: Callable[[str], Progress | None]) -> None:
        self.shell = shell
        self.bar = bar

    def on_step(self, step: str) -> Progress | None:
        """Return what draws the progress of a step."""
        return self.bar(step)

    @contextmanager
    def grouping(self) -> Iterator[None]:
        """Let Ctrl-C end the search, and say when something is compiled."""
        with stoppable(self.shell), shows.compiling_noted(self.shell), warnings.catch_warnings():
            # Disclosure warnings are shown by `on_warning`.
            warnings.simplefilter("ignore" if not self.shell.verbose else "default")
            warnings.simplefilter("ignore", DisclosureWarning)
            yield

    def on_warning(self, words: str) -> None:
        """Show a warning."""
        self.shell.warn(words)

    def on_note(self, words: str) -> None:
        """Show a note."""
        self.shell.note(words)
