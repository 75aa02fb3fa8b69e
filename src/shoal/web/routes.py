"""Routes about visits, state, events and tables."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

import shoal
from shoal.errors import OptionError
from shoal.plan import Plan
from shoal.web import schemas, uploads
from shoal.web.desk import Desk
from shoal.web.drafts import Draft, require_column
from shoal.web.faults import Fault
from shoal.web.folders import label_of
from shoal.web.tables import Table
from shoal.web.users import User

# Bytes of a hierarchy in a file.
HIERARCHY = 64 * 2**20

_WORDS = {
    400: "The request cannot be read.",
    401: "There is no visit.",
    403: "This may not be asked for from there, or not at all here.",
    404: "There is none, or it belongs to somebody else.",
    408: "An upload paused for too long.",
    409: "It is not in the right state.",
    413: "It is too large.",
    415: "The body is not JSON.",
    422: "The library refuses it, or it has another form.",
    429: "There are too many.",
    500: "A worker ended without an answer.",
    507: "The disk is full, or its limit is reached.",
}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return how OpenAPI describes refusals."""
    return {status: {"model": schemas.Refusal, "description": _WORDS[status]} for status in statuses}


def desk_of(request: Request) -> Desk:
    """Return the desk of the server."""
    desk: Desk = request.app.state.desk
    return desk


AtDesk = Annotated[Desk, Depends(desk_of)]


def user_of(request: Request, desk: AtDesk) -> User:
    """Return the user of a request, by her cookie."""
    return desk.users.of_cookie(request.cookies.get(desk.settings.cookie))


AsUser = Annotated[User, Depends(user_of)]


async def listener_of(request: Request, desk: AtDesk) -> AsyncIterator[User]:
    """Yield the user of a stream while it is open: a page that is left open comes back, which is a sign of nobody."""
    user = desk.users.of_cookie(request.cookies.get(desk.settings.cookie), seen=False)
    with user.events.listening():
        yield user


visits = APIRouter(prefix="/api/v1", tags=["visit"], responses=refusals(400, 401, 403, 413, 415, 422))
tables = APIRouter(prefix="/api/v1/tables", tags=["tables"], responses=refusals(400, 401, 403, 404, 413, 415, 422))


# --- visits ---


def _session(user: User, desk: Desk) -> dict[str, Any]:
    settings = desk.settings
    return {"user": user.id, "version": shoal.__version__, "paths": settings.paths, "limits": settings.limits()}


@visits.post("/session", response_model=schemas.Session)
async def enter(given: schemas.Token, desk: AtDesk, response: Response) -> Any:
    """Exchange the token of a link for a cookie; a token is good for one visit."""
    user, cookie = desk.enter(given.token)
    response.set_cookie(
        desk.settings.cookie,
        cookie,
        httponly=True,
        samesite="strict",
        secure=desk.settings.behind_proxy,
        path="/",
    )
    return _session(user, desk)


@visits.get("/session", response_model=schemas.Session)
async def visit(user: AsUser, desk: AtDesk) -> Any:
    """Return who is visiting, and the limits of the server."""
    return _session(user, desk)


@visits.delete("/session", status_code=204)
async def leave(user: AsUser, desk: AtDesk, response: Response) -> None:
    """End the visit: everything of this user is wiped."""
    desk.leave(user, "The visit was ended: everything was wiped.")
    response.delete_cookie(desk.settings.cookie, path="/", secure=desk.settings.behind_proxy)


@visits.get("/state", response_model=schemas.StateOut)
async def state(user: AsUser) -> Any:
    """Return all tables and jobs in short, and the number of the last event."""
    return {
        "tables": [table.summary() for table in user.tables.values()],
        "jobs": [job.plain() for job in user.jobs.values()],
        "last_event": user.events.last,
    }


@visits.get("/catalogue", responses=refusals(500))
async def catalogue(user: AsUser, desk: AtDesk) -> dict[str, Any]:
    """Return what forms offer: roles, types, methods, models, fields of a plan, formats."""
    return await desk.catalogue()


@visits.get(
    "/events",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {}}, "description": "Events, until the visit ends."},
        **refusals(429),
    },
)
async def events(
    user: Annotated[User, Depends(listener_of, scope="request")],
    after: Annotated[int | None, Query(ge=0)] = None,
    last_event_id: Annotated[str | None, Header(max_length=40)] = None,
) -> StreamingResponse:
    """Stream what happens to all tables and jobs, as server-sent events."""
    number = int(last_event_id) if last_event_id is not None and last_event_id.isdecimal() else after
    stream = user.events.stream(user.events.last if number is None else number)
    # Proxies must not gather what is to arrive at once.
    headers = {"X-Accel-Buffering": "no", "Cache-Control": "no-store"}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


# --- tables ---

RAW: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary", "minLength": 1}}},
    }
}
OfName = Annotated[str, Header(alias="X-Shoal-Name", max_length=3_000)]


@tables.post(
    "/upload",
    status_code=201,
    response_model=schemas.TableSummary,
    responses=refusals(408, 429, 507),
    openapi_extra=RAW,
)
async def upload(request: Request, user: AsUser, desk: AtDesk, name: OfName) -> Any:
    """Upload a file: the body is the file itself, the header X-Shoal-Name its name, percent-encoded."""
    table = desk.new_table(user, label_of(name), "upload", None, {})
    try:
        table.bytes = await uploads.receive(
            request, Path(table.where), desk.settings.upload_bytes, desk.disk.beyond(user)
        )
    except BaseException:
        desk.remove_table(user, table)
        raise
    desk.read(user, table)
    return table.summary()


@tables.post("/open", status_code=201, response_model=schemas.TableSummary, responses=refusals(429))
async def open_table(given: schemas.Opening, user: AsUser, desk: AtDesk) -> Any:
    """Open a file of the machine that the server runs on, or a database, by its path or address."""
    if not desk.settings.paths:
        raise Fault(403, "Tables must be uploaded here. Got a path.", "ask whoever runs the server.")
    return desk.open(user, given.path, given.reading.model_dump(exclude_none=True)).summary()


@tables.post("/demo", status_code=201, response_model=schemas.TableSummary, responses=refusals(429))
async def demo(given: schemas.Demo, user: AsUser, desk: AtDesk) -> Any:
    """Open an invented survey."""
    return desk.demo(user, given.rows).summary()


def table_of(user: AsUser, id: str) -> Table:
    """Return a table of the user."""
    return user.table(id)


AnyTable = Annotated[Table, Depends(table_of)]


@tables.get("/{id}", response_model=schemas.TableWhole)
async def look(table: AnyTable) -> Any:
    """Return a table with its columns and the draft of its plan."""
    return table.whole()


@tables.delete("/{id}", status_code=204, responses=refusals(409))
async def close(table: AnyTable, user: AsUser, desk: AtDesk) -> None:
    """Close a table; an upload is wiped."""
    desk.remove_table(user, table)


@tables.patch("/{id}/reading", response_model=schemas.TableSummary, responses=refusals(409))
async def read_again(table: AnyTable, given: schemas.Reading, user: AsUser, desk: AtDesk) -> Any:
    """Read a table again, in another way; null is detected."""
    if table.state == "reading":
        raise Fault(409, "A table must not be read twice at the same time. Got one that is being read.")
    changes = given.model_dump(exclude_unset=True)
    desk.refuse_beyond(table, changes)
    table.reading = {name: value for name, value in {**table.reading, **changes}.items() if value is not None}
    desk.read(user, table)
    return table.summary()


@tables.patch("/{id}/columns", response_model=schemas.TableWhole, responses=refusals(409))
async def change_columns(table: AnyTable, given: schemas.Changes, user: AsUser, desk: AtDesk) -> Any:
    """Change roles and settings of columns, in one step of undo."""
    table.require_ready()
    changes = [change.model_dump(exclude_unset=True) for change in given.changes]
    draft = table.draft.changed(changes, table.names)
    desk.change(user, table, draft.with_fields(given.fields, table.names) if given.fields else draft)
    return table.whole()


@tables.patch("/{id}/plan", response_model=schemas.TableWhole, responses=refusals(409))
async def change_plan(table: AnyTable, given: schemas.Fields, user: AsUser, desk: AtDesk) -> Any:
    """Change fields of the plan, in one step of undo."""
    table.require_ready()
    desk.change(user, table, table.draft.with_fields(desk.located(table, given.fields), table.names))
    return table.whole()


@tables.put("/{id}/plan", response_model=schemas.TableWhole, responses=refusals(409))
async def replace_plan(table: AnyTable, given: schemas.PlanGiven, user: AsUser, desk: AtDesk) -> Any:
    """Replace the plan, in one step of undo."""
    table.require_ready()
    desk.change(user, table, Draft.of(Plan.of(**given.plan), table.names))
    return table.whole()


@tables.post("/{id}/undo", response_model=schemas.TableWhole, responses=refusals(409))
async def undo(table: AnyTable, user: AsUser, desk: AtDesk) -> Any:
    """Undo the last change of the plan."""
    desk.move(user, table, -1)
    return table.whole()


@tables.post("/{id}/redo", response_model=schemas.TableWhole, responses=refusals(409))
async def redo(table: AnyTable, user: AsUser, desk: AtDesk) -> Any:
    """Redo what was undone last."""
    desk.move(user, table, 1)
    return table.whole()


@tables.get("/{id}/domain", responses=refusals(409, 500))
async def domain(table: AnyTable, desk: AtDesk) -> dict[str, Any]:
    """Return a domain to be filled in, for a private release: names and types of columns, and no value of them."""
    table.require_ready()
    return await desk.template(table)


@tables.post("/{id}/domain", response_model=schemas.TableWhole, responses=refusals(409, 500))
async def take_domain(table: AnyTable, given: schemas.Written, user: AsUser, desk: AtDesk) -> Any:
    """Take a domain that is written as YAML or JSON, as files of the command line are, into the plan."""
    table.require_ready()
    read = await desk.read_domain(table, given.text)
    desk.change(user, table, table.draft.with_fields({"domain": read["domain"]}, table.names))
    return table.whole()


@tables.post(
    "/{id}/population/upload",
    response_model=schemas.TableWhole,
    responses=refusals(408, 409, 500, 507),
    openapi_extra=RAW,
)
async def upload_population(request: Request, table: AnyTable, user: AsUser, desk: AtDesk, name: OfName) -> Any:
    """Upload a table of the population, and take it into the plan; it counts once k_map or presence are demanded."""
    table.require_ready()
    label = desk.beside(table, label_of(name))
    path = desk.new_file(table, label)
    try:
        await uploads.receive(request, path, desk.settings.upload_bytes, desk.disk.beyond(user))
        await desk.look_at(path)
    except BaseException:
        shutil.rmtree(path.parent, ignore_errors=True)
        raise
    table.files[label] = str(path)
    desk.change(user, table, table.draft.with_fields({"population": label}, table.names))
    return table.whole()


# --- hierarchies ---


@tables.post("/{id}/hierarchy", responses=refusals(409, 500))
async def grow(table: AnyTable, given: schemas.Growing, desk: AtDesk) -> dict[str, Any]:
    """Return the tree of a hierarchy, to look at it before it is taken."""
    table.require_ready()
    require_column(given.column, table.names)
    return await desk.tree(table, given.column, given.hierarchy)


@tables.get("/{id}/hierarchy", responses=refusals(409, 500))
async def tree(table: AnyTable, desk: AtDesk, position: Annotated[int, Query(ge=0)]) -> dict[str, Any]:
    """Return the tree of the hierarchy that the column at this position has."""
    table.require_ready()
    if position >= len(table.names):
        raise Fault(404, "The position must be that of a column. Got a larger one.")
    column = table.names[position]
    hierarchy = table.draft.settings.get(column, {}).get("hierarchy")
    if hierarchy is None:
        raise Fault(404, "The column must have a hierarchy. Got none.", "build or upload one.")
    return await desk.tree(table, column, hierarchy)


@tables.post("/{id}/hierarchy/upload", responses=refusals(408, 409, 500, 507), openapi_extra=RAW)
async def upload_hierarchy(
    request: Request,
    table: AnyTable,
    user: AsUser,
    desk: AtDesk,
    name: OfName,
    column: Annotated[str, Header(alias="X-Shoal-Column", max_length=3_000)],
) -> dict[str, Any]:
    """Upload a hierarchy of a column, and take it into the plan."""
    table.require_ready()
    label, of_column = label_of(name), unquote(column)
    require_column(of_column, table.names)
    suffix = Path(label).suffix.lower()
    if suffix not in (".csv", ".tsv", ".txt", ".json", ".yaml", ".yml"):
        raise OptionError("A hierarchy must be a file of CSV, JSON or YAML. Got another suffix.")
    path = desk.new_file(table, f"hierarchy{suffix}")
    try:
        most = min(HIERARCHY, desk.settings.upload_bytes)
        await uploads.receive(request, path, most, desk.disk.beyond(user))
        loaded = await desk.load_tree(table, of_column, path)
    finally:
        shutil.rmtree(path.parent, ignore_errors=True)
    change = {"column": of_column, "hierarchy": loaded["hierarchy"], "type": None}
    desk.change(user, table, table.draft.changed([change], table.names))
    found: dict[str, Any] = loaded["tree"]
    return found
