"""Where a job process keeps files: checkpoints, the model, results. On one machine without a control plane that is a folder; else
the API, with the process's own token."""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlparse

import httpx
from pydantic import BaseModel

from gradstream.errors import Invalid, Unavailable
from gradstream.process.door_http import http_transport
from gradstream.process.order import ProcessOrder, StoreAccess
from gradstream.process.saving.checkpoint_names import LIST, MANIFEST, STATE_SUFFIXES, folder_of, numbers_with
from gradstream.process.saving.content import CHUNK, Content, sha256_of, sha256_of_file
from gradstream.process.saving.part_list import PartList
from gradstream.process.saving.resumed import ResumedFile, ResumedFiles
from gradstream.sandbox import door
from gradstream.tls import choose_verify
from gradstream.updates.posted import PostedUpdates, UpdatesOutcome, write_samples
from gradstream.updates.sample import UpdateSample
from gradstream.user_logging.files import MEDIA_FOLDER, write_item
from gradstream.user_logging.items import LoggedItem
from gradstream.user_logging.posted import MediaOutcome, PostedMedia

log = logging.getLogger(__name__)

SLOWEST = 1 << 20
"""Bytes per second that a store takes and gives at least. Timeouts grow with the size of a file by it."""

MODEL, BEST, RESULT, EVALUATIONS = "model.safetensors", "best.safetensors", "result.json", "evaluations.json"
"""The final model, and that of the best evaluation; what the last evaluation gave; what the next evaluator has to know."""
_TABLES = re.compile(r"tables-(?:0|[1-9][0-9]{0,3})\.safetensors")
TABLES_PATTERN = "tables-*.safetensors"
"""Names of the files with trained rows of embedding tables, one of each shard."""
START = "start.safetensors"
"""Weights of another job that this one begins from."""
TENSORS, TENSORS_EARLIER = "tensors.safetensors", "tensors.pt"
"""Where each tensor of the model lies in a checkpoint, and the values of those that checkpoints leave out. Its name now, and with
earlier versions."""


def tables_file(shard: int) -> str:
    """Return the name of the file with a shard's trained rows of embedding tables."""
    return f"tables-{shard}.safetensors"


def is_tables_file(name: str) -> bool:
    return _TABLES.fullmatch(name) is not None


class Store(Protocol):
    def put(self, name: str, content: Content, sha256: str | None = None) -> None:
        """Keep the content under `name` (`checkpoints/3/worker-0.safetensors`), whole or not at all. `sha256`: of the content, if
        it is known.

        Raises: Unavailable, if that could not be done in time or the attempt is over."""

    def put_media(self, items: Sequence[LoggedItem]) -> MediaOutcome:
        """Keep logged media. An item of a name and step replaces an earlier one. Raises: Unavailable, as `put`."""

    def put_updates(self, samples: Sequence[UpdateSample]) -> UpdatesOutcome:
        """Keep update samples of this worker. One of a step replaces an earlier one. Raises: Unavailable, as `put`."""

    def resumed(self, part: str) -> list[ResumedFile]:
        """Return the files of a part (`worker-0`) in the checkpoint that this attempt resumes from, its state first. Empty: the
        attempt begins at the beginning, or the part has none."""

    def fetch(self, file: ResumedFile, into: Path) -> Path:
        """Return a file of a checkpoint, which must not be changed; a copy lies in `into`.

        Raises: Unavailable. Invalid: it is damaged."""

    def latest(self, name: str, into: Path) -> Path | None:
        """A file that the newest attempt of this job has put that has put one; None: none has."""

    def start(self, into: Path, name: str = START) -> Path | None:
        """The weights of another job that this one begins from; or a file of its checkpoint. None: there is none."""


def open_store(access: StoreAccess, order: ProcessOrder) -> Store:
    return FolderStore(access, order) if access.is_folder else ApiStore(access, order)


class FolderStore:
    """`<folder>/<attempt>/<name>`."""

    def __init__(self, access: StoreAccess, order: ProcessOrder) -> None:
        self._root = Path(unquote(urlparse(access.url).path))
        self._order = order

    def put(self, name: str, content: Content, sha256: str | None = None) -> None:
        target = self._root / str(self._order.attempt) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(target.name + ".tmp")
        with open(temporary, "wb") as out:
            for chunk in content.chunks():
                out.write(chunk)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, target)

    def put_media(self, items: Sequence[LoggedItem]) -> MediaOutcome:
        for item in items:
            write_item(self._root / str(self._order.attempt) / MEDIA_FOLDER, item)
        return MediaOutcome()

    def put_updates(self, samples: Sequence[UpdateSample]) -> UpdatesOutcome:
        write_samples(self._root / str(self._order.attempt), self._order.rank, samples)
        return UpdatesOutcome()

    def resumed(self, part: str) -> list[ResumedFile]:
        resume = self._order.resume
        if resume is None:
            return []
        manifest = self._root / str(resume.attempt) / folder_of(resume.checkpoint) / MANIFEST
        away = json.loads(manifest.read_bytes()).get("away", []) if manifest.exists() else []
        for checkpoint in numbers_with(part, resume.checkpoint, away):
            folder = folder_of(checkpoint)
            at = self._root / str(resume.attempt) / folder
            state = next((part + suffix for suffix in STATE_SUFFIXES if (at / (part + suffix)).exists()), None)
            if state:
                listed = at / (part + LIST)
                further = PartList.model_validate_json(listed.read_text()) if listed.exists() else PartList()
                names = [state, *(file.name for file in further.files)]
                own = [ResumedFile(attempt=resume.attempt, path=folder + name) for name in names]
                return own + [ResumedFile.earlier(file) for file in further.rests_on]
        return []

    def fetch(self, file: ResumedFile, into: Path) -> Path:
        return self._root / str(file.attempt) / file.path

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

    def put(self, name: str, content: Content, sha256: str | None = None) -> None:
        nbytes = content.nbytes
        headers = {
            "X-Sha256": sha256 or sha256_of(content),
            "Content-Length": str(nbytes),
            "Content-Type": "application/octet-stream",
        }
        timeout = httpx.Timeout(self.ANSWER, read=self.ANSWER + nbytes / SLOWEST)  # it has to reach the disk there

        def send() -> httpx.Response:
            chunks: Any = content.chunks()  # views of the memory that is stored; httpx wants bytes by its types only
            return self._http.put(f"/files/{name}", content=chunks, headers=headers, timeout=timeout)

        self._ask(f"PUT /files/{name}", send, nbytes)

    def put_media(self, items: Sequence[LoggedItem]) -> MediaOutcome:
        return MediaOutcome.model_validate_json(self._post_json("/media", PostedMedia.of(items)))

    def put_updates(self, samples: Sequence[UpdateSample]) -> UpdatesOutcome:
        return UpdatesOutcome.model_validate_json(self._post_json("/updates", PostedUpdates(samples=list(samples))))

    def _post_json(self, path: str, body: BaseModel) -> bytes:
        posted, headers = body.model_dump_json().encode(), {"Content-Type": "application/json"}
        return self._ask(f"POST {path}", lambda: self._http.post(path, content=posted, headers=headers), len(posted)).content

    def resumed(self, part: str) -> list[ResumedFile]:
        if not self._resuming:
            return []
        answer = self._ask(f"GET /resume of {part}", lambda: self._http.get("/resume", params={"part": part}))
        return ResumedFiles.model_validate_json(answer.content).files

    def fetch(self, file: ResumedFile, into: Path) -> Path:
        path = f"{file.attempt}/{file.path}"
        found = self._get(f"/resume/{path}", into / path.replace("/", "-"))
        if found is None:
            raise Unavailable(f"{path} is no longer stored")
        digest = sha256_of_file(found)
        if file.sha256 and file.sha256 != digest:
            raise Invalid(f"{path} is damaged in the platform's storage: its sha256 is {digest}. Restore the file from a backup.")
        return found

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
                    for chunk in answer.iter_bytes(CHUNK):
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
