"""Files on their way to the API: from the disk and to it, again after trouble, and with bounds in proportion to their size."""

from __future__ import annotations

import hashlib
import json
import threading
import weakref
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import uuid4

import pytest
import torch

from gradstream.errors import Invalid, Unavailable
from gradstream.process import store as stores
from gradstream.process.order import PlaneAccess, ProcessOrder, Resume, StoreAccess
from gradstream.process.saving import uploads as uploading
from gradstream.process.saving.content import TextContent
from gradstream.process.saving.part import CheckpointPartFiles, resumed_state
from gradstream.process.saving.part_list import EarlierFile, PartList
from gradstream.process.saving.resumed import ResumedFile
from gradstream.process.saving.tensor_file import TensorFile
from gradstream.process.saving.uploads import Uploads
from gradstream.process.store import ApiStore, FolderStore
from gradstream.sim.toys import job
from tests.support import eventually


class Api(ThreadingHTTPServer):
    """Keeps what is put, and gives it back; the first answers are what a test wants them to be."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.first: list[int] = []
        """Statuses; 0: the connection ends without one."""
        self.asked = 0


class _Handler(BaseHTTPRequestHandler):
    server: Api

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        assert hashlib.sha256(data).hexdigest() == self.headers["X-Sha256"]
        self._answer(200, b"", lambda: self.server.files.update({self.path: data}))

    def do_GET(self) -> None:
        found = self.server.files.get(self.path)
        self._answer(404 if found is None else 200, found or b"")

    def _answer(self, status: int, body: bytes, done: Callable[[], None] = lambda: None) -> None:
        self.server.asked += 1
        status = self.server.first.pop(0) if self.server.first else status
        if not status:
            self.close_connection = True
            return
        if status == 200:
            done()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing in a test's output."""


@pytest.fixture
def api() -> Iterator[Api]:
    with Api() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def order(url: str, resume: Resume | None = None) -> ProcessOrder:
    return ProcessOrder(
        id=uuid4(),
        job_id=uuid4(),
        attempt=2,
        role="server",
        rank=0,
        spec=job({"name": "sync", "lr": 0.1}, workers=1, shards=1),
        plane=PlaneAccess(url="redis://nowhere"),
        store=StoreAccess(url=url, token="t"),
        resume=resume,
    )


def api_store(api: Api, resume: Resume | None = None) -> ApiStore:
    made = order(f"http://127.0.0.1:{api.server_port}", resume)
    return ApiStore(made.store, made)


@pytest.mark.few(1)
@pytest.mark.parametrize("size", [0, 1, 3_000_001])
def test_a_file_arrives_as_it_is_also_after_trouble(api: Api, size: int) -> None:
    content = TensorFile({"x": torch.arange(size).to(torch.uint8)})
    api.first = [503, 0, 429]
    api_store(api).put("checkpoints/1/shard-0.safetensors", content)
    assert api.files == {"/api/v1/process/files/checkpoints/1/shard-0.safetensors": b"".join(content.chunks())}
    assert api.asked == 4


def test_what_is_refused_is_not_sent_again(api: Api) -> None:
    api.first = [409]
    with pytest.raises(Unavailable, match="PUT /files/model: refused with 409"):
        api_store(api).put("model", TextContent("1"))
    assert api.asked == 1


def test_a_file_of_the_checkpoint_comes_back_whole_and_a_damaged_one_is_named(api: Api, tmp_path: Path) -> None:
    content, path = bytes(range(256)) * 10_000, "checkpoints/3/shard-0.safetensors"
    found = {"attempt": 1, "path": path, "sha256": hashlib.sha256(content).hexdigest()}
    api.files["/api/v1/process/resume?part=shard-0"] = json.dumps({"files": [found]}).encode()
    api.files["/api/v1/process/resume?part=worker-9"] = b'{"files": []}'
    api.files[f"/api/v1/process/resume/1/{path}"] = content
    api.first = [0, 500, 200, 0, 503]
    store = api_store(api, Resume(attempt=1, checkpoint=3))
    [file] = store.resumed("shard-0")
    assert store.fetch(file, tmp_path / "new").read_bytes() == content
    assert store.resumed("worker-9") == []
    assert api_store(api).resumed("shard-0") == [], "it begins at the beginning"
    api.files[f"/api/v1/process/resume/1/{path}"] = content[:-1] + b"x"
    with pytest.raises(Invalid, match=f"1/{path} is damaged"):
        store.fetch(file, tmp_path)
    with pytest.raises(Unavailable, match="2/none is no longer stored"):
        store.fetch(ResumedFile(attempt=2, path="none"), tmp_path)


def test_a_part_stores_further_files_then_their_list_then_its_state(api: Api) -> None:
    rested = EarlierFile(name="shard-0.rows-1.safetensors", size=7, sha256="0" * 64, attempt=1, checkpoint=2)
    made = order(f"http://127.0.0.1:{api.server_port}")
    further = ((f"rows-{number}.safetensors", TextContent(str(number))) for number in (1, 2))
    CheckpointPartFiles(3, "shard-0", {"version": 4}, further, 2, [rested]).put_into(ApiStore(made.store, made))
    base = "/api/v1/process/files/checkpoints/3/shard-0."
    names = ["rows-1.safetensors", "rows-2.safetensors", "json", "safetensors"]
    assert list(api.files) == [base + name for name in names]
    listed = PartList.model_validate_json(api.files[base + "json"])
    sums = [(file.name, file.size, file.sha256) for file in listed.files]
    assert sums == [(f"shard-0.rows-{n}.safetensors", 1, hashlib.sha256(str(n).encode()).hexdigest()) for n in (1, 2)]
    assert listed.rests_on == (rested,)


def test_nothing_behind_a_file_that_cannot_be_stored_is_stored(api: Api) -> None:
    uploads = Uploads(api_store(api))
    api.first = [200, 409]
    further = ((f"rows-{number}.safetensors", TextContent("1")) for number in (1, 2))
    uploads.add_all(CheckpointPartFiles(3, "shard-0", {}, further), needed=False)
    uploads.add("next", TextContent("2"))
    uploads.finish()
    base = "/api/v1/process/files/"
    assert list(api.files) == [f"{base}checkpoints/3/shard-0.rows-1.safetensors", f"{base}next"]


def test_a_folder_gives_a_part_back_with_the_files_that_it_rests_on(tmp_path: Path) -> None:
    first = order((tmp_path / "store").as_uri())
    rested = EarlierFile(name="shard-0.rows-1", size=1, sha256="0" * 64, attempt=1, checkpoint=2)
    state = {"theta": torch.arange(3.0), "clock": {0: (1, 2)}}
    CheckpointPartFiles(7, "shard-0", state, [("rows-1", TextContent("x"))], 1, [rested]).put_into(FolderStore(first.store, first))
    after = order((tmp_path / "store").as_uri(), Resume(attempt=2, checkpoint=7))
    store = FolderStore(after.store, after)
    own = "checkpoints/7/shard-0."
    paths = [(file.attempt, file.path) for file in store.resumed("shard-0")]
    assert paths == [(2, f"{own}safetensors"), (2, f"{own}rows-1"), (1, "checkpoints/2/shard-0.rows-1")]
    assert store.fetch(store.resumed("shard-0")[1], tmp_path).read_text() == "x"
    found = resumed_state(store, "shard-0", tmp_path)
    assert (found["theta"].tolist(), found["clock"]) == ([0.0, 1.0, 2.0], {0: (1, 2)})
    assert resumed_state(store, "shard-1", tmp_path) is None


@pytest.mark.more
def test_who_waits_for_a_large_file_waits_longer(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "SLOWEST", 1 << 22)
    monkeypatch.setattr(ApiStore, "TIMEOUT", 0.0)
    api.first = [503] * 1_000
    store = api_store(api)
    with pytest.raises(Unavailable, match="for more than 0 s"):
        store.put("small", TextContent("1"))
    with pytest.raises(Unavailable, match="for more than 1 s"):
        store.put("large", TextContent("1" * (1 << 22)))


def test_an_end_waits_in_proportion_to_what_is_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploading, "SLOWEST", 5 << 20)
    made = order((tmp_path / "store").as_uri())
    held, let_go = FolderStore(made.store, made), threading.Event()
    put = held.put
    monkeypatch.setattr(held, "put", lambda name, content, sha256=None: (let_go.wait(60), put(name, content, sha256))[1])
    uploads = Uploads(held)
    state = {"x": torch.zeros(1 << 20), "list": [torch.zeros(1 << 18)], "n": 3}
    uploads.add_all(CheckpointPartFiles(1, "worker-0", state), needed=True)
    uploads.add("b.json", TextContent("text"))
    with pytest.raises(Unavailable, match=r"^2 files could not be stored within 1 s$"):
        uploads.finish(within=0.0)
    let_go.set()
    uploads.finish()
    assert (tmp_path / "store" / "2" / "b.json").read_text() == "text"


def test_what_is_stored_is_no_longer_held(tmp_path: Path) -> None:
    made = order((tmp_path / "store").as_uri())
    uploads = Uploads(FolderStore(made.store, made))
    tensor = torch.zeros(10)
    held = weakref.ref(tensor)
    uploads.add_all(CheckpointPartFiles(1, "worker-0", {"x": tensor}), needed=True)
    del tensor
    eventually(lambda: held() is None, "the memory of a checkpoint that is stored")
    uploads.finish()


def test_a_process_may_copy_the_next_checkpoint_when_its_part_is_stored_or_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = order((tmp_path / "store").as_uri())
    held, let_go = FolderStore(made.store, made), threading.Event()
    put = held.put
    monkeypatch.setattr(held, "put", lambda name, content, sha256=None: (let_go.wait(60), put(name, content, sha256))[1])
    uploads = Uploads(held)
    uploads.add("environment.json", TextContent("{}"))
    assert uploads.wait_for_part(0.0), "it is of no checkpoint"
    uploads.add_all(CheckpointPartFiles(1, "worker-0", {"x": torch.zeros(1)}), needed=False)
    assert not uploads.wait_for_part(0.0)
    let_go.set()
    assert uploads.wait_for_part(60.0)
    (tmp_path / "store" / "2" / "checkpoints" / "2").write_text("a file in place of the folder")
    uploads.add_all(CheckpointPartFiles(2, "worker-0", {"x": torch.zeros(1)}), needed=False)
    assert uploads.wait_for_part(60.0)
    uploads.finish()
