"""The tables of a user: where each lies, what was found in it, and the draft of its plan with all earlier ones."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shoal.errors import ShoalError
from shoal.io.formats import locate
from shoal.web.drafts import SETTINGS, Draft
from shoal.web.faults import Fault, told
from shoal.web.processes import Refused

if TYPE_CHECKING:
    from shoal.plan import Plan

State = Literal["reading", "choose", "ready", "failed"]
Kind = Literal["upload", "path", "demo"]
# Steps of undo.
STEPS = 200


class Table:
    """A table that was opened.

    Attributes
    ----------
    id, name : str
        `name` is what its owner calls it: a label.
    kind : "upload", "path" or "demo"
    where : str
        Its path or address.
    folder : Path
        Its own, in the private folder.
    reading : {keyword of shoal.io.read: value}
    state : "reading", "choose", "ready" or "failed"
    found : plain values
        What reading it found, as `tasks.inspection` returns it.
    offered : names
        The tables or sheets that it has been found to have.
    files : {name: path}
        Files that were uploaded for its plan, under the names that plans have for them.
    revision : int
        Rises whenever its state or its draft changes, so that pages tell which of two answers is newer.
    reader : task or None
        What reads it.
    """

    def __init__(self, id: str, name: str, kind: Kind, where: str, folder: Path, reading: Mapping[str, Any]) -> None:
        self.id, self.name, self.kind, self.where, self.folder = id, name, kind, where, folder
        self.reading: dict[str, Any] = dict(reading)
        self.state: State = "reading"
        self.fraction = 0.0
        self.error: dict[str, Any] | None = None
        self.bytes: int | None = None
        self.found: dict[str, Any] = {}
        self.offered: list[str] = []
        self.files: dict[str, str] = {}
        self.revision = 0
        self.reader: asyncio.Task[None] | None = None
        self._drafts: list[Draft] = [Draft()]
        self._at = 0

    # --- what reading it found ---

    def begin(self) -> None:
        """Note that it is being read."""
        self.state, self.fraction, self.error, self.found = "reading", 0.0, None, {}
        self.revision += 1

    def ready(self, found: dict[str, Any]) -> None:
        """Note what was found; the draft begins anew, with the roles that were inferred."""
        self.found, self.fraction = found, 1.0
        self.revision += 1
        self.offered = found.get("parts") or self.offered
        if found.get("parts") and "columns" not in found:
            self.state = "choose"
            return
        self.state = "ready"
        roles = {one["name"]: one["role"] for one in found["columns"]}
        start = found.get("start") or {}
        draft = Draft(roles).changed(start.get("changes", []), self.names)
        self._drafts, self._at = [draft], 0

    def failed(self, error: BaseException) -> None:
        """Note why it cannot be read."""
        self.state = "failed"
        self.revision += 1
        self.error = error.error if isinstance(error, Refused) else told(error)

    @property
    def names(self) -> list[str]:
        """Return the names of the columns."""
        return [one["name"] for one in self.found.get("columns", ())]

    def require_ready(self) -> None:
        """Refuse to go on before it has been read."""
        if self.state != "ready":
            raise Fault(409, "The table must have been read. Got one that is not.", "wait for it, or choose a part.")

    # --- the draft, and its history ---

    @property
    def draft(self) -> Draft:
        """Return the draft of its plan."""
        return self._drafts[self._at]

    def keep(self, draft: Draft) -> None:
        """Take a new draft; what was undone before is forgotten."""
        self._drafts = [*self._drafts[: self._at + 1], draft][-STEPS:]
        self._at = len(self._drafts) - 1
        self.revision += 1

    def move(self, step: int) -> None:
        """Undo (-1) or redo (1) a step."""
        if not 0 <= self._at + step < len(self._drafts):
            raise Fault(409, f"There must be a step to {'undo' if step < 0 else 'redo'}. Got none.")
        self._at += step
        self.revision += 1

    # --- what the page is told ---

    def summary(self) -> dict[str, Any]:
        """Return the table in short."""
        found = self.found
        return {
            "id": self.id,
            "name": self.name,
            "state": self.state,
            "revision": self.revision,
            "rows": found.get("rows"),
            "columns": len(found["columns"]) if "columns" in found else None,
            "bytes": self.bytes,
            "kind": self.kind,
            "format": found.get("format") or self._format(),
            "error": self.error,
            "fraction": self.fraction,
            "reading": self.reading,
            "parts": found.get("parts"),
            "part_key": found.get("part_key"),
            "part": self.reading.get(found.get("part_key") or "", None),
        }

    def _format(self) -> str | None:
        """Return the format that its name stands for, of a table that is not read yet or cannot be."""
        try:
            return locate(self.where, self.reading.get("format"), "source").format.name
        except ShoalError:
            return None

    def whole(self) -> dict[str, Any]:
        """Return the table with its columns and its plan."""
        first = self._drafts[0]
        changed = [
            name
            for name in self.names
            if self.draft.roles.get(name) != first.roles.get(name)
            or self.draft.settings.get(name) != first.settings.get(name)
        ]
        plan = self.draft.plan() if self.state == "ready" else None
        return {
            **self.summary(),
            "notes": self.found.get("notes", []),
            "columns_list": [self._column(one, plan) for one in self.found.get("columns", [])],
            "plan": plan.job() if plan is not None else None,
            "fields": dict(self.draft.fields),
            "files": list(self.files),
            "changed": changed,
            "can_undo": self._at > 0,
            "can_redo": self._at < len(self._drafts) - 1,
        }

    def _column(self, found: Mapping[str, Any], plan: Plan | None) -> dict[str, Any]:
        """Return a column as it was found, with what the draft says about it."""
        name = found["name"]
        settings = dict.fromkeys(SETTINGS) | {"missing_values": [], "models": []}
        settings |= self.draft.settings.get(name, {})
        if isinstance(settings["hierarchy"], Mapping) and "parents" in settings["hierarchy"]:
            # It may be large: the tree is sent by a route of its own.
            settings["hierarchy"] = {"nodes": len(settings["hierarchy"]["parents"])}
        role = self.draft.roles.get(name)
        rest = found["role"] if plan is None else _rest(plan)
        declared = _kind(settings)
        return {
            **found,
            "role": role or rest,
            "role_inferred": role is None or role == found["role"],
            "type": declared or found["type"],
            "type_inferred": declared is None,
            "type_why": "set by you" if declared else found["type_why"],
            "role_why": found["role_why"] if role == found["role"] else "set by you",
            "settings": settings,
            "levels": settings["levels"] or found.get("levels"),
        }


def _kind(settings: Mapping[str, Any]) -> str | None:
    """Return the type that the settings of a column declare."""
    if settings["type"]:
        return str(settings["type"])
    if settings["hierarchy"]:
        return "hierarchical"
    return "ordinal" if settings["levels"] else None


def _rest(plan: Plan) -> str:
    """Return the role of columns without one."""
    by_default = "qi" if plan.quasi_identifiers is None else "other"
    return {"qi": "quasi-identifier", "other": "other", "drop": "dropped"}[plan.rest or by_default]
