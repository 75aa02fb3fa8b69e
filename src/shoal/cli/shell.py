"""Output of commands: results on standard output, everything else on standard error, errors as one sentence."""

from __future__ import annotations

import functools
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ParamSpec

import typer
from rich.console import Console
from rich.text import Text

from shoal.cli.words import in_words_of_the_command_line, shown, shown_lines
from shoal.errors import DisclosureError, ShoalError
from shoal.io.private import remove_ours
from shoal.io.published import noting_published

if TYPE_CHECKING:
    from rich.console import ConsoleOptions, RenderableType
    from rich.segment import Segment

P = ParamSpec("P")

NOTHING = "nothing was written"
REFUSED, WRONG, DEFECT, STOPPED, PIPE = 1, 2, 3, 130, 141
_ENDING = (signal.SIGTERM, signal.SIGHUP)
_SIGNALS = 128  # a process that a signal ends has this much more than its number as its exit code
_current: list[Shell] = []  # of the running command; a parameter would not do, as typer fills them all


class _Console(Console):
    """A console that falls silent on a broken pipe, instead of ending the work."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        _to_nowhere(self.file)

    def print(self, *things: Any, **how: Any) -> None:
        try:
            super().print(*things, **how)
        except OSError:
            if not self.stderr:
                raise
            self.on_broken_pipe()  # nobody can be told that messages are lost

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield segments whose texts have no effect on the terminal, whatever names and files are called."""
        for segment in super().render(renderable, options):
            safe = segment.control is not None or segment.text == "\n" or segment.text.isprintable()
            yield segment if safe else segment._replace(text=shown_lines(segment.text))


class Shell:
    """The output of a command.

    Attributes
    ----------
    out, err : Console
        Standard output (standard error if data go to standard output), and standard error.
    quiet, verbose : bool
    wanted : list of str
        What the command is to write, as the user calls it.
    published : list of str
        What was written so far.
    """

    def __init__(self, *, quiet: bool = False, verbose: bool = False, data: bool = False) -> None:
        self.err = _Console(stderr=True, highlight=False)
        self.out = self.err if data else _Console(highlight=False)
        self.quiet = quiet
        self.verbose = verbose and not quiet
        self.wanted: list[str] = []
        self.published: list[str] = []

    @property
    def done(self) -> str:
        """Return what to say about files if the command stops now."""
        if not self.published:
            return NOTHING
        missing = [name for name in self.wanted if not {name, os.path.realpath(name)} & set(self.published)]
        if self.wanted and not missing:
            return "everything was written"
        named = {os.path.realpath(name): name for name in self.wanted}
        written = _were([named.get(name, name) for name in self.published], "written")
        return f"{written}; {_were(missing, 'not')}" if missing else written

    def show(self, *things: RenderableType) -> None:
        """Print results, unless quiet."""
        if not self.quiet:
            for thing in things:
                self.out.print(thing)

    def note(self, words: str) -> None:
        """Print a note, unless quiet."""
        if not self.quiet:
            _sentence(self.err, Text(shown(words), style="dim"))

    def warn(self, words: str) -> None:
        """Print a warning, even when quiet."""
        _sentence(self.err, Text.assemble(("warning: ", "bold yellow"), (shown(words), "yellow")))

    def fail(self, words: str) -> None:
        """Print an error, even when quiet."""
        # Only the numbers of several problems begin a line: whatever else ends one comes from a name.
        listed = "\n".join(map(shown, re.split(r"\n(?=\d+\. )", words)))
        _sentence(self.err, Text.assemble(("error: ", "bold red"), (listed, "red")))


def _were(names: list[str], what: str) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last} were {what}" if others else f"{last} was {what}"


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
            with noting_published() as shell.published, _ended_by_signals(), _log_shown(shell):
                command(*args, **kwargs)
                _flush()
        except ShoalError as error:
            if isinstance(error.__context__, BrokenPipeError):
                _to_nowhere(sys.stdout)
                raise typer.Exit(PIPE) from None
            shell.fail(in_words_of_the_command_line(str(error)))
            if shell.published:
                shell.note(f"Note: {shell.done}.")
            raise typer.Exit(REFUSED if isinstance(error, DisclosureError) else WRONG) from None
        except KeyboardInterrupt as error:
            shell.err.print(Text(shown(f"stopped; {shell.done}"), style="yellow"))
            raise typer.Exit(getattr(error, "code", STOPPED)) from None
        except BrokenPipeError:
            _to_nowhere(sys.stdout)
            raise typer.Exit(PIPE) from None
        except MemoryError:
            shell.fail(f"Not enough memory; {shell.done}.")
            raise typer.Exit(WRONG) from None
        except typer.Exit:
            raise
        except OSError as error:
            _refusal_of_the_system(shell, error)
            raise typer.Exit(WRONG) from None
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
        _traceback(shell, error)


def _traceback(shell: Shell, error: Exception) -> None:
    import traceback

    shell.err.print("".join(traceback.format_exception(error)), markup=False, soft_wrap=True)


def _refusal_of_the_system(shell: Shell, error: OSError) -> None:
    """Say what the system refused; only what it says about such errors in general, and the name of the file."""
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    where = f" ({error.filename})" if isinstance(error.filename, str) else ""
    shell.fail(
        f"The system must carry out what Shoal asks it for. Got: {reason}{where}; {shell.done}. "
        "Hint: look for a full disk, missing rights, or an output that was closed."
    )
    if shell.verbose:
        _traceback(shell, error)
    _to_nowhere(sys.stdout)


def _flush() -> None:
    """Write what is left of standard output; at the end of the process an error would be too late."""
    if sys.stdout is not None:
        sys.stdout.flush()


def _to_nowhere(file: Any) -> None:
    """Discard what is still to be written to a file, which would fail again when the process ends."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, file.fileno())
        os.close(nowhere)


class _Ended(KeyboardInterrupt):
    """A signal has asked the process to end: like Ctrl-C, but with an exit code of its own."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.code = _SIGNALS + number


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Clean up and say what was written when the process is asked to end, and not only after Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _: Any) -> None:
        raise _Ended(number)

    # Signals that are ignored (nohup) or handled already stay so.
    ours = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def stoppable(shell: Shell) -> Iterator[None]:
    """Let Ctrl-C and kin end the process while a compiled kernel runs; Python itself would wait for the kernel.

    Use it only while no file is open for writing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    over = threading.Event()
    before = signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)

    # Not those that are ignored, or that end the process by themselves.
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *_ENDING)}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}

    def watch() -> None:
        while (byte := os.read(ours, 1)) and byte[0] not in handlers:
            pass
        if byte and not over.is_set():
            shell.err.show_cursor(True)
            shell.err.print("", Text(shown(f"stopped; {shell.done}"), style="yellow"), sep="\n")
            remove_ours()
            os._exit(_SIGNALS + byte[0])

    # No exception is raised: one in the middle of compiling would crash the compiler.
    for number in handlers:
        signal.signal(number, lambda *_: None)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(before)
        os.close(theirs)
        watcher.join()
        os.close(ours)
