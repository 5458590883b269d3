"""Files on their way to the API: from the disk and to it, again after trouble, and with bounds in proportion to their size."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import uuid4

import pytest
import torch

from gradstream.errors import Unavailable
from gradstream.process import store as stores
from gradstream.process.order import PlaneAccess, ProcessOrder, Resume, StoreAccess
from gradstream.process.store import ApiStore, FolderStore, Uploads
from gradstream.sim.toys import job


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


@pytest.mark.parametrize("size", [0, 1, 3_000_001])
def test_a_file_arrives_as_it_is_also_after_trouble(api: Api, tmp_path: Path, size: int) -> None:
    file = tmp_path / "x"
    file.write_bytes(torch.arange(size).to(torch.uint8).numpy().tobytes())
    api.first = [503, 0, 429]
    api_store(api).put("checkpoints/1/shard-0.pt", file)
    assert api.files == {"/api/v1/process/files/checkpoints/1/shard-0.pt": file.read_bytes()}
    assert api.asked == 4


def test_what_is_refused_is_not_sent_again(api: Api, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"1")
    api.first = [409]
    with pytest.raises(Unavailable, match="PUT /files/model: refused with 409"):
        api_store(api).put("model", tmp_path / "x")
    assert api.asked == 1


def test_a_file_of_the_checkpoint_comes_back_whole(api: Api, tmp_path: Path) -> None:
    api.files["/api/v1/process/resume/shard-0.pt"] = content = bytes(range(256)) * 10_000
    api.first = [0, 500]
    found = api_store(api, Resume(attempt=1, checkpoint=3)).resumed("shard-0.pt", tmp_path / "new")
    assert found is not None
    assert found.read_bytes() == content
    assert api_store(api, Resume(attempt=1, checkpoint=3)).resumed("worker-9.pt", tmp_path) is None
    assert api_store(api).resumed("shard-0.pt", tmp_path) is None, "it begins at the beginning"


def test_who_waits_for_a_large_file_waits_longer(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "SLOWEST", 1 << 22)
    monkeypatch.setattr(ApiStore, "TIMEOUT", 0.0)
    api.first = [503] * 1_000
    store = api_store(api)
    (tmp_path / "small").write_bytes(b"1")
    (tmp_path / "large").write_bytes(bytes(1 << 22))
    with pytest.raises(Unavailable, match="for more than 0 s"):
        store.put("small", tmp_path / "small")
    with pytest.raises(Unavailable, match="for more than 1 s"):
        store.put("large", tmp_path / "large")


def test_an_end_waits_in_proportion_to_what_is_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "SLOWEST", 5 << 20)
    made = order((tmp_path / "store").as_uri())
    held, let_go = FolderStore(made.store, made), threading.Event()
    put = held.put
    monkeypatch.setattr(held, "put", lambda name, file: (let_go.wait(60), put(name, file))[1])
    uploads = Uploads(held, tmp_path)
    uploads.add("a.pt", {"x": torch.zeros(1 << 20), "list": [torch.zeros(1 << 18)], "n": 3})
    uploads.add("b.json", "text")
    with pytest.raises(Unavailable, match=r"^2 files could not be stored within 1 s$"):
        uploads.finish(within=0.0)
    let_go.set()
    uploads.finish()
    assert (tmp_path / "store" / "2" / "b.json").read_text() == "text"
