"""Folders in which Spark reads and writes tables: where a release waits for its audit, and how it gets its name."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from shoal.engines.spark_session import is_remote
from shoal.errors import OptionError, ShoalError
from shoal.io.private import left_folders, made_folder, ours, remove_folder
from shoal.io.published import signals_put_off

FORMATS = {"csv": (".csv", ".csv.gz", ".tsv"), "parquet": (".parquet", ".pq")}
# With a scheme of two letters or more: one letter is a disk.
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
# Staging folders, in which a release waits, and what had its name before waits for that to be there: Spark reads no
# files of such a name.
STAGING = "_shoal-"
BEFORE = "before"
# Where a folder cannot get another name in one step: its files are copied one by one.
OBJECT_STORES = ("s3", "s3a", "s3n", "gs", "oss", "obs", "cos", "cosn", "swift", "wasb", "wasbs")


class Folder:
    """A file or a folder as Spark sees it, on this machine or in a distributed file system.

    Parameters
    ----------
    session : SparkSession
    where : str
        A path, or an address such as hdfs://host/folder.
    name : str or None
        What messages call it. None: the last part of the path.
    """

    def __init__(self, session: Any, where: str | os.PathLike[str], name: str | None = None) -> None:
        self.session = session
        text = os.fspath(where)
        self.scheme = urlparse(text).scheme if ADDRESS.match(text) else ""
        self.local = self.scheme in ("", "file")
        path = urlparse(text).path if self.scheme == "file" else text
        if self.local and self.scheme == "" and not self._is_cluster():
            path = os.path.abspath(os.path.expanduser(path))
        self.path = path.rstrip("/") or "/"
        self.name = name or self.path.rpartition("/")[2]
        # A path without a scheme means the cluster's own file system there, which need not be that of this machine.
        self.direct = self.local and not self._is_cluster()
        self.address = f"file://{self.path}" if self.direct else self.path
        if not self.direct and is_remote(session):
            raise OptionError(
                "With Spark Connect, files must be in folders of this machine. Got another place.",
                hint="use shoal.spark.anonymize on a data frame, or a session that is not remote.",
            )

    def _is_cluster(self) -> bool:
        """Return whether paths are those of another machine, for all that is known."""
        if is_remote(self.session):
            return self.session.client.host not in ("localhost", "127.0.0.1", "::1")
        return not self.session.sparkContext.master.startswith("local")

    def within(self, name: str) -> Folder:
        """Return what has a name in this folder."""
        return Folder(self.session, f"{self.path}/{name}", self.name)

    def exists(self) -> bool:
        """Return whether there is anything."""
        if self.direct:
            return os.path.lexists(self.path)
        with self._asked():
            return bool(self._system().exists(self._path()))

    def make(self) -> None:
        """Make an empty folder that only its owner may enter, in a distributed file system."""
        with self._asked():
            permission = self.session._jvm.org.apache.hadoop.fs.permission.FsPermission("700")
            self._system().mkdirs(self._path(), permission)

    def remove(self) -> None:
        """Remove the folder and all that is in it, if it is there."""
        if self.direct:
            with signals_put_off():
                remove_folder(Path(self.path))
        else:
            with self._asked():
                self._system().delete(self._path(), True)

    @contextmanager
    def staging(self) -> Iterator[Folder]:
        """Yield a new folder beside this one that only its owner may enter; whatever is left in it goes in the end.

        A process that is killed leaves it behind: :meth:`sweep` removes it. A lock tells it from one in use, but not in
        a distributed file system, where it stays.
        """
        path, name = Path(self.path), f"{STAGING}{self.name}-"
        lock = None
        if self.direct:
            with self._asked():
                made, lock = made_folder(path.parent, name)
            ours.add(made)
        else:
            made = path.parent / f"{name}{secrets.token_hex(8)}"
        folder = Folder(self.session, f"{self.path.rpartition('/')[0]}/{made.name}", self.name)
        try:
            if lock is None:
                folder.make()
            yield folder
        finally:
            try:
                folder._give_back(self)
                folder.remove()
            finally:
                if lock is not None:
                    os.close(lock)

    def sweep(self) -> None:
        """Remove the staging folders beside this folder that killed processes of this user left."""
        for left in left_folders(Path(self.path).parent, STAGING) if self.direct else ():
            known = re.fullmatch(f"{STAGING}(.+)-[0-9a-f]{{16}}", left.name)
            with suppress(ShoalError):
                folder = Folder(self.session, left)
                if known is not None:
                    folder._give_back(Folder(self.session, left.parent / known[1]))
                folder.remove()

    def _give_back(self, target: Folder) -> None:
        """Give what a release was to replace its name again, if the release did not get there."""
        before = self.within(BEFORE)
        if before.exists() and not target.exists():
            before._rename(target)

    def move(self, target: Folder, *, force: bool) -> None:
        """Give a folder of a staging folder another name, in one step.

        What had this name before goes first, if that is wanted: into the staging folder, which gives it back if its
        name is not taken in the end.
        """
        with signals_put_off():
            if force and target.exists():
                target._rename(Folder(self.session, f"{self.path.rpartition('/')[0]}/{BEFORE}", target.name))
            self._rename(target)

    def _rename(self, target: Folder) -> None:
        if target.exists():
            raise ShoalError(f"The output must not exist. Got {target.name}, which appeared in the meantime.")
        with target._asked():
            if self.direct:
                os.rename(self.path, target.path)
            elif not self._system().rename(self._path(), target._path()):
                raise ShoalError(f"The release must be moved to {target.name}. Got a refusal of the file system.")

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Say in one sentence what a file system refuses: Java says it in pages."""
        try:
            yield
        except ShoalError:
            raise
        except Exception as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise ShoalError(
                f"The place of {self.name} must be one that can be reached and written. Got an error: {reason}.",
                "look at its path or address, and at what the session needs for this file system.",
            ) from None

    def _path(self) -> Any:
        return self.session._jvm.org.apache.hadoop.fs.Path(self.address)

    def _system(self) -> Any:
        return self._path().getFileSystem(self.session._jsparkSession.sessionState().newHadoopConf())


def format_of(where: str | os.PathLike[str], given: str | None, option: str) -> str | None:
    """Return the format of a file or folder: the one that is given, or else that of its suffix."""
    if given is not None:
        if given not in FORMATS:
            raise OptionError(f"With Spark, the format ({option}) must be csv or parquet. Got {given!r}.")
        return given
    name = os.fspath(where).rstrip("/").lower()
    return next((format for format, suffixes in FORMATS.items() if name.endswith(suffixes)), None)
