"""What an exchange (push, apply, pull) costs as the model grows: `python -m benchmarks.exchange`.

A server process and a worker that computes nothing, over shared memory and through Redis on a unix socket. Beside them, in turn
with them so that a drift of the machine hits all alike, what the memory allows: two copies and one addition in place.
The ledger must close in each of them."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from uuid import uuid4

import torch
from torch import Tensor

from gradstream.center.entries import EVALUATOR, Join, Leave, Payload
from gradstream.local.redis import Redis
from gradstream.process.order import PlaneAccess, ProcessOrder, SharedMemory, StoreAccess
from gradstream.process.shared import SharedFolders
from gradstream.sim.toys import Quadratic, job
from gradstream.spec import JobSpec
from gradstream.wire import plane
from gradstream.wire.client import connect
from gradstream.wire.layout import Layout
from gradstream.wire.port import RedisPort
from gradstream.worker.link import Link
from gradstream.worker.problem import Gradient
from gradstream.worker.replica import Replica


class Idle(Quadratic):
    """A gradient that is there already."""

    def __init__(self, spec: JobSpec, size: int) -> None:
        super().__init__(spec, 0, torch.zeros(size), torch.zeros(1), torch.zeros(1))
        self._g = torch.full((size,), 1e-3)

    def gradient(self, position: int) -> Gradient:
        return Gradient(self._g, 0.0, 1)


def exchanges(redis: Redis, size: int, rounds: int, shared: bool, folder: Path) -> list[float]:
    """Seconds of each exchange, after three that warm up."""
    spec = job({"name": "async", "lr": 0.1}, steps=rounds + 3)
    folders = SharedFolders() if shared else None
    here = uuid4()
    admin = connect(redis.url, password=redis.password)

    def order(role: str, rank: int) -> ProcessOrder:
        made = ProcessOrder(
            id=uuid4(), job_id=here, attempt=1, role=role, rank=rank, spec=spec,  # type: ignore[arg-type]
            plane=PlaneAccess(url=redis.url, user=plane.account(f"{here.hex}.1"), password="benchmark"),
            store=StoreAccess(url=(folder / here.hex / "store").as_uri()),
        )  # fmt: skip
        found = folders and folders.of(made.plane_id)
        return made.model_copy(update={"shared": SharedMemory(folder=str(found), servers=[0])}) if found else made

    worker = order("worker", 0)
    plane.create(admin, worker.plane_id, password="benchmark")
    home = folder / here.hex / "server"
    home.mkdir(parents=True)
    server = subprocess.Popen([sys.executable, "-c", _SERVE, str(home)], stdin=subprocess.PIPE)
    assert server.stdin is not None
    server.stdin.write(order("server", 0).model_dump_json().encode())
    server.stdin.close()
    try:
        return _times(worker, spec, size)
    finally:
        server.wait(60)
        plane.destroy(admin, worker.plane_id)
        if folders:
            folders.close()


def _times(order: ProcessOrder, spec: JobSpec, size: int) -> list[float]:
    w = Replica(spec, Idle(spec, size))
    layout, codecs = Layout.of(w.theta, None, 1), (spec.codec, spec.pull_codec)
    port = RedisPort(order.plane, order.plane_id, 0, 0, layout, *codecs, shared=order.shared)
    link = Link(spec, port, w, 0, 0, save=lambda cut, state: None)
    watcher = RedisPort(order.plane, order.plane_id, EVALUATOR, 0, layout, *codecs)
    watcher.send(Join(EVALUATOR, 0))
    link.join(Payload(w.theta), None)
    times = []
    while w.has_work and link.begin():
        began = time.perf_counter()
        spec.strategy.round(w, link)
        while link._open:  # the answer brings the center, which the next pull copies
            link._take()
        times.append(time.perf_counter() - began)
    link.leave()
    over = watcher.receive_within(60)
    assert over is not None, "the server says that all is over"
    assert over.version == len(times) == spec.stop.steps, "each push was applied once"
    watcher.send(Leave(EVALUATOR, 0, "done"))
    return times[3:]


_SERVE = """
import sys
from pathlib import Path
from gradstream.process.order import ProcessOrder
from ps_node.__main__ import main
sys.exit(main(ProcessOrder.model_validate_json(sys.stdin.read()), Path(sys.argv[1])))
"""


def memory(size: int, rounds: int) -> list[float]:
    """Seconds of two copies and one addition."""
    a, b, c = (torch.zeros(size) for _ in range(3))
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        _move(a, b, c)
        times.append(time.perf_counter() - began)
    return times


def _move(a: Tensor, b: Tensor, c: Tensor) -> None:
    b.copy_(a)
    c.add_(b, alpha=-0.1)
    a.copy_(c)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_500, 25_000, 545_810, 1_199_882, 20_037_642], help="parameters")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "password").write_text("benchmark")
        redis = Redis("benchmark", folder / "run", log=folder / "log", password_file=folder / "password")
        redis.start()
        redis.wait()
        try:
            for size in args.sizes:
                rows.append(_row(redis, size, args.rounds, folder))
                if not args.json:
                    print("{:>12,} parameters: shared memory {:9.3f} ms, Redis {:9.3f} ms, memory {:9.3f} ms; "
                          "shared memory / memory {:6.2f}, Redis / shared memory {:6.1f}".format(*rows[-1].values()))  # fmt: skip
        finally:
            redis.stop()
    if args.json:
        print(json.dumps({"torch": torch.__version__, "rows": rows}))


def _row(redis: Redis, size: int, rounds: int, folder: Path) -> dict[str, float]:
    count = max(10, min(300, 20_000_000 // size))
    shm, inline, limit = [], [], []
    for _ in range(rounds):
        shm += exchanges(redis, size, count, True, folder)
        inline += exchanges(redis, size, count, False, folder)
        limit += memory(size, count)
    milliseconds = [statistics.median(times) * 1e3 for times in (shm, inline, limit)]
    ratios = milliseconds[0] / milliseconds[2], milliseconds[1] / milliseconds[0]
    names = ("size", "shm_ms", "inline_ms", "memory_ms", "shm_over_memory", "inline_over_shm")
    return dict(zip(names, (size, *milliseconds, *ratios), strict=True))


if __name__ == "__main__":
    main()
