"""What requests of the API take and what they return, for checks and for OpenAPI."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from shoal.plan import FORMS


def _encodable(text: str) -> str:
    """Refuse halves of characters, which JSON can hold but UTF-8 cannot."""
    text.encode()
    return text


Encodable = Annotated[str, AfterValidator(_encodable)]
Text = Annotated[Encodable, Field(max_length=10_000)]
Name = Annotated[Encodable, Field(min_length=1, max_length=1_000)]
Short = Annotated[Encodable, Field(min_length=1, max_length=200)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Role = Literal[
    "quasi-identifier",
    "sensitive",
    "quasi-identifier+sensitive",
    "identifier",
    "other",
    "dropped",
    "weight",
    "unit",
    "stratum",
]


class Given(BaseModel):
    """The body of a request; keys that are not known are refused."""

    model_config = ConfigDict(extra="forbid")


class Token(Given):
    """The token of a link."""

    token: Annotated[Encodable, Field(min_length=1, max_length=200)]


class Reading(Given):
    """How to read a table; what is not given is detected."""

    format: Short | None = None
    table: Name | None = None
    query: Text | None = None
    sheet: Name | None = None
    delimiter: Annotated[Encodable, Field(min_length=1, max_length=3)] | None = None
    encoding: Short | None = None
    decimal: Annotated[Encodable, Field(min_length=1, max_length=1)] | None = None
    quote: Annotated[Encodable, Field(max_length=1)] | None = None
    header: bool | None = None


class Opening(Given):
    """A table of the machine that the server runs on, or of a database."""

    path: Annotated[Encodable, Field(min_length=1, max_length=4_000)]
    reading: Reading = Reading()


class Demo(Given):
    """The invented survey."""

    rows: Annotated[int, Field(ge=20, le=1_000_000)] = 1000


Markers = Annotated[list[Encodable | int | Number], Field(max_length=100_000)]


class Change(Given):
    """A change of one column: only what is there changes, null gives the default back."""

    column: Name
    role: Role | None = None
    type: Short | None = None
    levels: Markers | None = None
    hierarchy: str | dict[str, Any] | list[Any] | None = None
    importance: Number | None = None
    representative: Short | None = None
    digits: int | None = None
    outward: int | Number | Short | None = None
    top: int | Number | Short | None = None
    bottom: int | Number | Short | None = None
    rounding: int | Number | None = None
    format: Short | None = None
    missing_values: Markers | None = None
    models: Annotated[list[Short], Field(max_length=100)] | None = None
    cell: int | Number | Short | None = None


class Changes(Given):
    """Changes of columns and perhaps of fields of the plan, which are one step of undo."""

    changes: Annotated[list[Change], Field(min_length=1, max_length=20_000)]
    fields: dict[str, Any] = {}


class Fields(Given):
    """Fields of the plan; null gives the default back."""

    fields: dict[str, Any]


class PlanGiven(Given):
    """A whole plan."""

    plan: dict[str, Any]


class Written(Given):
    """Something that is written down, as a file would have it."""

    text: Annotated[Encodable, Field(min_length=1, max_length=4_000_000)]


class Growing(Given):
    """A hierarchy of a column, to look at."""

    column: Name
    hierarchy: str | dict[str, Any] | list[Any]


class Run(Given):
    """A release to be made."""

    kind: Literal["run"]
    table: Short
    name: Short | None = None
    plan: dict[str, Any] | None = None
    format: Short | None = None
    escape_formulas: bool = False
    assess: bool | None = None


class Check(Given):
    """A plan to be checked."""

    kind: Literal["check"]
    table: Short
    plan: dict[str, Any] | None = None


class Assess(Given):
    """A finished run to be assessed."""

    kind: Literal["assess"]
    of: Short


class Compare(Given):
    """Methods, forms and k to be compared; those of the plan, if none are given."""

    kind: Literal["compare"]
    table: Short
    plan: dict[str, Any] | None = None
    ks: Annotated[list[Annotated[int, Field(ge=2, le=10**9)]], Field(min_length=1, max_length=50)]
    methods: Annotated[list[Short], Field(min_length=1, max_length=50)] | None = None
    forms: Annotated[list[Literal[FORMS]], Field(min_length=1, max_length=5)] | None = None  # type: ignore[valid-type]


Wanted = Annotated[Run | Check | Assess | Compare, Field(discriminator="kind")]


class Runs(Given):
    """Finished runs to be put side by side."""

    jobs: Annotated[list[Short], Field(min_length=1, max_length=50)]


# --- answers ---


class Problem(BaseModel):
    """What must hold and what was found instead, and what to do."""

    message: str
    hint: str | None


class ErrorPart(Problem):
    """An error; `problems` has several that were found at once."""

    kind: str
    problems: list[Problem]


class Refusal(BaseModel):
    """The answer to a request that is refused."""

    error: ErrorPart


class Limits(BaseModel):
    """The limits of a server."""

    upload_bytes: int
    disk_bytes: int
    job_seconds: float
    memory_bytes: int
    jobs_at_once: int
    idle_seconds: float
    marks: int


class Session(BaseModel):
    """A visit."""

    user: str
    version: str
    paths: bool
    limits: Limits


class TableSummary(BaseModel):
    """A table in short."""

    id: str
    name: str
    state: Literal["reading", "choose", "ready", "failed"]
    revision: int
    rows: int | None
    columns: int | None
    bytes: int | None
    kind: Literal["upload", "path", "demo"]
    format: str | None
    error: ErrorPart | None
    fraction: float
    reading: dict[str, Any]
    parts: list[str] | None
    part_key: str | None
    part: str | None


class TableWhole(TableSummary):
    """A table with its columns and its plan."""

    notes: list[str]
    columns_list: list[dict[str, Any]]
    plan: dict[str, Any] | None
    fields: dict[str, Any]
    files: list[str]
    changed: list[str]
    can_undo: bool
    can_redo: bool


class JobOut(BaseModel):
    """A job."""

    id: str
    kind: Literal["run", "check", "assess", "compare"]
    table: str
    of: str | None
    name: str
    state: Literal["queued", "running", "done", "failed", "cancelled", "killed"]
    phase: str | None
    fraction: float
    overall: float
    loss: float | None
    gap: float | None
    searching: bool
    stopped_early: bool
    position: int | None
    seconds: float
    created: str
    error: ErrorPart | None
    plan: dict[str, Any]
    summary: dict[str, Any] | None
    warnings: list[str]


class Jobs(BaseModel):
    """All jobs."""

    jobs: list[JobOut]


class StateOut(BaseModel):
    """Everything in short."""

    tables: list[TableSummary]
    jobs: list[JobOut]
    last_event: int
