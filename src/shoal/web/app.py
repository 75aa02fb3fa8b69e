"""The application: routes, errors in the shape of the library's, static files, and the guard in front of all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

import shoal
from shoal.errors import ShoalError
from shoal.web.desk import Desk
from shoal.web.faults import Fault, defect, status_of, told
from shoal.web.guard import Guard
from shoal.web.processes import Refused
from shoal.web.routes import tables, visits
from shoal.web.routes_jobs import jobs

STATIC = Path(__file__).parent / "static"
# FastAPI would record addresses and failed checks for whoever has set up OpenTelemetry in this process.
TELEMETRY = {"tracing": False, "metrics": False, "logs": False, "operation_spans": False, "auto_configure": False}

HTTP_WORDS = {
    400: "The body of a request must be what this address takes. Got something that cannot be read.",
    404: "The address must be one of the API or of the page. Got another.",
    405: "The address must be used with a method that it has. Got another.",
}


def app_of(desk: Desk) -> Guard:
    """Return the application of a desk, behind its guard."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        looking = asyncio.ensure_future(desk.look_for_idle())
        yield
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking
        await desk.close()

    app = FastAPI(
        title="Shoal",
        version=shoal.__version__,
        description="Everything that the page does. A visit begins with POST /api/v1/session.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=life,
        telemetry=TELEMETRY,  # type: ignore[arg-type]
    )
    app.state.desk = desk
    for router in (visits, tables, jobs):
        app.include_router(router)
    _answer_errors(app)
    app.get("/", include_in_schema=False)(_page)
    app.mount("/static", StaticFiles(directory=STATIC, check_dir=False), name="static")
    return Guard(app, desk.settings)


async def _page() -> Response:
    if not (STATIC / "index.html").is_file():
        raise Fault(404, "The page must be installed with Shoal. Got none.", "the API is under /api/v1.")
    return FileResponse(STATIC / "index.html", media_type="text/html")


def _answer(status: int, error: dict[str, Any]) -> JSONResponse:
    return JSONResponse({"error": error}, status_code=status)


def _answer_errors(app: FastAPI) -> None:
    """Have every error answered in the shape of the library's, without quoting what was sent."""

    async def invalid(_: Request, error: Exception) -> Response:
        return _answer(422, told(Fault(422, *_invalid_in_words(error))))

    async def ours(_: Request, error: Exception) -> Response:
        return _answer(status_of(error) if isinstance(error, ShoalError) else 500, told(error))

    async def refused(_: Request, error: Exception) -> Response:
        plain: dict[str, Any] = error.error if isinstance(error, Refused) else defect(error)
        return _answer(500 if plain["kind"] in ("Defect", "OSError") else 422, plain)

    async def of_http(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        words = HTTP_WORDS.get(status, "The request must be one that the API takes. Got another.")
        answer = _answer(status, told(Fault(status, words, "see /api/v1/openapi.json.")))
        answer.headers.update((isinstance(error, HTTPException) and error.headers) or {})
        return answer

    async def gone(_: Request, error: Exception) -> Response:
        return _answer(400, told(Fault(400, "A request must come to its end. Got one that was broken off.")))

    handlers: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
        RequestValidationError: invalid,
        ShoalError: ours,
        Refused: refused,
        HTTPException: of_http,
        ClientDisconnect: gone,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)

    app.add_exception_handler(Exception, _defective)


async def _defective(_: Request, error: Exception) -> Response:
    return _answer(500, defect(error))


def _invalid_in_words(error: Exception) -> tuple[str, str | None]:
    """Return what is wrong with a request; what was sent is not quoted, as it may hold values of the data."""
    errors = error.errors() if isinstance(error, RequestValidationError) else []
    first = errors[0] if errors else {"loc": (), "msg": "", "type": ""}
    if first["type"] == "json_invalid":
        return "The body of a request must be JSON. Got something else.", None
    if first["type"] == "extra_forbidden":
        return "A request must have the keys that this address takes. Got an unknown one.", "see /api/v1/openapi.json."
    place = [str(part) for part in first["loc"] if not isinstance(part, int)]
    where = place[1:] or place
    said = str(first["msg"])
    words = f"must be {said.removeprefix('Input should be ')}" if said.startswith("Input should be") else "must fit"
    words = "must be given. Got none" if first["type"] == "missing" else f"{words}. Got something else"
    names = ".".join(where[:4])
    return f"The {names!r} of a request {words}.", "see /api/v1/openapi.json."
