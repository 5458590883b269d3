"""Workers that die, come back, repeat themselves and are late, in front of three shards: one that has the whole vector,
and two that have a part of it each. What must hold after every entry is asserted in `_feed`."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from gradstream.center.entries import (
    EVALUATOR,
    FINAL_CHECKPOINT,
    Checkpoint,
    Entry,
    Init,
    Join,
    Leave,
    Output,
    Payload,
    Pull,
    Push,
    Response,
    Saved,
    StopWorkers,
    Want,
    moved_in_all,
)
from gradstream.center.ledger import Decision
from gradstream.center.shard import Shard
from gradstream.spec import JobSpec

PARTS = (slice(0, 7), slice(0, 3), slice(3, 7))
Header = tuple[Entry, Any]
"""An entry, and what travels beside it: a vector, or nothing. Crowds with rows have more."""
Key = tuple[int, int, int]
"""(rank, incarnation, seq)"""


@dataclass
class LiveWorker:
    """One incarnation of a worker, as far as the protocol sees it."""

    rank: int
    incarnation: int
    seq: int = 0
    base: int = 0
    clock: int = 0
    go: bool = False
    checkpoint: int = 0
    saving: bool = False
    stopped: bool = False
    inside: int = 0
    """Entry whose response it waits for in the middle of its round, where it can neither save nor leave."""

    @property
    def ready(self) -> bool:
        return not self.inside and (self.stopped or (not self.saving and bool(self.checkpoint or self.go)))


class Crowd:
    """`play` ends when all workers have left, however badly it went in between."""

    def __init__(self, spec: JobSpec, seed: int, pushes: int, checkpoint: list[dict[str, Any]] | None = None) -> None:
        self.spec, self.chance, self.pushes = spec, random.Random(seed), pushes
        self.n = spec.roles.worker.count
        self.shards = [self.make_shard(number) for number in range(len(PARTS))]
        self.waits_inside = spec.strategy.name in ("easgd", "eamsgd", "geo")
        self.acknowledges = not (spec.strategy.pulls_every_round or self.waits_inside)
        self.want: Want = "response" if spec.strategy.responds else "ack" if self.acknowledges else "center"
        self.waits_ended = 0
        self.live: dict[int, LiveWorker] = {}
        self.incarnations = [0] * self.n
        self.late: list[list[Header]] = []
        """What is under way: groups of entries that come in this order, but any time."""
        self.delivered: set[Key] = set()
        self.decided: dict[Key, Decision] = {}
        self.answered: set[Key] = set()
        self.checkpoints: dict[int, list[dict[str, Any]]] = {}
        self.asked_checkpoints = self.evaluators_told = self.fenced = 0
        self.responses_at_checkpoint: list[Response] = []
        """Given when the last checkpoint was made."""
        self.resumed = checkpoint is not None
        if checkpoint:
            for shard, state in zip(self.shards, checkpoint, strict=True):
                shard.load(state)

    def make_shard(self, number: int) -> Shard:
        return Shard(self.spec)

    def play(self) -> None:
        self.begin()
        while len(self.delivered) < self.pushes:
            self.act()
        if self.chance.random() < 0.3:
            self._feed(StopWorkers("enough"))
        while not self.shards[0].over:
            self._finish()
        for group in self.late:
            self._deliver(group)
        self._check_end()

    # ---- what happens ---------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self._feed(Join(EVALUATOR, 0))
        for rank in range(self.n):
            self._born(rank)

    def act(self) -> None:
        ready = [worker for worker in self.live.values() if worker.ready]
        dice = self.chance.random()
        if dice < 0.03:
            self.asked_checkpoints += 1
            for _ in range(self.chance.choice((1, 1, 2))):  # also asked for twice
                self._feed(Checkpoint(self.asked_checkpoints))
        elif dice < 0.05:
            self._feed(Pull(EVALUATOR, 0, self.chance.randrange(1, 50)))
        elif dice < 0.1 and (len(self.live) > 1 or not self.live):
            self._die_or_rise()
        elif self.late and (dice < 0.3 or not ready):
            self._deliver(self.late.pop(self.chance.randrange(len(self.late))))
        elif ready:
            self._step(self.chance.choice(ready))
        else:
            assert not self.live, f"deadlock: {self.live}, {self.shards[0].state()}"
            self._die_or_rise()

    def _finish(self) -> None:
        """All get what is under way, and leave when they may begin; who is dead comes back to do so."""
        if self.late:
            self._deliver(self.late.pop(0))
            return
        for rank in range(self.n):
            left = self.shards[0].members.left.get(rank)
            if rank not in self.live and (left is None or left.why == "lost"):
                self._reborn(rank)
                return
        ready = [worker for worker in self.live.values() if worker.ready]
        assert ready, f"deadlock at the end: {self.live}, {self.shards[0].state()}"
        worker = self.chance.choice(ready)
        if worker.go and not worker.checkpoint and not worker.stopped:
            worker.stopped = True
            self._bye(worker, "done")
        else:
            self._step(worker)

    def _die_or_rise(self) -> None:
        if self.live:
            self._die(self.chance.choice(list(self.live.values())))
        else:
            self._reborn(self.chance.randrange(self.n))

    def _die(self, worker: LiveWorker) -> None:
        """With its last entry handled, on its way (so that it may come from a zombie), or never sent."""
        del self.live[worker.rank]
        if worker.ready and not worker.stopped:
            last = list(self._next(worker))
            match self.chance.choice(("handled", "late", "never")):
                case "handled":
                    self._deliver(last)
                case "late":
                    self.late.append(last)
        self.late.append([(Leave(worker.rank, worker.incarnation, "lost"), None)])
        if self.chance.random() < 0.7:
            self._reborn(worker.rank)

    def _reborn(self, rank: int) -> None:
        self.incarnations[rank] += 1
        self._born(rank)

    def _born(self, rank: int) -> None:
        worker = self.live[rank] = LiveWorker(rank, self.incarnations[rank])
        entries: list[Header] = [(Join(rank, worker.incarnation), None)]
        if rank == 0 and not self.resumed:
            entries.insert(0, (self._init(rank, worker.incarnation), torch.zeros(7)))
        self.late.append(entries)

    def _init(self, rank: int, incarnation: int) -> Entry:
        return Init(rank, incarnation)

    def _step(self, worker: LiveWorker) -> None:
        if worker.stopped:
            self._bye(worker, "stopped")
            return
        entries = list(self._next(worker))
        self._deliver(entries)
        if self.chance.random() < 0.3:
            self.late.append(entries)  # sent again, since its connection was lost

    def _next(self, worker: LiveWorker) -> Iterator[Header]:
        """The next message of this worker."""
        if worker.checkpoint:
            checkpoint, worker.checkpoint, worker.saving, worker.seq = worker.checkpoint, 0, True, worker.seq + 1
            yield Saved(worker.rank, worker.incarnation, worker.seq, checkpoint), None
            return
        worker.go = False
        if self.acknowledges and self.chance.random() < 0.5:
            worker.seq += 1
            yield Pull(worker.rank, worker.incarnation, worker.seq), None
        worker.seq, worker.clock = worker.seq + 1, worker.clock + 1
        x = torch.tensor([self.chance.random() for _ in range(7)])
        yield (
            Push(
                worker.rank,
                worker.incarnation,
                worker.seq,
                base=worker.base,
                steps=1,
                examples=self.chance.randrange(1, 4),
                want=self.want,
                position=worker.clock,
                finite=self.chance.random() > 0.02,
            ),
            x,
        )
        worker.inside = worker.seq if self.waits_inside else 0

    def _bye(self, worker: LiveWorker, why: Any) -> None:
        del self.live[worker.rank]
        self._deliver([(Leave(worker.rank, worker.incarnation, why), None)])
        if self.chance.random() < 0.3:
            self.late.append([(Leave(worker.rank, worker.incarnation, "lost"), None)])  # the agent sees it exit, too

    # ---- what must hold ---------------------------------------------------------------------------------------------------

    def _deliver(self, group: Sequence[Header]) -> None:
        for entry, x in group:
            self._feed(entry, x)

    def _payload(self, number: int, x: Any) -> Payload | None:
        """Return a shard's part of the payload beside an entry."""
        return None if x is None else Payload(x[PARTS[number]])

    def _note_outputs(self, entry: Entry, outputs: list[Output]) -> None:
        """All shards have handled the entry."""

    def _feed(self, entry: Entry, x: Any = None) -> None:
        if isinstance(entry, Push):
            self.delivered.add((entry.rank, entry.incarnation, entry.seq))
        outputs = [shard.handle(entry, self._payload(number, x)) for number, shard in enumerate(self.shards)]
        first = outputs[0]
        for other in outputs[1:]:
            assert [response.shared() for response in other.responses] == [response.shared() for response in first.responses]
            assert other.decisions == first.decisions
        for whole, *parts in zip(*(output.responses for output in outputs), strict=True):
            moved, in_parts = moved_in_all([whole]), moved_in_all(parts)
            assert moved == in_parts or math.isclose(moved or 0.0, in_parts or 0.0, rel_tol=1e-3), "in parts as in the whole"
        for decision in first.decisions:
            key = (decision.rank, decision.incarnation, decision.seq)
            assert key not in self.decided or decision.incarnation < 0, f"decided twice: {decision}"
            self.decided[key] = decision
            self._check_decision(decision)
        self._note_outputs(entry, outputs)
        for response in first.responses:
            self._take(response)
        if first.checkpoint:
            self.responses_at_checkpoint = first.responses
            number, ranks, _ = first.checkpoint
            states = [output.checkpoint[2] for output in outputs if output.checkpoint]
            self._check_checkpoint(number, ranks, states)

    def _take(self, response: Response) -> None:
        key = (response.rank, response.incarnation, response.seq)
        if response.outcome == "fenced":
            self.fenced += 1
            return
        assert not response.seq or response.rank == EVALUATOR or key not in self.answered, f"answered twice: {response}"
        self.answered.add(key)
        if response.rank == EVALUATOR:
            self.evaluators_told += response.outcome == "over"
            return
        if response.go:
            self._check_go(response)
        worker = self.live.get(response.rank)
        if worker and worker.incarnation == response.incarnation:
            if worker.inside and response.seq == worker.inside:
                assert response.brings == ("response" if self.want == "response" else "center"), (
                    f"a round goes on without: {response}"
                )
                worker.inside, self.waits_ended = 0, self.waits_ended + 1
            worker.go = response.go or (worker.go and response.outcome != "saved")
            worker.checkpoint = response.checkpoint or worker.checkpoint
            worker.stopped |= response.outcome == "stop"
            worker.saving &= response.outcome != "saved"
            if response.brings == "center":
                worker.base = response.version

    def _check_decision(self, decision: Decision) -> None:
        gate = self.spec.effective_gate
        if decision.outcome == "applied":
            assert gate.mode != "bsp" or decision.staleness == 0
            assert gate.max_staleness is None or decision.staleness < gate.max_staleness

    def _check_go(self, response: Response) -> None:
        gate, members = self.spec.effective_gate, self.shards[0].members
        if gate.warm_start and self.shards[0].center and self.shards[0].center.samples < gate.warm_start:
            assert response.rank == min(members), f"{response} trains beside {min(members)} in the warm start"
        if gate.mode == "ssp":
            lowest = min(member.clock for member in members.values())
            assert members[response.rank].clock - lowest <= gate.bound, f"{response} runs ahead: {members}"

    def _check_checkpoint(self, number: int, ranks: list[int], states: list[dict[str, Any]]) -> None:
        assert len(states) == len(PARTS), "a checkpoint on some shards only"
        assert number not in self.checkpoints, f"checkpoint {number} was made twice"
        assert self.shards[0].started, "a checkpoint before all were here once"
        assert number == FINAL_CHECKPOINT or ranks == sorted(self.shards[0].members)
        self.checkpoints[number] = states
        whole, *parts = states
        assert torch.equal(whole["center"]["theta"], torch.cat([part["center"]["theta"] for part in parts]))
        for part in parts:
            assert part["ledger"] == whole["ledger"]
            assert part["members"] == whole["members"]
            assert part["center"]["version"] == whole["center"]["version"]
            assert _pending(part) == _pending(whole)

    def _check_end(self) -> None:
        whole, *parts = self.shards
        assert all(shard.over for shard in self.shards)
        assert self.evaluators_told == 1
        assert FINAL_CHECKPOINT in self.checkpoints
        assert whole.center is not None
        assert torch.equal(whole.center.theta, torch.cat([part.center.theta for part in parts if part.center]))
        pending = _pending(whole.state())
        assert not pending, f"left undecided: {pending}"
        assert self.delivered <= self.decided.keys(), f"left undecided: {self.delivered - self.decided.keys()}"
        if not self.resumed:
            self._check_ledger()

    def _check_ledger(self) -> None:
        """The accounts are the decisions, counted; and each posted header was counted once."""
        outcomes = Counter((decision.rank, decision.outcome) for decision in self.decided.values())
        pushed = Counter(rank for rank, _, _ in self.delivered)
        for rank, account in self.shards[0].ledger.accounts.items():
            assert (account.applied, account.deferred, account.dropped) == tuple(
                outcomes[rank, outcome] for outcome in ("applied", "deferred", "dropped")
            )
            assert account.pushed == pushed[rank]
            assert account.pending == 0


def _pending(state: dict[str, Any]) -> list[dict[str, Any]]:
    return [push for push, _ in state["gate"].get("pending", [])]
