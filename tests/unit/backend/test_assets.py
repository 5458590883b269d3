"""The files of the built page, as browsers get them."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from backend.web.page import install

SCRIPT = b"export const answer = 42\n" * 200
BROTLI = b"the bytes of the build"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    folder = tmp_path / "assets"
    folder.mkdir()
    (tmp_path / "index.html").write_text("<!doctype html>")
    (folder / "index-1.js").write_bytes(SCRIPT)
    (folder / "index-1.js.br").write_bytes(BROTLI)
    (folder / "index-1.js.gz").write_bytes(gzip.compress(SCRIPT))
    (folder / "alone-1.js").write_bytes(SCRIPT)
    app = FastAPI()
    install(app, tmp_path)
    with TestClient(app) as client:
        yield client


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("BR", "br"),
        ("gzip", "gzip"),
        ("br;q=0, gzip;q=0.5", "gzip"),
        ("br; q=0.000, gzip", "gzip"),
        ("br;q=x", "br"),
        ("identity", None),
        ("", None),
    ],
)
def test_a_browser_gets_the_smallest_copy_that_it_reads(client: TestClient, accepted: str, encoding: str | None) -> None:
    with client.stream("GET", "/assets/index-1.js", headers={"Accept-Encoding": accepted}) as response:
        found = b"".join(response.iter_raw())
    assert response.headers.get("content-encoding") == encoding
    assert {"br": BROTLI, "gzip": gzip.compress(SCRIPT), None: SCRIPT}[encoding][10:] == found[10:], "but for the time in the head"
    assert response.headers["content-type"].startswith("text/javascript")
    assert "immutable" in response.headers["cache-control"]
    assert "Accept-Encoding" in response.headers["vary"]


def test_a_file_without_copies_is_compressed_as_it_is_sent(client: TestClient) -> None:
    response = client.get("/assets/alone-1.js", headers={"Accept-Encoding": "gzip, br"})
    assert (response.headers["content-encoding"], response.content) == ("gzip", SCRIPT)


def test_a_copy_changes_no_answer_to_a_wrong_request(client: TestClient) -> None:
    accepted = {"Accept-Encoding": "br"}
    assert (client.get("/assets/none.js", headers=accepted)).status_code == 404
    assert (client.get("/assets/../index.html", headers=accepted)).status_code != 500
    assert (client.post("/assets/index-1.js", headers=accepted)).status_code == 405
    etag = (client.head("/assets/index-1.js", headers=accepted)).headers["etag"]
    assert (client.get("/assets/index-1.js", headers={**accepted, "If-None-Match": etag})).status_code == 304
