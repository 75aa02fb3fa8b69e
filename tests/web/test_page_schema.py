"""The API, asked at random for whatever its own description allows, and for what it does not."""

import asyncio
import json
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, Phase, settings
from web_servers import ANSWERS, BASE, in_thread, pretend

from shoal.web.app import app_of
from shoal.web.desk import Desk
from shoal.web.settings import Settings

schemathesis = pytest.importorskip("schemathesis", reason="the test of the schema needs schemathesis")

# Streams do not end, and a visit that ends refuses all that follows.
SKIPPED = {("GET", "/api/v1/events"), ("DELETE", "/api/v1/session")}


def asked_at_random(folder, monkeypatch, examples):
    """Ask every operation of the API so many times; return how often, and the statuses that came."""
    pretend(monkeypatch)
    desk = Desk(Settings(port=8642, upload_bytes=10_000, paths=False), Path(folder))
    statuses = []
    with asyncio.Runner() as loop:
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app_of(desk)), base_url=BASE)

        def ask(**request):
            return loop.run(client.request(**request))

        assert ask(method="POST", url="/api/v1/session", json={"token": desk.users.new_token()}).status_code == 200
        user = next(iter(desk.users))
        table = ask(method="POST", url="/api/v1/tables/demo", json={}).json()["id"]
        user.tables[table].ready(ANSWERS["inspect"](None))
        job = ask(method="POST", url="/api/v1/jobs", json={"kind": "check", "table": table}).json()["id"]
        known = {"table": table, "job": job}
        schema = schemathesis.openapi.from_dict(ask(method="GET", url="/api/v1/openapi.json").json())
        for found in schema.get_all_operations():
            operation = found.ok()
            if (operation.method.upper(), operation.path) not in SKIPPED:
                _ask(operation, ask, known, statuses, examples)
        loop.run(desk.close())
    return statuses


def _ask(operation, send, known, statuses, examples):
    from hypothesis import given

    names = known["job" if "/jobs/" in operation.path else "table"]

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def check(case):
        # Half of the requests are about what exists.
        if len(statuses) % 2:
            if "id" in (case.path_parameters or {}) and operation.method.upper() != "DELETE":
                case.path_parameters["id"] = names
            if isinstance(case.body, dict) and "table" in case.body:
                case.body["table"] = known["table"]
                case.body.pop("plan", None)
        kwargs = case.as_transport_kwargs(base_url=BASE)
        kwargs.pop("cookies", None)
        if isinstance(kwargs.get("data"), bytes | str):
            kwargs["content"] = kwargs.pop("data")
        try:
            answer = send(**kwargs)
        except (httpx.InvalidURL, UnicodeEncodeError, ValueError):
            return  # cannot be sent
        statuses.append(answer.status_code)
        assert answer.status_code < 500, (operation.label, answer.text)
        documented = {str(status) for status in operation.definition.raw["responses"]}
        assert str(answer.status_code) in documented | {"405"}, (operation.label, answer.status_code, answer.text)
        if answer.status_code >= 400:
            assert set(json.loads(answer.text)["error"]) == {"kind", "message", "hint", "problems"}

    check()


@pytest.mark.long
def test_the_api_keeps_to_its_description(tmp_path, monkeypatch):
    statuses = in_thread(asked_at_random, tmp_path, monkeypatch, 120)
    assert len(statuses) >= 2000
    assert {200, 201, 202, 404, 409, 422} <= set(statuses)
