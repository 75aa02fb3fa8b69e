"""Where compiled kernels are kept between runs, and how long they are valid.

Numba's own cache looks at the file of a kernel only, but a kernel contains the constants and the inlined code of other
files too. Here a compiled kernel is valid as long as *no* source file of the package has changed: each file of the
cache begins with a fingerprint of all of them. What is stale is overwritten in place, so that old versions do not pile
up. There is one file for each kernel and signature and no index, so that processes that compile at the same time
cannot mix up each other's files. The folder is the one that numba chooses: ``NUMBA_CACHE_DIR``, ``__pycache__``, or
the user's cache folder where the package is read-only.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache, NullCache
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

PREFIX, SUFFIX, UNFINISHED = "shoal.", ".kernel", ".tmp"
# Seconds after which nobody finishes a file any more.
ABANDONED = 3600.0
# What reading a missing or truncated file raises.
UNREADABLE = (OSError, EOFError, pickle.UnpicklingError)


@cache
def fingerprint() -> str:
    """Return a hash of the sources of all kernels."""
    digest = hashlib.sha256()
    for source in sorted(files(__package__).iterdir(), key=lambda file: file.name):
        if source.name.endswith(".py"):
            text = source.read_bytes()
            digest.update(f"{source.name} {len(text)}\n".encode() + text)
    return digest.hexdigest()


def valid_header() -> str:
    """Return what a valid file of the cache begins with."""
    return f"{numba.__version__} {fingerprint()}"


def cache_of(function: Callable[..., Any]) -> Any:
    """Return the cache of a kernel, one that keeps nothing if no folder can be written to."""
    try:
        return KernelCache(function)
    except RuntimeError:
        return NullCache()


class _Files:
    """The files of one kernel, one for each signature and processor."""

    def __init__(self, folder: str, name: str) -> None:
        self.folder, self.name = Path(folder), name
        self.valid = valid_header()

    def _path(self, key: tuple[Any, ...]) -> Path:
        return self.folder / f"{self.name}.{hashlib.sha256(str(key).encode()).hexdigest()[:16]}{SUFFIX}"

    def load(self, key: tuple[Any, ...]) -> Any:
        """Return what was saved under `key`, None if there is nothing or it is stale."""
        try:
            with self._path(key).open("rb") as file:
                # The rest may not even be readable by another version.
                return _Unpickler(file).load() if pickle.load(file) == self.valid else None
        except UNREADABLE:
            return None

    def save(self, key: tuple[Any, ...], data: Any) -> None:
        """Write a file and then give it its name, so that nobody reads half of it; a full disk is no reason to fail."""
        with suppress(OSError):
            file = tempfile.NamedTemporaryFile(dir=self.folder, prefix=PREFIX, suffix=UNFINISHED, delete=False)  # noqa: SIM115
            try:
                with file:
                    file.write(pickle.dumps(self.valid) + dumps(data))
                os.replace(file.name, self._path(key))
            except BaseException:
                os.unlink(file.name)
                raise

    def any(self) -> bool:
        """Return whether there is a valid file."""
        return any(_header(path) == self.valid for path in self.folder.glob(f"{self.name}.*{SUFFIX}"))

    def flush(self) -> None:
        """Remove all files of the kernel."""
        for path in self.folder.glob(f"{self.name}.*{SUFFIX}"):
            path.unlink(missing_ok=True)


class _Unpickler(pickle.Unpickler):
    """Reads a compiled kernel without importing the modules of the compiler that its parts come from."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("numba.core.environment", "_rebuild_env"):
            return _environment
        return super().find_class(module, name)


def _environment(module: str, constants: Any, name: str) -> Any:
    """Return what numba keeps for a function at run time; its globals are of use to code that is not compiled only."""
    from numba.core.environment import Environment, _rebuild_env

    if module in sys.modules or name in Environment._memo:
        return _rebuild_env(module, constants, name)
    kept = Environment({"__name__": module})
    kept.consts[:] = constants
    kept.env_name = name
    Environment._memo[name] = kept
    return kept


class KernelCache(FunctionCache):
    """Numba's cache of a function, with files that are valid as long as no kernel changes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        python = self._impl.filename_base.rpartition(".")[2]  # such as py311
        name = f"{function.__module__}.{function.__qualname__}.{python}"
        self.files = _Files(self.cache_path, name)
        self._cache_file = self.files  # type: ignore[assignment]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return a kernel from the cache, None if it is not there.

        Numba would first load all that the compiler knows, SciPy included, which takes longer than the rest of a small
        release. A compiled kernel needs only the runtime; the compiler loads the rest itself when it is started.
        """
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return sig, codegen.magic_tuple()


def folder_of(kernel: Any) -> Path | None:
    """Return the folder where a kernel is cached, None if there is none."""
    path = kernel._cache.cache_path
    return None if path is None else Path(path)


def remove_stale(folder: Path) -> int:
    """Remove what was compiled from other sources, is unreadable or unfinished; return the number of files removed."""
    stale = [path for path in folder.glob(f"{PREFIX}*{SUFFIX}") if _header(path) != valid_header()]
    stale += [path for path in folder.glob(f"{PREFIX}*{UNFINISHED}") if _age(path) > ABANDONED]
    for path in stale:
        path.unlink(missing_ok=True)
    return len(stale)


def _age(path: Path) -> float:
    """Return the seconds since a file was written to, 0 if it is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def _header(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return str(pickle.load(file))
    except UNREADABLE:
        return None
