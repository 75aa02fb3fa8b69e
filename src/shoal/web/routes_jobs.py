"""Routes about jobs: what is to be done, how it stands, and what came out."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.responses import FileResponse, Response

from shoal.web import schemas
from shoal.web.faults import Fault, not_found
from shoal.web.guard import REPORT_POLICY
from shoal.web.jobs import Job
from shoal.web.routes import AsUser, AtDesk, refusals
from shoal.web.sides import side_by_side

jobs = APIRouter(prefix="/api/v1", tags=["jobs"], responses=refusals(400, 401, 403, 404, 409, 413, 415, 422))


def job_of(user: AsUser, id: str) -> Job:
    """Return a job of the user."""
    return user.job(id)


AnyJob = Annotated[Job, Depends(job_of)]


@jobs.post("/jobs", status_code=202, response_model=schemas.JobOut, responses=refusals(429))
async def begin(given: schemas.Wanted, user: AsUser, desk: AtDesk) -> Any:
    """Have a release made (run), a plan checked, a run assessed, or methods compared."""
    if isinstance(given, schemas.Assess):
        return desk.assess(user, user.job(given.of)).plain()
    table = user.table(given.table)
    plan = desk.plan_for(table, given.plan)
    if isinstance(given, schemas.Run):
        writing: dict[str, Any] = {} if given.format is None else {"format": given.format}
        writing |= {"escape_formulas": True} if given.escape_formulas else {}
        job = desk.run(user, table, plan, name=given.name, writing=writing, assess=given.assess)
    elif isinstance(given, schemas.Check):
        job = desk.check(user, table, plan)
    else:
        job = desk.compare(user, table, plan, given.ks, given.methods or [plan.method], given.forms or [plan.release])
    return job.plain()


@jobs.get("/jobs", response_model=schemas.Jobs)
async def listed(user: AsUser) -> Any:
    """Return all jobs of this visit."""
    return {"jobs": [job.plain() for job in user.jobs.values()]}


@jobs.get("/jobs/{id}", response_model=schemas.JobOut)
async def look(job: AnyJob) -> Any:
    """Return how a job stands."""
    return job.plain()


@jobs.post("/jobs/{id}/stop", status_code=202, response_model=schemas.JobOut)
async def stop(job: AnyJob, user: AsUser, desk: AtDesk) -> Any:
    """End the search of a job: the best groups so far are released."""
    desk.queue.stop(user, job)
    return job.plain()


@jobs.post("/jobs/{id}/cancel", response_model=schemas.JobOut)
async def cancel(job: AnyJob, user: AsUser, desk: AtDesk) -> Any:
    """End a job at once; nothing of it is left."""
    desk.queue.cancel(user, job)
    return job.plain()


@jobs.delete("/jobs/{id}", status_code=204)
async def remove(job: AnyJob, user: AsUser, desk: AtDesk) -> None:
    """Take a finished job out of the list, with its files."""
    desk.remove_job(user, job)


@jobs.get("/jobs/{id}/result", response_model=dict[str, Any])
async def result(job: AnyJob) -> Response:
    """Return what came out of a job: as the worker wrote it, so that nobody waits while it is read and written anew."""
    return Response(_text(job), media_type="application/json")


def _text(job: Job) -> str:
    if job.state != "done":
        raise Fault(409, "A job must be done before its result is asked for. Got one that is not.")
    return (job.folder / "result.json").read_text(encoding="utf-8")


@jobs.get(
    "/jobs/{id}/files/{name}",
    response_class=FileResponse,
    responses={200: {"content": {"application/octet-stream": {}}, "description": "The file."}},
)
async def file(job: AnyJob, name: str, inline: Annotated[int, Query(ge=0, le=1)] = 0) -> Response:
    """Download a file of a finished run; the report may be shown in a tab of its own (`inline`)."""
    if job.state != "done" or name not in job.files:
        raise not_found("file")
    kept = job.files[name]
    shown = bool(inline) and name == "report"
    headers = {"Content-Security-Policy": REPORT_POLICY} if name == "report" else {}
    return FileResponse(
        job.folder / kept["file"],
        media_type=kept["type"],
        filename=kept["file"],
        content_disposition_type="inline" if shown else "attachment",
        headers=headers,
    )


@jobs.post("/comparison")
async def comparison(given: schemas.Runs, user: AsUser) -> dict[str, Any]:
    """Put finished runs side by side, with what tells their plans apart."""
    runs = [user.job(id) for id in given.jobs]
    if any(job.kind != "run" or job.state != "done" for job in runs):
        raise Fault(409, "Only finished runs can be compared. Got another job.")
    done = [job for job in user.jobs.values() if job.kind == "assess" and job.state == "done"]
    assessed = {job.of: json.loads(_text(job)) for job in done}
    return side_by_side([(job, json.loads(_text(job)), assessed.get(job.id)) for job in runs])
