"""Where a job process keeps files: checkpoints, the model, results. On one machine without a control plane that is a folder; else
the API, with the process's own token."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlparse

import httpx

from gradstream.center.entries import FINAL_CHECKPOINT
from gradstream.errors import Unavailable
from gradstream.process.door_http import http_transport
from gradstream.process.order import ProcessOrder, StoreAccess
from gradstream.sandbox import door
from gradstream.tls import choose_verify

log = logging.getLogger(__name__)

SLOWEST = 1 << 20
"""Bytes per second that a store takes and gives at least. Timeouts grow with the size of a file by it."""

MODEL, BEST, RESULT, EVALUATIONS = "model.safetensors", "best.safetensors", "result.json", "evaluations.json"
"""The final model, and that of the best evaluation; what the last evaluation gave; what the next evaluator has to know."""
START = "start.safetensors"
"""Weights of another job that this one begins from."""
TENSORS = "tensors.pt"
"""Where each tensor of the model lies in a checkpoint, and the values of those that checkpoints leave out."""
_CHUNK = 1 << 20
Content = str | dict[str, Any]
"""Text; or named tensors for a `.safetensors` file, a state (tensors and plain values) for any other."""


class Store(Protocol):
    def put(self, name: str, file: Path) -> None:
        """Keep the content of `file` under `name` (`checkpoints/3/worker-0.pt`, `model.safetensors`), whole or not at all.

        Raises: Unavailable, if that could not be done in time or the attempt is over."""

    def resumed(self, name: str, into: Path) -> Path | None:
        """Copy a file of the checkpoint that this attempt resumes from (`worker-0.pt`) into `into`. None: there is none."""

    def latest(self, name: str, into: Path) -> Path | None:
        """A file that the newest attempt of this job has put that has put one; None: none has."""

    def start(self, into: Path, name: str = START) -> Path | None:
        """The weights of another job that this one begins from; or a file of its checkpoint (`shard-0.pt`). None: there is none."""


def open_store(access: StoreAccess, order: ProcessOrder) -> Store:
    return FolderStore(access, order) if access.is_folder else ApiStore(access, order)


class FolderStore:
    """`<folder>/<attempt>/<name>`."""

    def __init__(self, access: StoreAccess, order: ProcessOrder) -> None:
        self._root = Path(unquote(urlparse(access.url).path))
        self._order = order

    def put(self, name: str, file: Path) -> None:
        target = self._root / str(self._order.attempt) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(target.name + ".tmp")
        with open(temporary, "wb") as out, open(file, "rb") as content:
            shutil.copyfileobj(content, out, _CHUNK)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, target)

    def resumed(self, name: str, into: Path) -> Path | None:
        resume = self._order.resume
        if resume is None:
            return None
        for checkpoint in (
            resume.checkpoint,
            FINAL_CHECKPOINT,
        ):  # a rank that was done before the checkpoint left its state with the last one
            found = self._root / str(resume.attempt) / "checkpoints" / str(checkpoint) / name
            if found.exists():
                return found
        return None

    def latest(self, name: str, into: Path) -> Path | None:
        found = (self._root / str(attempt) / name for attempt in range(self._order.attempt, 0, -1))
        return next((file for file in found if file.exists()), None)

    def start(self, into: Path, name: str = START) -> Path | None:
        return None  # without a control plane there are no other jobs


class ApiStore:
    """`PUT {url}/api/v1/process/files/{name}`. Repeats while the API is away, up to `TIMEOUT` seconds, longer for a large file."""

    TIMEOUT = 120.0
    ANSWER = 30.0
    """Seconds for an answer, once all is sent."""

    def __init__(self, access: StoreAccess, order: ProcessOrder) -> None:
        headers = {"Authorization": f"Bearer {access.token}"}
        base = access.url.rstrip("/") + "/api/v1/process"
        transport = http_transport(base) if door.is_used() else None
        self._http = httpx.Client(
            base_url=base,
            headers=headers,
            timeout=self.ANSWER,
            trust_env=False,
            transport=transport,
            verify=choose_verify(base),
        )
        self._resuming = order.resume is not None

    def put(self, name: str, file: Path) -> None:
        with file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        nbytes = file.stat().st_size
        headers = {"X-Sha256": digest, "Content-Type": "application/octet-stream"}
        timeout = httpx.Timeout(self.ANSWER, read=self.ANSWER + nbytes / SLOWEST)  # it has to reach the disk there

        def send() -> httpx.Response:
            with file.open("rb") as content:
                return self._http.put(f"/files/{name}", content=content, headers=headers, timeout=timeout)

        self._ask(f"PUT /files/{name}", send, nbytes)

    def resumed(self, name: str, into: Path) -> Path | None:
        return self._get(f"/resume/{name}", into / name) if self._resuming else None

    def latest(self, name: str, into: Path) -> Path | None:
        return self._get(f"/latest/{name}", into / name)

    def start(self, into: Path, name: str = START) -> Path | None:
        return self._get("/start" if name == START else f"/start/{name}", into / "start" / name)

    def _get(self, path: str, target: Path) -> Path | None:
        target.parent.mkdir(parents=True, exist_ok=True)

        def fetch() -> httpx.Response:
            with self._http.stream("GET", path, headers={"Accept-Encoding": "identity"}) as answer:
                if answer.status_code != 200:
                    answer.read()
                    return answer
                with target.open("wb") as out:
                    for chunk in answer.iter_bytes(_CHUNK):
                        out.write(chunk)
                return answer

        return target if self._ask(f"GET {path}", fetch, may_lack=True).status_code == 200 else None

    def _ask(self, what: str, request: Callable[[], httpx.Response], nbytes: int = 0, *, may_lack: bool = False) -> httpx.Response:
        timeout = self.TIMEOUT + nbytes / SLOWEST
        deadline, pause = time.monotonic() + timeout, 0.1
        while True:
            try:
                answer = request()
                if answer.status_code < 500 and answer.status_code != 429:
                    break
                problem = f"status {answer.status_code}"
            except httpx.TransportError as error:
                problem = str(error) or type(error).__name__
            if time.monotonic() > deadline:
                raise Unavailable(f"{what}: the API was away for more than {timeout:.0f} s ({problem})")
            log.warning("%s: %s; trying again", what, problem)
            time.sleep(pause)
            pause = min(2 * pause, 2.0)
        if answer.status_code >= 400 and not (may_lack and answer.status_code == 404):
            raise Unavailable(f"{what}: refused with {answer.status_code}: {answer.text[:300]}")
        return answer


class Uploads:
    """Writes files and puts them into a store, in the order given, from a thread of its own: whoever makes a checkpoint does not
    wait for the disk."""

    def __init__(self, store: Store, folder: Path) -> None:
        """`folder` holds each file until it is stored."""
        self._store, self._folder = store, folder
        self._queue: deque[tuple[str, Content, bool, dict[str, str] | None]] = deque()
        self._waiting = 0
        """Bytes that are not stored yet."""
        self._news = threading.Condition()
        self._closing = False
        self._failed: Unavailable | None = None
        self._thread = threading.Thread(target=self._run, name="uploads", daemon=True)
        self._thread.start()

    def add(self, name: str, content: Content, *, needed: bool = True, metadata: dict[str, str] | None = None) -> None:
        """The content must not change any more. If a file that is not needed (a checkpoint on the way) cannot be stored, that is a
        warning. `metadata` goes into the header of a `.safetensors` file."""
        with self._news:
            self._queue.append((name, content, needed, metadata))
            self._waiting += _size(content)
            self._news.notify()

    def finish(self, within: float = 150.0) -> None:
        """Wait until all is stored: so many seconds, and `SLOWEST` in proportion. Raises: Unavailable, if something that is needed
        could not be."""
        with self._news:
            self._closing = True
            bound = within + self._waiting / SLOWEST
            self._news.notify()
        self._thread.join(bound)
        if self._thread.is_alive():
            raise Unavailable(f"{len(self._queue) + 1} files could not be stored within {bound:.0f} s")
        if self._failed:
            raise self._failed

    def _run(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._queue or self._closing)
                if not self._queue:
                    return
                name, content, needed, metadata = self._queue.popleft()
            try:
                self._keep(name, content, metadata)
            except Exception as error:  # of this thread nobody else would hear
                log.error("%s is not stored: %s", name, error)
                if needed:
                    self._failed = Unavailable(f"{name} could not be stored: {error}")
            with self._news:
                self._waiting -= _size(content)

    def _keep(self, name: str, content: Content, metadata: dict[str, str] | None) -> None:
        file = self._folder / name.replace("/", "-")
        try:
            _write(content, file, metadata)
            self._store.put(name, file)
        finally:
            file.unlink(missing_ok=True)


def _size(content: Any) -> int:
    """Bytes of the tensors in it, and of text; the rest is little."""
    match content:
        case str():
            return len(content)
        case dict():
            return sum(map(_size, content.values()))
        case list() | tuple():
            return sum(map(_size, content))
    return int(getattr(content, "nbytes", 0))


def _write(content: Content, file: Path, metadata: dict[str, str] | None) -> None:
    if isinstance(content, str):
        file.write_text(content)
    elif file.suffix == ".safetensors":
        from safetensors.torch import save_file

        save_file(content, file, metadata=metadata)
    else:
        import torch

        torch.save(content, file)
