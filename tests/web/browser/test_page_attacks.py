"""What other pages, other people and hostile tables try, in a real browser and on the server as it runs."""

import http.server
import re
import threading
from contextlib import contextmanager

import httpx
import pytest
from steps import expect, said, set_role, to_protection, upload

MARKER = "Mallory4711"
# A page of another origin that tries everything by which pages can reach others: forms, images, frames, scripts, fetch.
EVIL = """<!doctype html><title>evil</title><body>
<img src="{home}api/v1/state"><script src="{home}api/v1/state"></script><iframe src="{home}" name="frame"></iframe>
<form id="form" method="post" enctype="text/plain" target="frame" action="{home}api/v1/tables/demo">
<input name='{{"rows": 500, "x": "' value='"}}'></form>
<script>
document.getElementById("form").submit();
const ask = (path, how) => fetch("{home}api/v1/" + path, {{ credentials: "include", ...how }}).then(
  (answer) => answer.text().then((text) => `${{answer.type}} ${{text}}`), () => "failed");
Promise.all([
  ask("state", {{}}),
  ask("state", {{ mode: "no-cors" }}),
  ask("tables/demo", {{ method: "POST", mode: "no-cors", body: "{{}}", headers: {{ "Content-Type": "text/plain" }} }}),
  ask("tables/demo", {{ method: "POST", body: "{{}}", headers: {{ "Content-Type": "application/json" }} }}),
  ask("session", {{ method: "DELETE" }}),
]).then((answers) => {{ document.title = "tried " + answers.join("|"); }});
</script>"""


@contextmanager
def another_site(page):
    """Serve a page on another port of this machine: the same site to cookies, another origin to the server."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *words):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as site:
        thread = threading.Thread(target=site.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{site.server_port}/"
        finally:
            site.shutdown()
            thread.join()


def test_another_page_can_neither_read_nor_send(visit):
    page = visit()
    home = page.url.split("#")[0]
    with another_site(EVIL.format(home=home)) as where:
        evil = page.context.new_page()
        statuses = []
        evil.on("response", lambda answer: answer.url.startswith(home) and statuses.append(answer.status))
        evil.goto(where)
        expect(evil).to_have_title(re.compile("^tried"))
        tried = evil.title()
        evil.close()
    assert "last_event" not in tried  # nothing of the state was read
    assert 200 not in statuses
    assert 201 not in statuses
    state = page.request.get(f"{home}api/v1/state")
    assert state.status == 200  # the visit was not ended
    assert state.json()["tables"] == []  # nothing was opened


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8642", "127.0.0.1.evil.example:8642"])
def test_a_name_that_was_bound_anew_to_this_machine_is_refused(server, visit, host):
    home = visit().url.split("#")[0]
    for path in ("", "api/v1/state", "static/app.js"):
        answer = httpx.get(home + path, headers={"host": host, "origin": f"http://{host}"})
        assert answer.status_code == 403


def test_nothing_of_the_data_is_in_addresses(visit, tmp_path):
    table = tmp_path / f"{MARKER} file.csv"
    rows = [f"{MARKER} {i % 3},{20 + i % 30},{10000 + 137 * i % 9000}" for i in range(60)]
    table.write_text("\n".join([f"{MARKER} column,age,postcode", *rows]), encoding="utf-8")
    page = visit()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    upload(page, table)
    page.get_by_role("button", name=f"Details of {MARKER} column").click()
    set_role(page, f"{MARKER} column", "Sensitive")
    said(page, f"{MARKER} column: sensitive.")
    page.get_by_role("button", name="Details of postcode").click()
    page.get_by_label("Hierarchy", exact=True).last.select_option("prefixes")
    page.get_by_role("button", name="Show the tree").click()
    page.get_by_role("group", name="Hierarchy of postcode").wait_for()
    page.get_by_role("button", name="Use it").click()
    page.get_by_text("postcode has a hierarchy.").first.wait_for()
    page.reload()
    to_protection(page)
    page.get_by_label(f"Add a model for {MARKER} column").select_option("distinct-diversity")
    said(page, f"{MARKER} column: distinct-diversity.")
    assert len(asked) > 10
    assert not [url for url in [*asked, page.url] if MARKER in url]
