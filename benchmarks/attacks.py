"""What attackers do to a platform, for as long as they are told: without an account, and with one.

Each is a thread that goes through its tricks in a circle. All run in one process at the lowest priority: attackers come from
other machines, and should cost this one nothing but what they send. A trick that fails for another reason than a refusal ends its
process with code 1, or the benchmark would measure an attack that does not happen."""

from __future__ import annotations

import os
import socket
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from gradstream import bundle
from gradstream.jobfile import MAX_TEXT
from tests.hostile.archives.drawn import drawn
from tests.hostile.archives.known import KNOWN
from tests.hostile.archives.tar_bytes import archive, file

_NESTED = b"[" + b"[]," * 2_700_000 + b"[]]"
"""8 MB that cost a JSON parser seconds."""
_YAML = "a: &a [" + "x, " * (MAX_TEXT // 4) + "x]\n"
_ANCHORS = "".join(f"a{at}: &a{at} {{b: [c, d]}}\n" for at in range(MAX_TEXT // 25))
_STREAMS = 32
_HALF_SENT = 100
_BUSY = (OSError, httpx.HTTPError)


@dataclass(frozen=True)
class Target:
    url: str
    job: str
    ends: float
    """By `time.monotonic()`."""

    @property
    def api(self) -> str:
        return f"{self.url}/api/v1"

    @property
    def over(self) -> bool:
        return time.monotonic() >= self.ends

    def connect(self) -> socket.socket:
        where = urlsplit(self.url)
        return socket.create_connection((where.hostname or "", where.port or 0), timeout=10)

    def rest(self, seconds: float) -> None:
        time.sleep(max(0.0, min(seconds, self.ends - time.monotonic())))


def post(target: Target, path: str, body: bytes, kind: str = "application/json", token: str = "") -> None:
    headers = {"Content-Type": kind, **({"Authorization": f"Bearer {token}"} if token else {})}
    httpx.post(f"{target.api}{path}", content=body, headers=headers, timeout=30, trust_env=False)


# ---- without an account ---------------------------------------------------------------------------------------------------


def send_nested_json(target: Target) -> None:
    for path in ("/session", "/jobs", "/agent/heartbeat", "/bundles"):
        with suppress(*_BUSY):
            post(target, path, _NESTED)
        with suppress(*_BUSY):
            post(target, path, b"[" * 4000)


def send_half_headers(target: Target) -> None:
    with ExitStack() as held:
        for _ in range(_HALF_SENT):
            with suppress(OSError):
                held.enter_context(target.connect()).sendall(b"POST /api/v1/session HTTP/1.1\r\nhost: x\r\nx-")
        target.rest(3)


def send_slow_bodies(target: Target) -> None:
    with ExitStack() as held:
        slow = []
        for _ in range(_HALF_SENT):
            with suppress(OSError):
                slow.append(held.enter_context(target.connect()))
                head = b"POST /api/v1/session HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 4000\r\n\r\n"
                slow[-1].sendall(head)
        for _ in range(3):
            for each in slow:
                with suppress(OSError):
                    each.sendall(b"[")
            target.rest(1)


def open_connections(target: Target) -> None:
    for _ in range(200):
        if not target.over:
            with suppress(OSError), target.connect() as one:
                one.sendall(b"\x16\x03\x01 junk\r\n\r\n")


def guess_tokens(target: Target) -> None:
    with httpx.Client(base_url=target.api, timeout=30, trust_env=False) as client:
        for at in range(50):
            with suppress(*_BUSY):
                client.get("/jobs", headers={"Authorization": f"Bearer gst_{at:043}"})


ANONYMOUS = (send_nested_json, send_half_headers, send_slow_bodies, open_connections, guess_tokens)

# ---- with an account ------------------------------------------------------------------------------------------------------


def upload_archives(target: Target, token: str) -> None:
    small = ("a size of 2^62", "a pax header of 60,000 digits", "4,000 files 498 deep", "20,000 folders", "260 MiB of zeros")
    for data in [*(KNOWN[name]() for name in small), *map(drawn, range(10))]:
        with suppress(*_BUSY):
            post(target, "/bundles", data, "application/gzip", token)


def validate_yaml(target: Target, token: str) -> None:
    for text in (_YAML, _ANCHORS, "- " * 50_000, "[" * 100_000):
        for path in ("/jobs/validate", "/jobs/plan"):
            with suppress(*_BUSY):
                post(target, path, text.encode(), "application/yaml", token)


def read_much(target: Target, token: str) -> None:
    paths = (
        "logs?tail=10000",
        "logs/download",
        "metrics?limit=1000",
        "metrics/export?format=parquet",
        "chart?name=train/loss&columns=2000",
    )
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=target.api, headers=headers, timeout=30, trust_env=False) as client:
        for path in paths:
            with suppress(*_BUSY):
                client.get(f"/jobs/{target.job}/{path}")
    _keep_bundles(target, token)


def _keep_bundles(target: Target, token: str) -> None:
    """A file of random bytes each time: as large as is quick, and never the same."""
    with suppress(*_BUSY):
        post(target, "/bundles", archive(file("a", os.urandom(bundle.MIB))), "application/gzip", token)


SIGNED_IN = (upload_archives, validate_yaml, read_much)


def _follow_list(target: Target, token: str) -> None:
    """Hold as many streams of the list of jobs as there may be, and one more; read what comes."""
    with ExitStack() as held:
        streams = []
        for _ in range(_STREAMS + 1):
            with suppress(OSError):
                streams.append(held.enter_context(target.connect()))
                streams[-1].sendall(
                    f"GET /api/v1/jobs/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n".encode()
                )
                streams[-1].setblocking(False)
        while not target.over:
            for each in streams:
                with suppress(OSError):
                    while each.recv(65536):
                        pass
            target.rest(0.5)


# ---- all of them ----------------------------------------------------------------------------------------------------------


def attack(target: Target, anonymous: int, tokens: list[str]) -> None:
    """The body of the attackers' process: returns when the time is over. Raises: SystemExit: a trick is broken."""
    go_last()
    broken: list[str] = []

    def begin(run: Callable[..., None], *arguments: object) -> threading.Thread:
        thread = threading.Thread(target=_note_failure, args=(broken, run, *arguments))
        thread.start()
        return thread

    threads = [begin(_circle, target, at, ANONYMOUS) for at in range(anonymous)]
    for at, token in enumerate(tokens):
        tricks = [lambda target, token=token, trick=trick: trick(target, token) for trick in SIGNED_IN]
        threads += [begin(_circle, target, at, tricks), begin(_follow_list, target, token)]
    for thread in threads:
        thread.join()
    if broken:
        raise SystemExit(f"{len(broken)} attackers broke off; the first:\n{broken[0]}")


def go_last() -> None:
    """Take the lowest priority, in a session of its own: where the kernel shares processors between sessions, the nice value counts
    only within one, and these threads would take the share of the clients that measure."""
    with suppress(OSError):
        os.setsid()
    os.nice(19)
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text("19")


def _note_failure(broken: list[str], run: Callable[..., None], *arguments: object) -> None:
    try:
        run(*arguments)
    except Exception:
        broken.append(traceback.format_exc())


def _circle(target: Target, first: int, tricks: tuple[Callable[[Target], None], ...] | list[Callable[[Target], None]]) -> None:
    at = first
    while not target.over:
        tricks[at % len(tricks)](target)
        at += 1
