"""What comes before a request is parsed: credentials, sizes, deadlines and bounds, against the API over real sockets."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest

from backend.admission.connections import BoundedConnection
from backend.admission.rules import KIB, MIB, STREAM
from backend.app import openapi, routes
from backend.stream import service
from backend.stream.turns import TICK
from tests.integration.backend.agent import Agent
from tests.integration.backend.jobs import submit
from tests.support import TIMEOUT, eventually

DOCUMENT = openapi(routes())


@contextmanager
def connected(server: str) -> Iterator[socket.socket]:
    where = urlsplit(server)
    with socket.create_connection((where.hostname or "", where.port or 0), timeout=TIMEOUT) as connection:
        yield connection


def header(method: str, path: str, token: str = "", **fields: object) -> bytes:
    more = {"authorization": f"Bearer {token}"} if token else {}
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in {"host": "localhost", **more, **fields}.items()]
    return "\r\n".join([f"{method} /api/v1{path} HTTP/1.1", *lines, "", ""]).encode()


def answer(connection: socket.socket) -> tuple[int, bytes]:
    """Status of the next response, and all of it that has a length."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    head, _, body = received.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    while length and len(body) < int(length[1]):
        body += connection.recv(65536)
    return int(head.split(b" ", 2)[1]), head + body


def test_a_connection_that_does_not_go_on_is_closed(server: str, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("header_seconds", "body_seconds", "linger_seconds"):
        monkeypatch.setattr(BoundedConnection, name, 0.2)
    slow = header("POST", "/tokens", token, content_type="application/json", content_length=100)
    stranger = header("POST", "/tokens", content_length=8 * MIB)
    for sent in (b"", b"GET /api/v1/health HTTP/1.1\r\nhost: localhost\r\n", slow, slow + b'{"name":', stranger, stranger + b"x"):
        with connected(server) as connection:
            connection.sendall(sent)
            received = b"".join(iter(lambda c=connection: c.recv(65536), b""))  # to the end, which only the server makes
            assert (b" 401 " in received) == (sent[: len(stranger)] == stranger), received


def test_what_is_no_http_is_told_so_even_if_more_is_on_its_way(server: str) -> None:
    bad = header("POST", "/bundles", bad_header="x", content_length=8 * MIB).replace(b"bad-header", b"bad header")
    coded = header("POST", "/session", transfer_encoding="gzip, chunked")
    for sent, expected in ((bad, 400), (b"junk\r\n\r\n", 400), (coded, 400), (header("GET", "/jobs?x=" + "y" * 400_000), 431)):
        with connected(server) as connection:
            with suppress(ConnectionError):
                connection.sendall(sent + b"x" * 4 * MIB)
            received = b"".join(iter(lambda c=connection: c.recv(65536), b""))
        head, _, body = received.partition(b"\r\n\r\n")
        assert f" {expected} ".encode() in head
        assert json.loads(body)["detail"].endswith(".")


def test_half_sent_requests_keep_nobody_out(server: str, anonymous: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedConnection, "most_of_address", 4)
    before = BoundedConnection.by_address.total()
    with ExitStack() as held:
        half = [held.enter_context(connected(server)) for _ in range(20)]
        for connection in half:
            connection.sendall(b"GET /api/v1/health HTTP/1.1\r\n")
        assert anonymous.get("/health").status_code == 200
        with suppress(ConnectionResetError):
            assert half[0].recv(1) == b"", "the oldest gave its place"
        assert BoundedConnection.by_address.total() <= 4 + before
    eventually(lambda: BoundedConnection.by_address.total() <= before + 1, "connections that are counted no more")


def test_connections_beyond_the_bound_are_refused_while_all_others_are_answered(
    server: str, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedConnection, "most", 2)
    with ExitStack() as held:
        for _ in range(2):
            stream = held.enter_context(connected(server))
            stream.sendall(header("GET", "/jobs/stream", token))
            assert answer(stream)[0] == 200
        assert answer(held.enter_context(connected(server)))[0] == 503


def test_a_stranger_is_refused_before_a_byte_of_the_body(server: str) -> None:
    tried = 0
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            if operation["operationId"] in ("getHealth", "signIn"):
                continue
            url = re.sub(r"\{[^}]+\}", str(uuid4()), path).removeprefix("/api/v1")
            tried += 1
            with connected(server) as connection:
                for credentials in ("", "gst_unknown"):
                    kind = {"content_type": "application/json", "content_length": 10}
                    connection.sendall(header(method.upper(), url, credentials, **kind))  # and no body
                    assert answer(connection)[0] == 401, f"{method} {path}"
                    connection.sendall(b" " * 10)
    assert tried > 40


def test_each_endpoint_has_its_limit(server: str, token: str, agent: Agent) -> None:
    limits = {
        "/session": 4 * KIB,
        "/jobs": 512 * KIB,
        "/jobs/plan": 512 * KIB,
        "/jobs/validate": 4 * MIB,
        "/tokens": 64 * KIB,
        "/bundles": 64 * MIB,
        "/agent/heartbeat": 8 * MIB,
        "/agent/logs": 8 * MIB,
        "/jobs/bulk": 64 * KIB,
    }
    for path, limit in limits.items():
        with connected(server) as connection:
            credentials = agent.token if path.startswith("/agent") else token
            connection.sendall(header("POST", path, credentials, content_length=limit + 1))
            status, received = answer(connection)
            assert status == 413, path
            assert f"{limit:,} bytes allowed here. ".encode() in received, "and what to do"


def test_millions_of_small_values_do_not_stop_the_api(server: str, anonymous: httpx.Client, agent: Agent) -> None:
    nested = b"[" + b"[]," * (8 * MIB // 3 - 2) + b"[]]"
    kind = {"Content-Type": "application/json"}

    def attack(number: int) -> int:
        with httpx.Client(base_url=anonymous.base_url, trust_env=False, timeout=TIMEOUT) as client:
            if number:
                return client.post("/session", content=nested, headers=kind).status_code
            return client.post(
                "/agent/heartbeat", content=nested, headers={**kind, "Authorization": f"Bearer {agent.token}"}
            ).status_code

    with ThreadPoolExecutor(9) as attackers:
        attacks = [attackers.submit(attack, number) for number in range(9)]
        slowest = 0.0
        while not all(each.done() for each in attacks):
            begun = time.monotonic()
            assert anonymous.get("/health").status_code == 200
            slowest = max(slowest, time.monotonic() - begun)
    assert [each.result() for each in attacks] == [422, *[413] * 8]
    assert slowest < 10


def test_the_33rd_stream_of_a_user_is_refused(server: str, token: str, api: httpx.Client) -> None:
    with ExitStack() as held:
        streams = [held.enter_context(connected(server)) for _ in range(STREAM.at_once)]
        for stream in streams:
            stream.sendall(header("GET", "/jobs/stream", token))
        assert {answer(stream)[0] for stream in streams} == {200}
        refused = held.enter_context(connected(server))
        refused.sendall(header("GET", "/jobs/stream", token))
        status, received = answer(refused)
    assert status == 429
    assert b"retry-after: 2" in received
    assert b"You already have 32 open streams, which is the limit. Close pages or programs that follow jobs" in received
    assert api.get("/jobs").status_code == 200


def test_numbers_that_nothing_can_hold_are_refused_or_left_out(api: httpx.Client, agent: Agent) -> None:
    for path in ("logs", "logs/download"):
        refused = api.get(f"/jobs/{uuid4()}/{path}", params={"rank": 1307674368001})
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/query/rank")
    headers = {"Authorization": f"Bearer {agent.token}", "Content-Type": "application/json"}
    for at, memory in (("Infinity", 1), ("NaN", 1), ("-Infinity", 1), (1, 10**400)):
        usage = f'{{"at": {at}, "cpu": null, "memory": {memory}}}'
        body = f'{{"processes": [{{"id": "{uuid4()}", "state": "running", "usage": {usage}}}]}}'
        taken = agent.http.post("/agent/heartbeat", content=body, headers=headers)
        assert taken.status_code == 200, "a usage that nothing can hold counts as not told; the node keeps its jobs"


def test_streams_of_the_list_share_one_look_a_tick(
    server: str, token: str, api: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = list[int]()
    look = service.look_at_list
    monkeypatch.setattr(service, "look_at_list", lambda *given: looks.append(len(given[3])) or look(*given))
    with ExitStack() as held:
        streams = [held.enter_context(connected(server)) for _ in range(20)]
        for stream in streams:
            stream.sendall(header("GET", "/jobs/stream", token))
        for stream in streams:
            received = b""
            while b"event: gone" not in received:  # which ends what a stream is told first
                received += stream.recv(65536)
        assert sum(looks) <= 20
        looks.clear()
        begun = time.monotonic()
        name = submit(api, tmp_path)["id"].encode()
        for stream in streams:
            received = b""
            while name not in received:
                received += stream.recv(65536)
        assert 1 <= len(looks) <= 2 + (time.monotonic() - begun) / TICK, "each tick is one look for all"
