"""One attempt of a job with all its processes on this machine and no control plane: what `gradstream train` runs."""

from __future__ import annotations

import json
import re
import secrets
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from redis import Redis

from gradstream.bundle.commit.origin import CodeOrigin
from gradstream.center.entries import EVALUATOR
from gradstream.local.training.gpus import assign
from gradstream.metrics import Point
from gradstream.process import exits
from gradstream.process.exits import Exit, ExitReason
from gradstream.process.headline import sort_failures
from gradstream.process.order import PlaneAccess, ProcessOrder, Resume, Role, SharedMemory, StoreAccess, label, plane_id
from gradstream.process.shared import SharedFolders
from gradstream.process.watchdogs.start import Hang, read_hang
from gradstream.process.zygote.zygote import Exited, Refused, Zygote
from gradstream.spec import JobSpec
from gradstream.wire import plane

_KILLED_WITHIN = 10.0
"""Seconds that the kernel may take to end processes that were killed; the zygote's end, which comes next, reaps the rest."""

_SAME_CAUSE_WITHIN = 0.5
"""Seconds after a failure within which others may fail of the same cause."""


@dataclass(frozen=True, slots=True)
class _FailedProcess:
    label: str
    end: Exit
    ended_at: float

    @property
    def role(self) -> str:
        return re.split(r"[-.]", self.label)[0]

    @property
    def reason(self) -> ExitReason:
        return self.end.reason

    @property
    def message(self) -> str:
        return self.end.message


class LocalAttempt:
    """Call `pump` until `over`; then `close`. Not thread-safe."""

    def __init__(
        self,
        spec: JobSpec,
        code: Path,
        folder: Path,
        *,
        zygote: Zygote,
        redis: Redis,
        plane_url: str,
        job_id: UUID | None = None,
        number: int = 1,
        resume: Resume | None = None,
        origin: CodeOrigin | None = None,
        gpus: Sequence[int] = (),
    ) -> None:
        """`code`: the folder of the user's code. `folder`: gets a folder for each process, and `store/`. `redis` administers the
        data plane at `plane_url`. `gpus`: those of this machine that the job may use. Raises: InvalidJob: it must have more."""
        self.spec, self._code, self._folder = spec.on_one_machine(), code, folder.resolve()
        self._gpus = {name: [gpus[number] for number in own] for name, own in assign(self.spec, len(gpus)).items()}
        self._zygote, self._redis = zygote, redis
        self._job, self.number, self._resume, self._origin = job_id or uuid4(), number, resume, origin
        self.j = plane_id(self._job, number)
        self._access = PlaneAccess(url=plane_url, user=plane.account(self.j), password=secrets.token_urlsafe(24))
        self._shared = SharedFolders()
        self._orders: dict[UUID, ProcessOrder] = {}
        self._metrics_read = "0"
        self.exits: dict[str, Exit] = {}
        """How each process ended, by label and incarnation (`worker-0.0`)."""

    @property
    def store(self) -> Path:
        """Where this attempt's files are: `checkpoints/<n>/...`, `model.safetensors`, `result.json`."""
        return self._folder / "store" / str(self.number)

    @property
    def over(self) -> bool:
        """Every process has ended."""
        return not self._orders

    @property
    def joined(self) -> bool:
        """A process has joined the log, so a stop reaches it soon."""
        return plane.has_members(self._redis, self.j)

    @property
    def failed(self) -> tuple[str, Exit] | None:
        """The process whose failure explains most, of those that ended badly."""
        ends = enumerate(self.exits.items())  # in the order in which they ended
        bad = [_FailedProcess(name, end, number) for number, (name, end) in ends if end.reason not in exits.GOOD]
        return next(((failure.label, failure.end) for failure in sort_failures(bad)), None)

    @property
    def result(self) -> dict[str, Any] | None:
        """Return the evaluator's result at the end; None: there is none."""
        file = self.store / "result.json"
        return json.loads(file.read_text()) if file.exists() else None

    def start(self) -> None:
        assert self._access.password is not None, "made with one"
        roles = self.spec.roles
        plane.create(self._redis, self.j, password=self._access.password)
        for rank in range(roles.server.shards):
            self.spawn("server", rank)
        for rank in range(roles.worker.count):
            self.spawn("worker", rank)
        self.spawn("evaluator", EVALUATOR)

    def spawn(self, role: Role, rank: int, incarnation: int = 0) -> None:
        order = self.order(role, rank, incarnation)
        home = self._home(order)
        home.mkdir(parents=True)
        if role != "server":
            (home / "code").symlink_to(self._code.resolve())
        self._orders[order.id] = order
        self._zygote.fork(order, home)

    def order(self, role: Role, rank: int, incarnation: int) -> ProcessOrder:
        folder, gpus = self._shared.of(self.j), self._gpus.get(label(role, rank), [])
        share = self.spec.roles.shard_gpu_share if role == "server" else self.spec.roles.worker.gpu_share
        everywhere = SharedMemory(folder=str(folder), servers=list(range(self.spec.shards))) if folder else None
        return ProcessOrder(
            id=uuid4(),
            job_id=self._job,
            attempt=self.number,
            role=role,
            rank=rank,
            incarnation=incarnation,
            spec=self.spec,
            plane=self._access,
            store=StoreAccess(url=(self._folder / "store").as_uri()),
            resume=self._resume,
            shared=everywhere,
            origin=self._origin,
            gpus=gpus,
            gpu_share=share if gpus else 1,
        )

    def pump(self, timeout: float) -> Iterator[tuple[str, Exit]]:
        """Processes that ended, waiting up to `timeout` seconds for news. The others learn of it on the plane."""
        for event in self._zygote.events(timeout):
            if not isinstance(event, Exited | Refused) or event.id not in self._orders:
                continue
            order = self._orders.pop(event.id)
            if isinstance(event, Refused):
                end = Exit(reason=ExitReason.CANNOT_START, message=event.message, code=1)
            else:
                end = exits.read(self._home(order), event.code)
            name = order.full_label
            self.exits[name] = end
            if order.role != "server" and end.reason not in exits.GOOD:
                plane.post_leave(self._redis, self.j, order.rank, order.incarnation)
            yield name, end

    def gather_failures(self) -> None:
        """After a failure, wait a moment for processes that fail of the same cause: one of them may explain it better."""
        deadline = time.monotonic() + _SAME_CAUSE_WITHIN
        while self.failed and not self.over and (left := deadline - time.monotonic()) > 0:
            list(self.pump(left))

    def metrics(self) -> list[tuple[str, list[Point]]]:
        """Return the metrics that came since the last call, each batch with its source."""
        found: list[tuple[str, list[Point]]] = []
        while batches := plane.read_metrics(self._redis, self.j, self._metrics_read):
            self._metrics_read = batches[-1][0]
            plane.trim_metrics(self._redis, self.j, self._metrics_read)
            found += [(source, points) for _, source, _, points in batches]
        return found

    def hangs(self) -> dict[str, Hang]:
        """The processes that take long to start, by label."""
        found = ((order.label, read_hang(self._home(order))) for order in self._orders.values() if order.role != "server")
        return {label: hang for label, hang in found if hang}

    def request_checkpoint(self, number: int) -> None:
        plane.control_checkpoint(self._redis, self.j, number)

    def stop(self, reason: str) -> None:
        plane.control_stop(self._redis, self.j, reason)

    def log_of(self, name: str) -> str:
        """Return the output of a process."""
        file = self._folder / "processes" / f"{self.number}.{name}" / "log"
        return file.read_text(errors="replace") if file.exists() else ""

    def close(self) -> None:
        """Kill what still runs, and remove the attempt from the plane."""
        for id in self._orders:
            self._zygote.signal(id, signal.SIGKILL)
        deadline = time.monotonic() + _KILLED_WITHIN
        while self._orders and self._zygote.ready and self._zygote.alive and time.monotonic() < deadline:
            list(self.pump(0.2))
        plane.destroy(self._redis, self.j)
        self._shared.close()

    def _home(self, order: ProcessOrder) -> Path:
        return self._folder / "processes" / f"{self.number}.{order.full_label}"
