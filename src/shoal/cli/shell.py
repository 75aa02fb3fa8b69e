"""Output of commands: results on standard output, everything else on standard error, errors as one sentence."""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, ParamSpec

import typer
from rich.console import Console
from rich.text import Text

from shoal.cli.words import in_words_of_the_command_line
from shoal.errors import DisclosureError, ShoalError

if TYPE_CHECKING:
    from rich.console import RenderableType

P = ParamSpec("P")

NOTHING = "nothing was written"
REFUSED, WRONG, DEFECT, STOPPED, PIPE = 1, 2, 3, 130, 141
_current: list[Shell] = []  # of the running command; a parameter would not do, as typer fills them all


class _Console(Console):
    """A console that falls silent on a broken pipe, instead of ending the work."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


class Shell:
    """The output of a command.

    Attributes
    ----------
    out, err : Console
        Standard output (standard error if data go to standard output), and standard error.
    quiet, verbose : bool
    done : str
        What to say about files if the command stops now.
    """

    def __init__(self, *, quiet: bool = False, verbose: bool = False, data: bool = False) -> None:
        self.err = _Console(stderr=True, highlight=False)
        self.out = self.err if data else _Console(highlight=False)
        self.quiet = quiet
        self.verbose = verbose and not quiet
        self.done = NOTHING

    def show(self, *things: RenderableType) -> None:
        """Print results, unless quiet."""
        if not self.quiet:
            for thing in things:
                self.out.print(thing)

    def note(self, words: str) -> None:
        """Print a note, unless quiet."""
        if not self.quiet:
            _sentence(self.err, Text(words, style="dim"))

    def warn(self, words: str) -> None:
        """Print a warning, even when quiet."""
        _sentence(self.err, Text.assemble(("warning: ", "bold yellow"), (words, "yellow")))

    def fail(self, words: str) -> None:
        """Print an error, even when quiet."""
        _sentence(self.err, Text.assemble(("error: ", "bold red"), (words, "red")))


def _sentence(console: Console, text: Text) -> None:
    """Print a sentence, wrapped on a terminal but not in a file or a pipe."""
    console.print(text, soft_wrap=not console.is_terminal and "COLUMNS" not in os.environ)


@contextmanager
def _log_shown(shell: Shell) -> Iterator[None]:
    """Show the log of the library, if verbose."""
    if not shell.verbose:
        yield
        return
    import logging

    from rich.logging import RichHandler

    logger, handler = logging.getLogger("shoal"), RichHandler(console=shell.err, show_path=False, show_time=False)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def reports_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Turn exceptions of a command into a sentence on standard error and an exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        shell = Shell(
            quiet=bool(kwargs.get("quiet")),
            verbose=bool(kwargs.get("verbose")),
            data=bool(kwargs.get("json")) or kwargs.get("output") == "-",
        )
        _current[:] = [shell]
        try:
            with _log_shown(shell):
                command(*args, **kwargs)
        except ShoalError as error:
            if isinstance(error.__context__, BrokenPipeError):
                raise typer.Exit(PIPE) from None
            shell.fail(in_words_of_the_command_line(str(error)))
            if shell.done != NOTHING:
                shell.note(f"Note: {shell.done}.")
            raise typer.Exit(REFUSED if isinstance(error, DisclosureError) else WRONG) from None
        except KeyboardInterrupt:
            shell.err.print(f"stopped; {shell.done}", style="yellow")
            raise typer.Exit(STOPPED) from None
        except BrokenPipeError:
            _quiet_exit()
            raise typer.Exit(PIPE) from None
        except MemoryError:
            shell.fail(f"Not enough memory; {shell.done}.")
            raise typer.Exit(WRONG) from None
        except typer.Exit:
            raise
        except Exception as error:
            _defect(shell, error)
            raise typer.Exit(DEFECT) from None

    return run


def current() -> Shell:
    """Return the shell of the running command."""
    return _current[-1] if _current else Shell()


def _defect(shell: Shell, error: Exception) -> None:
    # The message of an unexpected error may quote values of the data, so only its type and place are shown.
    import traceback

    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "shoal" in frame.filename]
    where = f", {os.path.basename(frames[-1].filename)} line {frames[-1].lineno}" if frames else ""
    shell.fail(
        f"This should not have happened ({type(error).__name__}{where}); {shell.done}. It is a defect of Shoal: please "
        "report it. -v shows the traceback, which may quote values of the table."
    )
    if shell.verbose:
        shell.err.print("".join(traceback.format_exception(error)), markup=False, soft_wrap=True)


def _quiet_exit() -> None:
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def stoppable(shell: Shell) -> Iterator[None]:
    """Let Ctrl-C end the process while a compiled kernel runs; Python itself would wait for the kernel.

    Use it only while no file is open for writing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    over = threading.Event()
    before = signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)

    def watch() -> None:
        while (byte := os.read(ours, 1)) and byte[0] != signal.SIGINT:
            pass
        if byte and not over.is_set():
            shell.err.show_cursor(True)
            shell.err.print(f"\nstopped; {shell.done}", style="yellow")
            os._exit(STOPPED)

    # No exception is raised: one in the middle of compiling would crash the compiler.
    handler = signal.signal(signal.SIGINT, lambda *_: None)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        signal.signal(signal.SIGINT, handler)
        signal.set_wakeup_fd(before)
        os.close(theirs)
        watcher.join()
        os.close(ours)
