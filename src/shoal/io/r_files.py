"""Files of R, for reading: ``.rds`` with one object, ``.rda`` and ``.RData`` with objects that have names.

The package rdata parses the file; here the data frame is found in it, and `r_columns` turns its columns into Arrow. Row
names are not read.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import warnings
import zlib
from io import BytesIO
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, OptionError, near_names
from shoal.io.files import sha256_of
from shoal.io.formats import needed
from shoal.io.labels import labelled
from shoal.io.r_columns import column, labels_of
from shoal.io.r_objects import UnreadableError, Vector, classes, in_words, names_of, pairs, texts, vector
from shoal.io.source import Expected, Reading, Source, Writing
from shoal.io.typed import Apart
from shoal.io.unpacking import most_bytes, unpacks_to_more

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read", "write"]

# How R compresses, by the first bytes of a file.
PACKED: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
# Times its size that a large file may unpack to.
MOST_TIMES = 50


def read(job: Reading) -> Source:
    """Read a data frame from a file of R."""
    digest = sha256_of(job.path)
    notes: list[str] = []
    apart: Apart = {}
    root, encoding = _parsed(job)
    try:
        table = _table(_frame(root, job, notes), job, encoding, notes, apart)
    except (DataError, OptionError):
        raise
    except (UnreadableError, AttributeError, TypeError, LookupError, ValueError, ArithmeticError, RecursionError):
        raise _damaged(job.name) from None
    job.progress(1.0)
    return Source(table, False, "r", None, digest, job.name, tuple(notes), apart=apart)


def write(table: pa.Table, job: Writing) -> Expected:
    """Refuse to write."""
    raise OptionError(
        "The target must be of a format that can be written. Got a file of R, which can only be read.",
        "write .csv, .parquet, .dta or .sav, which R reads.",
    )


def _damaged(name: str) -> DataError:
    return DataError(
        f"The file {name} must be a complete file of R. Got one that is damaged, of another format, or with objects "
        "that only R can read.",
        "write the data frame alone, with saveRDS(x, 'x.rds').",
    )


def _parsed(job: Reading) -> tuple[Any, str | None]:
    """Return the object in a file, and the encoding of texts that say none."""
    parser = needed("rdata.parser", "r", "files of R")
    content = _unpacked(job)
    try:
        with warnings.catch_warnings():
            # About suffixes, and about what is left out of objects other than data frames.
            warnings.simplefilter("ignore")
            parsed = parser.parse_data(content, extension=job.suffix, expand_altrep=False)
    except Exception:  # of rdata, NumPy and archives: they have no common base
        raise _damaged(job.name) from None
    return parsed.object, parsed.extra.encoding


def _unpacked(job: Reading) -> bytes:
    """Return the bytes of a file without its compression, and no more of them than a file of its size may have."""
    content = job.path.read_bytes()
    opened = next((opened for magic, opened in PACKED.items() if content.startswith(magic)), None)
    if opened is None:
        return content
    most = most_bytes(job.path, MOST_TIMES)
    try:
        with opened(BytesIO(content)) as file:
            unpacked: bytes = file.read(most + 1)
    except (OSError, EOFError, zlib.error, lzma.LZMAError):
        raise _damaged(job.name) from None
    if len(unpacked) > most:
        raise unpacks_to_more(
            job.name,
            MOST_TIMES,
            "if you trust it, save it in R without compression: saveRDS(x, 'x.rds', compress = FALSE).",
        )
    if unpacked.startswith(tuple(PACKED)):  # which would be unpacked without a limit
        raise _damaged(job.name)
    return unpacked


def _frame(root: Any, job: Reading, notes: list[str]) -> Vector:
    """Return the data frame of a file, or the one that was asked for."""
    objects = dict(pairs(root))
    if not objects:
        if job.table is not None:
            raise OptionError(
                f"The 'table' option must be given for files of R whose objects have names. Got it for {job.name}, "
                "which holds one object without a name."
            )
        return _required(root, job.name)
    frames = [name for name, thing in objects.items() if _is_frame(vector(thing))]
    if job.table is not None:
        if job.table not in objects:
            raise OptionError(
                f"The 'table' option must be the name of an object in {job.name}. Got {job.table!r}.",
                near_names(job.table, objects, f"the objects are {', '.join(objects)}."),
            )
        return _required(objects[job.table], job.name, job.table)
    if len(frames) > 1:
        raise OptionError(
            f"The object of {job.name} to read must be named (table, --table). Got none, and {len(frames)} data "
            "frames.",
            f"the data frames are {', '.join(frames)}.",
        )
    name = frames[0] if frames else next(iter(objects))
    if len(objects) > 1 and frames:
        notes.append(f"object: {name!r} (the only data frame of {len(objects)} objects)")
    return _required(objects[name], job.name)


def _is_frame(found: Vector) -> bool:
    return found.kind == "VEC" and "data.frame" in classes(found.attributes)


def _required(thing: Any, file: str, name: str | None = None) -> Vector:
    found = vector(thing)
    if not _is_frame(found):
        where = file if name is None else f"{name} in {file}"
        raise DataError(
            f"A table of R must be a data frame. Got {in_words(thing)}: {where}.",
            "convert it in R, with as.data.frame(x), and save that.",
        )
    return found


def _table(frame: Vector, job: Reading, encoding: str | None, notes: list[str], apart: Apart) -> pa.Table:
    import pyarrow as pa

    names = [str(name or "") for name in names_of(frame.attributes, encoding)]
    if len(names) != len(frame.values):
        raise UnreadableError
    if not names or "" in names or len(set(names)) != len(names):
        raise DataError(
            f"The columns of {job.name} must have names, each its own. Got none, an empty one or one twice."
        )
    labels = _labels_of_frame(frame, names, encoding)
    arrays, fields = [], []
    for name, thing in zip(names, frame.values, strict=True):
        found = vector(thing)
        array = column(found, thing, name, encoding, notes, apart)
        arrays.append(array)
        own = labels_of(found, encoding)
        fields.append(labelled(pa.field(name, array.type), {**own, "label": own.get("label") or labels.get(name)}))
        job.progress(len(arrays) / len(names))
    if len({len(array) for array in arrays}) > 1:
        raise UnreadableError
    if "row.names" in frame.attributes and vector(frame.attributes["row.names"]).kind == "STR":
        notes.append("row names: not read")
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _labels_of_frame(frame: Vector, names: list[str], encoding: str | None) -> dict[str, str | None]:
    """Return the labels of variables that read.dta and read.spss keep at the data frame."""
    own = frame.attributes
    for key in ("var.labels", "variable.labels"):
        if key in own:
            found = vector(own[key])
            listed = texts(found, encoding)
            if len(listed) == len(names):
                return dict(zip(names, listed, strict=True))
            # read.spss names them.
            return dict(zip(map(str, names_of(found.attributes, encoding)), listed, strict=False))
    return {}
