"""Workers of a job without servers that goes on are lost in each state of an exchange: nothing is half applied, nothing hangs."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from gradstream.center.entries import Entry, Output, Payload, Push
from gradstream.center.shard import Shard
from gradstream.serverless.holder.doorbell import Doorbell, DoorbellWriter
from gradstream.serverless.holder.memory import Messages
from gradstream.serverless.holder.port import HolderPort
from gradstream.sim.toys import Bowl, job
from gradstream.spec import JobSpec
from gradstream.training.problem import Gradient
from gradstream.wire import plane
from gradstream.wire.transport.shm import Shared
from tests.integration.plane.cluster import Cluster, Killed

SIZE, WORKERS, STEPS = 5_003, 3, 8
STATES = 70
"""States that a worker passes in such a job, about: more than a start and `STEPS` rounds have."""


class Repeatable(Bowl):
    """The noise of a mini-batch depends on its number only, so that another incarnation draws the same."""

    def __init__(self, spec: JobSpec, rank: int) -> None:
        super().__init__(spec, rank, size=SIZE)
        self._rank = rank

    def gradient(self, position: int) -> Gradient:
        self._generator.manual_seed(1000 * position + self._rank)
        return super().gradient(position)


class Deaths:
    """Lets the thread of a worker pass so many states, and kills it in the next one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._mine = threading.local()
        for owner, name in ((Shared, "make"), (Messages, "make"), (DoorbellWriter, "find")):
            monkeypatch.setattr(owner, name, staticmethod(self._with_states(getattr(owner, name))))
        for owner, name in ((Doorbell, "__init__"), (Doorbell, "wait"), (DoorbellWriter, "ring"), (Messages, "read")):
            monkeypatch.setattr(owner, name, self._with_states(getattr(owner, name)))
        monkeypatch.setattr(Messages, "write", self._with_states(Messages.write, _write_half))

    def after(self, states: int | None) -> None:
        """None: never."""
        self._mine.left = states

    def _pass(self) -> None:
        if (left := getattr(self._mine, "left", None)) is not None:
            self._mine.left = left - 1
            if left == 0:
                raise Killed

    def _with_states(self, function: Callable[..., Any], break_off: Callable[..., None] = lambda *args: None) -> Callable[..., Any]:
        """`break_off` does a part of what `function` would do."""

        def wrapped(*args: Any, **more: Any) -> Any:
            try:
                self._pass()
            except Killed:
                break_off(*args)
                raise
            done = function(*args, **more)
            self._pass()
            return done

        return wrapped


def _write_half(messages: Messages, parts: list[bytes]) -> None:
    messages._memory[messages._mine : messages._mine + 64] = b"\xff" * 64


class Recording:
    """The entries that the shard has handled, with their vectors as they were then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entries: list[tuple[Entry, Payload | None]] = []
        handle = Shard.handle

        def handle_recorded(shard: Shard, entry: Entry, payload: Payload | None = None, *more: Any) -> Output:
            self.entries.append((entry, payload and payload._replace(x=payload.x.clone())))
            return handle(shard, entry, payload, *more)

        monkeypatch.setattr(Shard, "handle", handle_recorded)

    def replay(self, spec: JobSpec) -> Tensor:
        """Handle them again. Each push has to be the gradient at the center that it says it was computed from."""
        shard, centers = Shard(spec), dict[int, Tensor]()
        for entry, payload in self.entries:
            if isinstance(entry, Push) and payload:
                problem = Repeatable(spec, entry.rank)
                problem.theta = centers[entry.base]
                assert isinstance(entry.position, int)
                assert torch.equal(payload.x, problem.gradient(entry.position - 1).g), entry
            shard.handle(entry, payload)
            if shard.center:
                centers.setdefault(shard.center.version, shard.center.theta.clone())
        assert shard.center is not None
        return shard.center.theta


@pytest.mark.few(6)
@pytest.mark.parametrize("seed", range(40))
def test_a_death_in_any_state_leaves_whole_rounds(
    seed: int, cluster: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(seed)
    more: dict[str, Any] = {"optimizer": {"name": "adam"}, "on_worker_loss": "continue"}
    spec = job({"name": "sync", "lr": 0.05}, workers=WORKERS, steps=STEPS, **more)
    attempt = cluster(spec, Repeatable, serverless=True, local=range(1))
    deaths, recording = Deaths(monkeypatch), Recording(monkeypatch)
    plans = {rank: [draw.randrange(STATES) for _ in range(draw.randrange(3))] for rank in range(1, WORKERS)}

    def live(rank: int) -> None:
        for incarnation in itertools.count():
            plan = plans.get(rank, [])
            deaths.after(plan[incarnation] if incarnation < len(plan) else None)
            try:
                return attempt.work(rank, incarnation)
            except Killed:
                plane.post_leave(attempt.admin, attempt.j, rank, incarnation)

    for rank in range(WORKERS):
        attempt.thread(live, rank)
    center = attempt.finish()
    monkeypatch.undo()
    holder = attempt.ports[0]
    assert isinstance(holder, HolderPort)
    accounts = {rank: (account.pushed, account.applied, account.dropped) for rank, account in holder.shard.ledger.accounts.items()}
    assert accounts == {rank: (STEPS, STEPS, 0) for rank in range(WORKERS)}, "each mini-batch counts once"
    assert torch.equal(center, recording.replay(spec)), plans
    assert attempt.shared is not None
    folder = attempt.shared.of(attempt.j)
    assert folder is not None
    _check_left(folder, {rank: len(plan) for rank, plan in plans.items()})


def _check_left(folder: Path, lost: dict[int, int]) -> None:
    """Only those lost before they had rung, or that came when the job was over, have left files, which go with the folder."""
    names = {file.name for file in folder.iterdir()} - {"0.0", "0.doorbell", "over"}
    owners = {tuple(map(int, name.split(".")[:2])) for name in names}
    assert all(incarnation <= lost[rank] for rank, incarnation in owners), names
