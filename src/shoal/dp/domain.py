"""Declared domains: which values a column can have, whatever a table holds.

Bounds, categories and hierarchies that come from the data would tell something about it, so that they are declared. A
domain turns values into integers (fixed point), and integers into the values of a release.

>>> domain = Domain.of({"age": {"kind": "integer", "lower": 0, "upper": 120}})
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.dp.attributes import CATEGORIES, AttributeDomain, Categories, attribute_of
from shoal.errors import DataError, OptionError, Problems, near_names
from shoal.frozen import frozen

__all__ = ["AttributeDomain", "Categories", "Coded", "Domain"]

# What a template has in place of what somebody must fill in.
FILL_IN = "FILL IN"
TEMPLATE = """\
# Which values the columns can have, for a differentially private release. Fill in every {fill!r} from what is known
# about the subject (a law, a questionnaire, common sense). Do not look at the table: bounds taken from it tell of it.
# Values outside of bounds are moved to them. Remove columns that are not to be released. Kinds are suggested by the
# table: check them too, for example by its codebook. A further line `missing: VALUE` says what a missing value counts
# as, and `other: VALUE` what a category counts as that is not listed; without them, such rows are refused.
"""


class Coded(NamedTuple):
    """A table in fixed point.

    Attributes
    ----------
    domain : Domain
    codes : int64[n, d]
        For each declared column, the position of a record on its grid, from 0 to its size - 1.
    """

    domain: Domain
    codes: Array


@dataclass(frozen=True, eq=False)
class Domain:
    """The columns of a private release and the values that they can have.

    Attributes
    ----------
    columns : {name: AttributeDomain}
    rows_per_unit : int or None
        Largest number of rows that one unit has. Rows of a unit beyond that are left out.
    """

    columns: Mapping[str, AttributeDomain]
    rows_per_unit: int | None = None
    _plain: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, columns: Mapping[str, Any], rows_per_unit: int | None = None, *, folder: Path | None = None) -> Domain:
        """Return the domain that plain values describe.

        Parameters
        ----------
        columns : {name: {"kind": .., ..}}
            Kind "integer", "continuous", "date" or "datetime" with `lower`, `upper` and perhaps `step`; "nominal" or
            "ordinal" with `values`; "boolean"; "hierarchical" with `hierarchy`. Any may have `missing`, the value that
            a missing one counts as; categories may have `other`, the value that undeclared ones count as.
        rows_per_unit : int, optional
        folder : Path, optional
            In which files of hierarchies are looked for.
        """
        if not isinstance(columns, Mapping) or not columns:
            raise OptionError("The 'columns' of a domain must be a mapping from names to their values. Got none.")
        if rows_per_unit is not None and (type(rows_per_unit) is not int or rows_per_unit < 1):
            raise OptionError("The 'rows_per_unit' of a domain must be a whole number of at least 1.")
        problems, made = Problems(), {}
        for name, described in columns.items():
            with problems.collected():
                made[str(name)] = attribute_of(str(name), described, folder)
        problems.refuse()
        plain = {name: one.plain for name, one in made.items()}
        return cls(frozen(made), rows_per_unit, plain)

    @classmethod
    def from_plain(cls, plain: Any, folder: Path | None = None) -> Domain:
        """Return the domain that :meth:`to_plain` describes."""
        if not isinstance(plain, Mapping) or "columns" not in plain:
            raise OptionError(
                "A domain must have 'columns'.", hint="shoal anonymize --dp .. --dry-run writes a template."
            )
        for key in plain:
            if key not in ("columns", "rows_per_unit"):
                known = near_names(key, ("columns", "rows_per_unit"), "it has 'columns' and 'rows_per_unit'.")
                raise OptionError(f"A domain has no {key!r}.", hint=known)
        return cls.of(plain["columns"], plain.get("rows_per_unit"), folder=folder)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Domain:
        """Read a domain from a YAML or JSON file."""
        import yaml

        file = Path(path)
        try:
            plain = _parsed(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise OptionError(
                f"The domain must be in a file that exists. Got {str(file)!r}.",
                hint="shoal anonymize --dp .. --dry-run writes a template to fill in.",
            ) from None
        except (OSError, UnicodeDecodeError, RecursionError, yaml.YAMLError):
            raise OptionError(f"The domain in {str(file)!r} must be readable YAML or JSON.") from None
        return cls.from_plain(plain, file.parent)

    def to_plain(self) -> dict[str, Any]:
        """Return plain values, from which :meth:`from_plain` makes the same domain."""
        rows = {} if self.rows_per_unit is None else {"rows_per_unit": self.rows_per_unit}
        return {**rows, "columns": deepcopy(dict(self._plain))}

    def to_yaml(self) -> str:
        """Return the domain as a file."""
        from shoal.plan import yaml_of

        return yaml_of(self.to_plain())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and self.to_plain() == other.to_plain()

    __hash__ = None  # type: ignore[assignment]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(self.columns)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return how many values each column can have."""
        return tuple(one.size for one in self.columns.values())

    def encode(self, table: Any, *, text: bool = False, decimal: str = ".", **reading: Any) -> Coded:
        """Return a table in fixed point.

        Parameters
        ----------
        table : pyarrow.Table
        text, decimal : bool, str
            Whether numbers and dates are read from text, and their decimal mark.
        **reading : {name: value}
            `formats` and `thousands`, as in a plan.

        Raises
        ------
        DataError
            If a column is missing, or has values that its domain neither holds nor clips.
        """
        problems, codes = Problems(), np.empty((table.num_rows, len(self.columns)), np.int64, order="F")
        for at, (name, one) in enumerate(self.columns.items()):
            with problems.collected():
                if name not in table.column_names:
                    near = near_names(name, table.column_names, "take it out of the domain.")
                    raise DataError(f"Every column of a domain must be in the table. Got {name!r}.", hint=near)
                codes[:, at] = one.encode(table.column(name), text=text, decimal=decimal, **reading)
        problems.refuse()
        return Coded(self, codes)


def template(kinds: Mapping[str, str]) -> str:
    """Return a domain to be filled in, as YAML: names of columns and their kinds, and no value of any table."""
    lines = [TEMPLATE.format(fill=FILL_IN), "columns:"]
    for name, kind in kinds.items():
        lines += [f"  {_quoted(name)}:", f"    kind: {kind}"]
        if kind in CATEGORIES:
            keys = {"hierarchical": ["hierarchy"], "boolean": []}.get(kind, ["values"])
        else:
            keys = ["lower", "upper"]
        lines += [f"    {key}: {FILL_IN}" for key in keys]
    return "\n".join([*lines, ""])


def _parsed(text: str) -> Any:
    """Return what a file in JSON or YAML holds. JSON first: YAML would read an escaped emoji as two halves of one."""
    import json

    import yaml

    try:
        return json.loads(text)
    except ValueError:
        return yaml.safe_load(text)


def plain_of(read: Any) -> dict[str, Any]:
    """Return a domain that was read from a file as plain values for JSON, with what is still to be filled in.

    Only its outer form is checked: it is for showing it. :meth:`Domain.from_plain` checks all of it.
    """
    import json

    columns = read.get("columns") if isinstance(read, Mapping) else None
    if not isinstance(columns, Mapping) or not columns:
        raise OptionError("A domain must have 'columns', a mapping from names to their values. Got none.")
    plain: dict[str, Any] = json.loads(json.dumps(read, default=_in_iso, allow_nan=False))
    return plain


def _in_iso(value: Any) -> str:
    """Return a date or a moment as JSON can hold it."""
    if not hasattr(value, "isoformat"):
        raise ValueError("neither plain nor a date")
    return str(value.isoformat())


# Words that YAML reads as something else than a text.
_TAKEN = ("y", "n", "yes", "no", "on", "off", "true", "false", "null")


def _quoted(name: str) -> str:
    import json
    import re

    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name.lower() not in _TAKEN:
        return name
    return json.dumps(name, ensure_ascii=not name.isprintable())
