"""Downloads, from a server on this machine only."""

import gzip
import logging
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from shoal.datasets import _transfer, load
from shoal.datasets._sources import DATASETS, Dataset, by_header, by_position, content_hash
from shoal.datasets._transfer import TransferError, fetch, write_whole
from shoal.errors import DatasetNotFoundError

VALUES = np.array([[1.0, 2.5], [-3.0, 0.1]])
GOOD = b"\xef\xbb\xbfid,a,b\r7,1,2.5\r8,-3.0,0.1\r"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        getattr(self, "answer_" + self.path.strip("/"))()

    def answer(self, body, length=None, status=200):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def answer_good(self):
        self.answer(GOOD)

    def answer_first(self):
        self.answer(b"1,2.5\n")

    def answer_second(self):
        self.answer(b"# comment\n-3,0.1\n")

    def answer_wrong(self):
        self.answer(GOOD.replace(b"2.5", b"2.75"))

    def answer_page(self):
        self.answer(b"<html>please log in</html>")

    def answer_missing(self):
        self.answer(b"not here", status=404)

    def answer_moved(self):
        self.send_response(302)
        self.send_header("Location", "/good")
        self.end_headers()

    def answer_cut(self):
        self.answer(GOOD, length=len(GOOD) + 1000)

    def answer_endless(self):
        self.answer(b"x" * 5000)

    def answer_unannounced(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(GOOD)

    def answer_silent(self):
        self.server.leave.wait(5)

    def answer_drip(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        try:
            while not self.server.leave.wait(0.02):
                self.wfile.write(b"x")
        except OSError:
            pass

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.asked, running.leave = [], threading.Event()
        running.daemon_threads = True
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.leave.set()
        running.shutdown()
        thread.join()


@pytest.fixture
def table(server, monkeypatch, tmp_path):
    """Return a function that makes 'tiny' a table at the given paths of the server, and loads it."""
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def get(*paths, parse=by_header, **options):
        urls = tuple(f"http://127.0.0.1:{server.server_port}/{path}" for path in paths)
        tiny = Dataset("a tiny table", "tiny.csv.gz", 2, ("a", "b"), content_hash(VALUES), urls, parse)
        monkeypatch.setitem(DATASETS, "tiny", tiny)
        return load("tiny", download=True, **options)

    return get


def files(folder):
    return sorted(p.name for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize("path", ["good", "moved", "unannounced"])
def test_a_download_is_checked_kept_and_found_again(table, server, tmp_path, path):
    fetched = table(path)
    assert np.array_equal(fetched.data, VALUES)
    kept = tmp_path / "cache" / "shoal" / "tiny.csv.gz"
    assert files(tmp_path) == ["tiny.csv.gz"]
    assert gzip.decompress(kept.read_bytes()) == b"a,b\n1,2.5\n-3,0.1\n"
    asked = len(server.asked)
    assert np.array_equal(load("tiny").data, VALUES)
    assert np.array_equal(load("tiny", download=True).data, VALUES)
    assert len(server.asked) == asked


def test_a_download_says_what_it_fetches_and_where_it_is_kept(table, server, tmp_path, caplog):
    with caplog.at_level(logging.INFO, logger="shoal"):
        table("good")
    kept = tmp_path / "cache" / "shoal" / "tiny.csv.gz"
    assert [record.getMessage() for record in caplog.records] == [
        "fetching the table 'tiny': a tiny table; licence: not stated at the source",
        f"fetched {len(GOOD)} bytes from http://127.0.0.1:{server.server_port}/good",
        f"kept the table 'tiny' in {kept}, {kept.stat().st_size} bytes",
    ]
    caplog.clear()
    load("tiny", download=True)
    assert caplog.records == []


def test_a_download_goes_to_data_home_and_is_the_same_file_each_time(table, tmp_path):
    table("good", data_home=tmp_path / "new" / "folder")
    table("good", data_home=tmp_path / "other")
    first = (tmp_path / "new" / "folder" / "tiny.csv.gz").read_bytes()
    assert (tmp_path / "other" / "tiny.csv.gz").read_bytes() == first
    assert not (tmp_path / "cache").exists()


def test_a_table_of_two_files_keeps_their_order(table):
    def parse(texts, columns):
        return by_position(texts, columns, positions=(0, 1), width=2)

    assert np.array_equal(table("first", "second", parse=parse).data, VALUES)
    with pytest.raises(DatasetNotFoundError, match="values with another SHA-256"):
        table("second", "first", parse=parse, data_home="empty")


def test_nothing_is_fetched_without_being_asked_for(table, server, tmp_path):
    table("good")
    (tmp_path / "cache" / "shoal" / "tiny.csv.gz").unlink()
    server.asked.clear()
    with pytest.raises(DatasetNotFoundError, match="download=True"):
        load("tiny")
    assert server.asked == []


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("wrong", "values with another SHA-256"),
        ("page", "no column 'a'"),
        ("missing", "HTTP status 404"),
        ("cut", f"{len(GOOD)} of {len(GOOD) + 1000} bytes"),
        ("endless", "more than 1000 bytes"),
        ("silent", "no answer within 0.2 seconds"),
        ("drip", "no end of the file within 0.3 seconds"),
    ],
)
def test_a_failed_download_is_refused_and_leaves_nothing(table, tmp_path, monkeypatch, path, reason):
    monkeypatch.setattr(_transfer, "_WAIT", 0.2)
    monkeypatch.setattr(_transfer, "_DEADLINE", 0.3)
    monkeypatch.setattr(_transfer, "LARGEST", 1000)
    with pytest.raises(DatasetNotFoundError) as caught:
        table(path)
    assert f"The download of 'tiny' must give the published table. Got {reason} from http://" in str(caught.value)
    assert "nothing was kept" in str(caught.value)
    assert "2.75" not in str(caught.value)
    assert files(tmp_path) == []


def test_a_server_that_is_not_there(table, server, tmp_path):
    server.shutdown()
    server.server_close()
    with pytest.raises(DatasetNotFoundError, match="Got no connection"):
        table("good")
    assert files(tmp_path) == []


def test_fetch_refuses_an_address_without_a_server():
    with pytest.raises(TransferError, match="no connection"):
        fetch("http://127.0.0.1:1/nothing")


def test_a_folder_that_cannot_be_made_is_refused(table, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DatasetNotFoundError, match="must be one that files can be written to, to keep 'tiny'"):
        table("good", data_home=tmp_path / "file" / "folder")
    assert files(tmp_path) == ["file"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_folder_is_refused(table, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(0o555)
    with pytest.raises(DatasetNotFoundError, match="Got PermissionError; nothing was kept"):
        table("good", data_home=folder)
    folder.chmod(0o755)
    assert files(tmp_path) == []


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
def test_a_disk_that_fails_leaves_no_part_of_a_file(table, tmp_path, monkeypatch, step):
    def fail(*args, **options):
        raise PermissionError("refused by the test")

    monkeypatch.setattr(_transfer.os, step, fail)
    with pytest.raises(DatasetNotFoundError, match="Got PermissionError; nothing was kept"):
        table("good", data_home=tmp_path / "folder")
    assert files(tmp_path) == []


def test_an_interrupt_while_writing_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "table"
    write_whole(path, b"old")

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(_transfer.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"new")
    assert files(tmp_path) == ["table"]
    assert path.read_bytes() == b"old"


def test_two_downloads_at_once_leave_one_whole_file(tmp_path):
    path = tmp_path / "folder" / "table"
    contents = [bytes([i]) * 100_000 for i in range(8)]
    threads = [threading.Thread(target=write_whole, args=(path, content)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in contents
    assert files(tmp_path) == ["table"]
