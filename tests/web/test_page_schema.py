"""The API, asked at random for whatever its own description allows, and for what it does not."""

import json
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, Phase, settings
from web_servers import ANSWERS, BASE, pretend

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
    with TestClient(app_of(desk), base_url=BASE) as client:
        assert client.post("/api/v1/session", json={"token": desk.users.new_token()}).status_code == 200
        user = next(iter(desk.users))
        table = client.post("/api/v1/tables/demo", json={}).json()["id"]
        user.tables[table].ready(ANSWERS["inspect"](None))
        job = client.post("/api/v1/jobs", json={"kind": "check", "table": table}).json()["id"]
        known = {"table": table, "job": job}
        schema = schemathesis.openapi.from_dict(client.get("/api/v1/openapi.json").json())
        for found in schema.get_all_operations():
            operation = found.ok()
            if (operation.method.upper(), operation.path) not in SKIPPED:
                _ask(operation, client, known, statuses, examples)
    return statuses


def _ask(operation, client, known, statuses, examples):
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
    def ask(case):
        # Half of the requests are about what exists.
        if "id" in (case.path_parameters or {}) and len(statuses) % 2:
            case.path_parameters["id"] = names
        kwargs = case.as_transport_kwargs(base_url=BASE)
        kwargs.pop("cookies", None)
        try:
            answer = client.request(**kwargs)
        except (httpx.InvalidURL, UnicodeEncodeError, ValueError):
            return  # cannot be sent
        statuses.append(answer.status_code)
        assert answer.status_code < 500, (operation.label, answer.text)
        documented = {str(status) for status in operation.definition.raw["responses"]}
        assert str(answer.status_code) in documented | {"405"}, (operation.label, answer.status_code, answer.text)
        if answer.status_code >= 400:
            assert set(json.loads(answer.text)["error"]) == {"kind", "message", "hint", "problems"}

    ask()


def test_the_api_keeps_to_its_description(tmp_path, monkeypatch):
    statuses = asked_at_random(tmp_path, monkeypatch, 3)
    assert len(statuses) > 40


@pytest.mark.long
def test_the_api_keeps_to_its_description_for_thousands_of_requests(tmp_path, monkeypatch):
    statuses = asked_at_random(tmp_path, monkeypatch, 120)
    assert len(statuses) >= 2000
    assert {200, 201, 202, 204, 404, 409, 422} <= set(statuses)
