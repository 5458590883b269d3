"""Whatever a client does with its connection, the API answers what is a request, closes what is none, and goes on."""

from __future__ import annotations

import json
import re
import socket
import struct
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from backend.admission.connections import BoundedConnection
from tests.hostile.http.exchanges import SMUGGLED, Exchange, exchange
from tests.hostile.progress import Progress
from tests.hostile.runs import FIRST, runs
from tests.integration.backend.jobs import submit
from tests.support import TIMEOUT, eventually

RUNS = runs(160, 5_000)
AT_ONCE = 8
IMPATIENT = 0.3
"""Seconds until the API closes what does not go on."""
LONGEST = 0.25
"""Seconds of processor time for one connection, on average over a few."""
_MOST = 1 << 20
"""Bytes of the answers that are read."""
Answers = list[tuple[int, bytes]]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("header_seconds", "body_seconds", "linger_seconds", "write_seconds"):
        monkeypatch.setattr(BoundedConnection, name, IMPATIENT)
    constant = property(lambda self: IMPATIENT, lambda self, value: None)  # each connection takes its own from the settings
    monkeypatch.setattr(BoundedConnection, "timeout_keep_alive", constant, raising=False)


@pytest.mark.usefixtures("impatient")
def test_no_connection_ends_in_an_error_of_the_server_or_stays(
    server: str, token: str, api: httpx.Client, tmp_path: Path, progress_of: Callable[[str], Progress]
) -> None:
    job = submit(api, tmp_path)["id"].encode()
    progress, faults, slowest = progress_of("answers"), dict[str, str](), 0.0
    with ThreadPoolExecutor(AT_ONCE) as clients:
        for first in range(FIRST, FIRST + RUNS, 40):
            drawn = [exchange(seed, token.encode(), job) for seed in range(first, min(first + 40, FIRST + RUNS))]
            ran = time.process_time()
            for each, answers in zip(drawn, clients.map(lambda each: answers_to(server, each), drawn), strict=True):
                for status, _ in answers:
                    progress.note(each.seed, str(status))
                if fault := fault_of(each, answers):
                    faults.setdefault(fault, f"{str(each)[:1500]}\n{str(answers)[:1500]}")
            slowest = max(slowest, (time.process_time() - ran) / len(drawn))
            assert api.get("/jobs", headers={"Connection": "close"}).json()["items"], first
    print(f"{RUNS:,} connections; {progress}; {slowest:.3f} s each at most")  # noqa: T201
    assert not faults, "\n\n".join(f"{what}\n{which}" for what, which in faults.items())
    assert slowest < LONGEST
    assert progress.met["200"] >= RUNS // 20, "what is refused all alike tries nothing"
    eventually(lambda: not BoundedConnection.by_address.total(), "an end of all connections")


def fault_of(drawn: Exchange, answers: Answers) -> str | None:
    if worst := next((status for status, _ in answers if status >= 500 or status == 101), None):
        return f"status {worst}"
    if len(answers) > drawn.requests:
        return f"{len(answers)} answers to {drawn.requests} requests"
    return "an answer to a request in a body" if any(_is_smuggled(content) for _, content in answers) else None


def _is_smuggled(content: bytes) -> bool:
    with suppress(ValueError):
        problem = json.loads(content)
        return isinstance(problem, dict) and problem.get("instance") == SMUGGLED.decode()
    return False


def answers_to(server: str, drawn: Exchange) -> Answers:
    """Send all of it, and read until the server has closed the connection or has begun a stream.

    Raises: TimeoutError: it has done neither."""
    where, content = urlsplit(server), b""
    with (
        socket.create_connection((where.hostname or "", where.port or 0), timeout=TIMEOUT) as connection,
        suppress(ConnectionError),
    ):
        for piece in drawn.pieces:
            connection.sendall(piece)
        if drawn.leaves == "half":
            connection.shutdown(socket.SHUT_WR)
        if drawn.leaves == "aborts":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if drawn.leaves in ("aborts", "deaf"):
            return []
        while len(content) < _MOST and b"text/event-stream" not in content and (got := connection.recv(65_536)):
            content += got
    return list(_split(content))


def _split(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The status and body of each answer; 100 is none."""
    while content:
        head, _, content = content.partition(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        size = int(length[1]) if length else 0 if status == 100 else len(content)
        if status != 100:
            yield status, content[:size]
        content = content[size:]
