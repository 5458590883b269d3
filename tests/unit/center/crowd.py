"""Workers that die, come back, repeat themselves and are late, in front of three shards: one that has the whole vector,
and two that have a part of it each. What must hold after every entry is asserted in `_feed`."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from msgspec.structs import replace

from gradstream.center.entries import (
    EVALUATOR,
    FINAL_CUT,
    Answer,
    Entry,
    Init,
    Join,
    Leave,
    Payload,
    Pull,
    Push,
    Saved,
    Snapshot,
    Stop,
    Want,
)
from gradstream.center.ledger import Decision
from gradstream.center.shard import Shard
from gradstream.spec import JobSpec

PARTS = (slice(0, 7), slice(0, 3), slice(3, 7))
Header = tuple[Entry, torch.Tensor | None]
Key = tuple[int, int, int]
"""(rank, incarnation, seq)"""


@dataclass
class Life:
    """One incarnation of a worker, as far as the protocol sees it."""

    rank: int
    incarnation: int
    seq: int = 0
    base: int = 0
    clock: int = 0
    go: bool = False
    cut: int = 0
    saving: bool = False
    stopped: bool = False
    inside: int = 0
    """Entry whose answer it waits for in the middle of its round, where it can neither save nor leave."""

    @property
    def ready(self) -> bool:
        return not self.inside and (self.stopped or (not self.saving and bool(self.cut or self.go)))


class Crowd:
    """`play` ends when all workers have left, however badly it went in between."""

    def __init__(self, spec: JobSpec, seed: int, pushes: int, cut: list[dict[str, Any]] | None = None) -> None:
        self.spec, self.chance, self.pushes = spec, random.Random(seed), pushes
        self.n = spec.roles.worker.count
        self.shards = [Shard(spec) for _ in PARTS]
        self.waits_inside = spec.strategy.name in ("easgd", "eamsgd", "geo")
        self.acknowledges = not (spec.strategy.pulls_every_round or self.waits_inside)
        self.want: Want = "answer" if spec.strategy.answers else "ack" if self.acknowledges else "center"
        self.waits_ended = 0
        self.lives: dict[int, Life] = {}
        self.incarnations = [0] * self.n
        self.late: list[list[Header]] = []
        """What is under way: groups of entries that come in this order, but any time."""
        self.delivered: set[Key] = set()
        self.decided: dict[Key, Decision] = {}
        self.answered: set[Key] = set()
        self.cuts: dict[int, list[dict[str, Any]]] = {}
        self.asked_cuts = self.evaluators_told = self.fenced = 0
        self.answers_at_cut: list[Answer] = []
        """Given when the last cut was made."""
        self.resumed = cut is not None
        if cut:
            for shard, state in zip(self.shards, cut, strict=True):
                shard.load(state)

    def play(self) -> None:
        self.begin()
        while len(self.delivered) < self.pushes:
            self.act()
        if self.chance.random() < 0.3:
            self._feed(Stop("enough"))
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
        ready = [life for life in self.lives.values() if life.ready]
        dice = self.chance.random()
        if dice < 0.03:
            self.asked_cuts += 1
            for _ in range(self.chance.choice((1, 1, 2))):  # also asked for twice
                self._feed(Snapshot(self.asked_cuts))
        elif dice < 0.05:
            self._feed(Pull(EVALUATOR, 0, self.chance.randrange(1, 50)))
        elif dice < 0.1 and (len(self.lives) > 1 or not self.lives):
            self._die_or_rise()
        elif self.late and (dice < 0.3 or not ready):
            self._deliver(self.late.pop(self.chance.randrange(len(self.late))))
        elif ready:
            self._step(self.chance.choice(ready))
        else:
            assert not self.lives, f"deadlock: {self.lives}, {self.shards[0].state()}"
            self._die_or_rise()

    def _finish(self) -> None:
        """All get what is under way, and leave when they may begin; who is dead comes back to do so."""
        if self.late:
            self._deliver(self.late.pop(0))
            return
        for rank in range(self.n):
            left = self.shards[0].members.left.get(rank)
            if rank not in self.lives and (left is None or left.why == "lost"):
                self._reborn(rank)
                return
        ready = [life for life in self.lives.values() if life.ready]
        assert ready, f"deadlock at the end: {self.lives}, {self.shards[0].state()}"
        life = self.chance.choice(ready)
        if life.go and not life.cut and not life.stopped:
            life.stopped = True
            self._bye(life, "done")
        else:
            self._step(life)

    def _die_or_rise(self) -> None:
        if self.lives:
            self._die(self.chance.choice(list(self.lives.values())))
        else:
            self._reborn(self.chance.randrange(self.n))

    def _die(self, life: Life) -> None:
        """With its last entry handled, on its way (so that it may come from a zombie), or never sent."""
        del self.lives[life.rank]
        if life.ready and not life.stopped:
            last = list(self._next(life))
            match self.chance.choice(("handled", "late", "never")):
                case "handled":
                    self._deliver(last)
                case "late":
                    self.late.append(last)
        self.late.append([(Leave(life.rank, life.incarnation, "lost"), None)])
        if self.chance.random() < 0.7:
            self._reborn(life.rank)

    def _reborn(self, rank: int) -> None:
        self.incarnations[rank] += 1
        self._born(rank)

    def _born(self, rank: int) -> None:
        life = self.lives[rank] = Life(rank, self.incarnations[rank])
        entries: list[Header] = [(Join(rank, life.incarnation), None)]
        if rank == 0 and not self.resumed:
            entries.insert(0, (Init(rank, life.incarnation), torch.zeros(7)))
        self.late.append(entries)

    def _step(self, life: Life) -> None:
        if life.stopped:
            self._bye(life, "stopped")
            return
        entries = list(self._next(life))
        self._deliver(entries)
        if self.chance.random() < 0.3:
            self.late.append(entries)  # sent again, since its connection was lost

    def _next(self, life: Life) -> Iterator[Header]:
        """What this life sends next."""
        if life.cut:
            cut, life.cut, life.saving, life.seq = life.cut, 0, True, life.seq + 1
            yield Saved(life.rank, life.incarnation, life.seq, cut), None
            return
        life.go = False
        if self.acknowledges and self.chance.random() < 0.5:
            life.seq += 1
            yield Pull(life.rank, life.incarnation, life.seq), None
        life.seq, life.clock = life.seq + 1, life.clock + 1
        x = torch.tensor([self.chance.random() for _ in range(7)])
        yield Push(
            life.rank, life.incarnation, life.seq, base=life.base, steps=1, examples=self.chance.randrange(1, 4),
            want=self.want, position=life.clock, finite=self.chance.random() > 0.02,
        ), x  # fmt: skip
        life.inside = life.seq if self.waits_inside else 0

    def _bye(self, life: Life, why: Any) -> None:
        del self.lives[life.rank]
        self._deliver([(Leave(life.rank, life.incarnation, why), None)])
        if self.chance.random() < 0.3:
            self.late.append([(Leave(life.rank, life.incarnation, "lost"), None)])  # the agent sees it exit, too

    # ---- what must hold ---------------------------------------------------------------------------------------------------

    def _deliver(self, group: Sequence[Header]) -> None:
        for entry, x in group:
            self._feed(entry, x)

    def _feed(self, entry: Entry, x: torch.Tensor | None = None) -> None:
        if isinstance(entry, Push):
            self.delivered.add((entry.rank, entry.incarnation, entry.seq))
        outcomes = [
            shard.handle(entry, None if x is None else Payload(x[part])) for shard, part in zip(self.shards, PARTS, strict=True)
        ]
        first = outcomes[0]
        for other in outcomes[1:]:
            assert [replace(a, payload=None) for a in other.answers] == [replace(a, payload=None) for a in first.answers]
            assert other.decisions == first.decisions
        for decision in first.decisions:
            key = (decision.rank, decision.incarnation, decision.seq)
            assert key not in self.decided or decision.incarnation < 0, f"decided twice: {decision}"
            self.decided[key] = decision
            self._check_decision(decision)
        for answer in first.answers:
            self._take(answer)
        if first.cut:
            self.answers_at_cut = first.answers
            number, ranks, _ = first.cut
            states = [outcome.cut[2] for outcome in outcomes if outcome.cut]
            self._check_cut(number, ranks, states)

    def _take(self, answer: Answer) -> None:
        key = (answer.rank, answer.incarnation, answer.seq)
        if answer.verdict == "fenced":
            self.fenced += 1
            return
        assert not answer.seq or answer.rank == EVALUATOR or key not in self.answered, f"answered twice: {answer}"
        self.answered.add(key)
        if answer.rank == EVALUATOR:
            self.evaluators_told += answer.verdict == "over"
            return
        if answer.go:
            self._check_go(answer)
        life = self.lives.get(answer.rank)
        if life and life.incarnation == answer.incarnation:
            if life.inside and answer.seq == life.inside:
                assert answer.brings == ("answer" if self.want == "answer" else "center"), f"a round goes on without: {answer}"
                life.inside, self.waits_ended = 0, self.waits_ended + 1
            life.go = answer.go or (life.go and answer.verdict != "saved")
            life.cut = answer.cut or life.cut
            life.stopped |= answer.verdict == "stop"
            life.saving &= answer.verdict != "saved"
            if answer.brings == "center":
                life.base = answer.version

    def _check_decision(self, decision: Decision) -> None:
        gate = self.spec.effective_gate
        if decision.fate == "applied":
            assert gate.mode != "bsp" or decision.staleness == 0
            assert gate.max_staleness is None or decision.staleness < gate.max_staleness

    def _check_go(self, answer: Answer) -> None:
        gate, members = self.spec.effective_gate, self.shards[0].members
        if gate.warm_start and self.shards[0].center and self.shards[0].center.samples < gate.warm_start:
            assert answer.rank == min(members), f"{answer} trains beside {min(members)} in the warm start"
        if gate.mode == "ssp":
            lowest = min(member.clock for member in members.values())
            assert members[answer.rank].clock - lowest <= gate.bound, f"{answer} runs ahead: {members}"

    def _check_cut(self, number: int, ranks: list[int], states: list[dict[str, Any]]) -> None:
        assert len(states) == len(PARTS), "a cut on some shards only"
        assert number not in self.cuts, f"cut {number} was made twice"
        assert self.shards[0].started, "a cut before all were here once"
        assert number == FINAL_CUT or ranks == sorted(self.shards[0].members)
        self.cuts[number] = states
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
        assert FINAL_CUT in self.cuts
        assert whole.center is not None
        assert torch.equal(whole.center.theta, torch.cat([part.center.theta for part in parts if part.center]))
        pending = _pending(whole.state())
        assert not pending, f"left undecided: {pending}"
        assert self.delivered <= self.decided.keys(), f"left undecided: {self.delivered - self.decided.keys()}"
        if not self.resumed:
            self._check_ledger()

    def _check_ledger(self) -> None:
        """The accounts are the decisions, counted; and each posted header was counted once."""
        fates = Counter((decision.rank, decision.fate) for decision in self.decided.values())
        pushed = Counter(rank for rank, _, _ in self.delivered)
        for rank, account in self.shards[0].ledger.accounts.items():
            assert (account.applied, account.buffered, account.dropped) == tuple(
                fates[rank, fate] for fate in ("applied", "buffered", "dropped")
            )
            assert account.pushed == pushed[rank]
            assert account.pending == 0


def _pending(state: dict[str, Any]) -> list[dict[str, Any]]:
    return [push for push, _ in state["gate"].get("pending", [])]
