"""Who may ask, from where, and what every answer says to the browser."""

import asyncio
import json

import httpx
import pytest
from web_servers import ANSWERS, BASE, pretend, run, visiting

from clocks import PATIENCE
from shoal.web import guard
from shoal.web.app import TELEMETRY, app_of
from shoal.web.desk import Desk
from shoal.web.guard import BODY
from shoal.web.settings import MOST_STREAMS, Settings


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """Return a function that gives the answer to one request, of a user with a cookie or of anybody."""
    desk = Desk(Settings(port=8642), tmp_path_factory.mktemp("desk"))
    app = app_of(desk)
    _, cookie = desk.enter(desk.users.new_token())

    def ask(method="GET", path="/api/v1/state", *, signed=True, headers=None, **how):
        async def answer():
            cookies = {"shoal-8642": cookie} if signed else None
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url=BASE, cookies=cookies) as client:
                return await client.request(method, path, headers=headers, **how)

        return run(answer())

    return ask


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example:8642"},
        {"host": "127.0.0.1"},
        {"host": "127.0.0.1:8643"},
        {"host": "127.0.0.1.evil.example:8642"},
        {"host": "evil.example:8642", "origin": "http://evil.example:8642"},  # rebinding: both agree
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "https://127.0.0.1:8642"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},  # another port of this machine
        {"sec-fetch-site": "cross-site", "sec-fetch-dest": "image", "sec-fetch-mode": "no-cors"},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_comes_from_elsewhere_is_refused(asked, headers, method):
    answer = asked(method, "/api/v1/state" if method == "GET" else "/api/v1/tables/demo", headers=headers)
    assert answer.status_code == 403
    assert set(answer.json()["error"]) == {"kind", "message", "hint", "problems"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"host": "localhost:8642", "origin": "http://localhost:8642", "sec-fetch-site": "same-origin"},
        {"host": "[::1]:8642"},
        {"sec-fetch-site": "none"},
    ],
)
def test_the_page_itself_and_scripts_may_ask(asked, headers):
    assert asked(headers=headers).status_code == 200


def test_a_link_from_anywhere_shows_the_page_and_nothing_else(asked):
    link = {"sec-fetch-site": "cross-site", "sec-fetch-dest": "document", "sec-fetch-mode": "navigate"}
    assert asked(path="/", headers=link).status_code in (200, 404)  # 404: the page is not installed
    assert asked(path="/api/v1/state", headers=link).status_code == 403
    assert asked("POST", "/", headers=link).status_code == 403


@pytest.mark.parametrize("path", ["/api/v1/state", "/", "/static/none.js", "/nowhere", "/api/v1/openapi.json"])
def test_every_answer_tells_the_browser_what_it_may_do(asked, path):
    headers = asked(path=path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert ("no-store" if path.startswith("/api/") else "no-cache") in headers["cache-control"]


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/../app.py"])
def test_static_files_are_those_of_the_page_alone(asked, path):
    assert asked(path=path).status_code == 404


ROUTES = [
    ("GET", "/session"),
    ("DELETE", "/session"),
    ("GET", "/state"),
    ("GET", "/catalogue"),
    ("GET", "/events"),
    ("POST", "/tables/upload"),
    ("POST", "/tables/demo"),
    ("POST", "/tables/open"),
    ("GET", "/tables/t1"),
    ("POST", "/jobs"),
    ("GET", "/jobs/j1/files/release"),
    ("POST", "/comparison"),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
@pytest.mark.parametrize("cookie", [None, "guessed"])
def test_nothing_is_told_without_a_visit(asked, method, path, cookie):
    headers = {"x-shoal-name": "a.csv"} | ({} if cookie is None else {"cookie": f"shoal-8642={cookie}"})
    bodies = {"/tables/demo": {}, "/tables/open": {"path": "/etc/passwd"}, "/comparison": {"jobs": ["j"]}}
    body = bodies.get(path, {"kind": "check", "table": "t"}) if method == "POST" else None
    answer = asked(method, f"/api/v1{path}", signed=False, headers=headers, json=body)
    assert answer.status_code == 401


def test_a_token_is_good_once_and_the_cookie_is_out_of_reach(tmp_path):
    async def enter():
        desk = Desk(Settings(port=8642), tmp_path)
        link = desk.new_link()
        address, token = link.split("#token=")
        assert address == f"{BASE}/"
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app_of(desk)), base_url=BASE) as client:
            first = await client.post("/api/v1/session", json={"token": token})
            again = await client.post("/api/v1/session", json={"token": token})
            other = await client.post("/api/v1/session", json={"token": "x" * len(token)})
        return first, again, other, token

    first, again, other, token = run(enter())
    assert (first.status_code, again.status_code, other.status_code) == (200, 401, 401)
    cookie = first.headers["set-cookie"]
    assert cookie.startswith("shoal-8642=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert token not in cookie
    assert token not in first.text + again.text


def test_a_leaving_user_takes_everything_along(tmp_path):
    async def leave():
        async with visiting(tmp_path) as visit:
            user = next(iter(visit.desk.users))
            (user.folder / "kept").write_text("secret")
            await visit.ask("DELETE", "/session", status=204)
            answer = await visit.client.get("/api/v1/state")
            return user.folder.exists(), answer.status_code

    assert run(leave()) == (False, 401)


def test_idle_users_are_wiped_but_not_while_their_jobs_run(tmp_path, monkeypatch):
    pretend(monkeypatch, seconds=60)
    now = [0.0]

    async def idle():
        async with visiting(tmp_path, users=2, clock=lambda: now[0], idle_seconds=100) as (busy, away):
            table = await busy.post("/tables/demo", {})
            folder = {visit: user.folder for visit, user in zip((busy, away), busy.desk.users, strict=True)}
            next(iter(busy.desk.users)).tables[table["id"]].ready(ANSWERS["inspect"](None))
            await busy.post("/jobs", {"kind": "check", "table": table["id"]}, status=202)
            now[0] = 101.0
            busy.desk.wipe_idle()
            return [one.exists() for one in folder.values()]

    assert run(idle()) == [True, False]


def test_a_page_that_is_left_open_is_no_sign_of_its_user(tmp_path):
    """Its stream of events comes back after every break of a network."""
    now = [0.0]

    async def idle():
        async with visiting(tmp_path, clock=lambda: now[0]) as visit:
            user = next(iter(visit.desk.users))
            now[0] = 50.0
            user.events.close("The stream ends at once.")
            await visit.client.get("/api/v1/events")
            listened = user.seen
            await visit.client.get("/api/v1/state")
            return listened, user.seen

    assert run(idle()) == (0.0, 50.0)


def test_streams_of_one_user_leave_room_for_others(tmp_path):
    """Each holds a connection; one that has ended makes room for another."""

    async def listen():
        async with visiting(tmp_path, users=2) as visits:
            one, other = visits
            user = next(iter(one.desk.users))
            streams = [asyncio.ensure_future(one.client.get("/api/v1/events")) for _ in range(MOST_STREAMS)]
            async with asyncio.timeout(PATIENCE):
                while user.events.open_streams < MOST_STREAMS:
                    await asyncio.sleep(0.01)
            refused = await one.client.get("/api/v1/events")
            allowed = asyncio.ensure_future(other.client.get("/api/v1/events"))
            described = (await one.get("/openapi.json"))["paths"]["/api/v1/events"]["get"]["responses"]
            user.events.close("over")
            await asyncio.gather(*streams)
            again = await one.client.get("/api/v1/events")
            for user in one.desk.users:
                user.events.close("over")
            return refused, "429" in described, again.status_code, (await allowed).status_code

    refused, described, again, other = run(listen())
    assert refused.status_code == 429
    assert set(refused.json()["error"]) == {"kind", "message", "hint", "problems"}
    assert (described, again, other) == (True, 200, 200)


def test_a_false_request_is_answered_without_its_words(asked):
    marker = "Mallory Marker 4711"
    bodies = [
        ("/api/v1/tables/demo", {"rows": marker}),
        ("/api/v1/tables/demo", {marker: 1}),
        ("/api/v1/jobs", {"kind": marker}),
        ("/api/v1/session", {"token": [marker]}),
    ]
    for path, body in bodies:
        answer = asked("POST", path, json=body)
        assert answer.status_code == 422
        assert "Mallory" not in answer.text
        error = answer.json()["error"]
        assert set(error) == {"kind", "message", "hint", "problems"}
        assert "must" in error["message"]
    assert asked("POST", "/api/v1/jobs", content=b"{").status_code == 422
    assert asked("POST", "/api/v1/jobs", content=b" " * (BODY + 1)).status_code == 413


def test_telemetry_stays_off(tmp_path, monkeypatch):
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    inner = app_of(Desk(Settings(), tmp_path)).app
    assert inner._telemetry == TELEMETRY | {k: v for k, v in inner._telemetry.items() if k not in TELEMETRY}
    assert not any(inner._telemetry[name] for name in TELEMETRY)
    assert not inner._native_telemetry.enabled()


def test_a_proxy_is_reached_by_its_name_over_tls(tmp_path):
    settings = Settings(port=8642, names=("data.example.org",), paths=False)
    assert settings.hosts == {"data.example.org"}
    assert settings.origins == {"https://data.example.org"}

    async def enter():
        desk = Desk(settings, tmp_path)
        transport = httpx.ASGITransport(app_of(desk))
        async with httpx.AsyncClient(transport=transport, base_url="https://data.example.org") as client:
            entered = await client.post("/api/v1/session", json={"token": desk.users.new_token()})
            opened = await client.post("/api/v1/tables/open", json={"path": "/etc/passwd"})
        return entered.headers["set-cookie"], opened.status_code

    cookie, status = run(enter())
    assert cookie.startswith("__Host-shoal-8642=")  # no other host of the domain can set it
    assert "Secure" in cookie
    assert "Path=/;" in cookie
    assert "Domain" not in cookie
    assert status == 403


@pytest.mark.parametrize("path", ["/api/v1/session", "/api/v1/tables/demo", "/api/v1/jobs"])
def test_a_request_that_never_comes_to_its_end_is_sent_away(tmp_path, monkeypatch, path):
    """Without a visit too: the token of a visit comes in a body."""
    monkeypatch.setattr(guard, "SILENCE", 0.0)
    sent, forever = [], []

    async def send(message):
        sent.append(message)

    async def ask():
        async with visiting(tmp_path) as visit:
            cookie = f"{visit.desk.settings.cookie}={visit.client.cookies[visit.desk.settings.cookie]}"

            async def receive():
                if forever:
                    await asyncio.Event().wait()
                forever.append(1)
                return {"type": "http.request", "body": b"{", "more_body": True}

            given = {"host": "127.0.0.1:8642", "cookie": cookie, "content-type": "application/json"}
            headers = [(name.encode(), value.encode()) for name, value in given.items()]
            scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
            await asyncio.wait_for(app_of(visit.desk)(scope, receive, send), PATIENCE)

    run(ask())
    assert sent[0]["status"] in (400, 408)
    assert "must" in json.loads(sent[1]["body"])["error"]["message"]


def test_an_address_that_is_nearly_right_is_not_sent_elsewhere(asked):
    assert asked("GET", "/api/v1/state/").status_code == 404
