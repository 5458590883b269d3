"""A crowd whose mini-batches are dealt on demand. Some workers hang, too: they hold their grants until they are killed."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from gradstream.center.dealing.dealer import DealCounts
from gradstream.center.entries import Entry, Init, Leave, Output, Push, Response
from gradstream.spec import JobSpec
from gradstream.training.granted import GrantedBatches
from tests.unit.center.crowd import Crowd, Header, Key, LiveWorker

Incarnation = tuple[int, int]


class DealtCrowd(Crowd):
    """`play` ends when every planned mini-batch was learned."""

    def __init__(
        self,
        spec: JobSpec,
        seed: int,
        pushes: int,
        planned: int,
        checkpoint: list[dict[str, Any]] | None = None,
        before: tuple[Counter[int], list[int]] = (Counter(), []),
    ) -> None:
        """`pushes`: then nothing goes wrong any more. `before`: learned and spoilt up to the checkpoint."""
        self.planned = planned
        self.window = spec.strategy.steps_per_push() or 1
        self.learned = before[0].copy()
        """How often each number was in a push that counted."""
        self.spoilt = list(before[1])
        """Numbers in pushes that held a value that is not finite."""
        self.before: dict[int, tuple[Counter[int], list[int]]] = {}
        """What was learned and spoilt up to each checkpoint."""
        self.granted: list[int] = []
        """All numbers that were granted, also more than once."""
        self.held: dict[Incarnation, GrantedBatches] = {}
        self._trained: dict[Key, list[int]] = {}
        self._queue: dict[Incarnation, deque[int]] = defaultdict(deque)
        """The test's own copy of each, from the grants alone."""
        self.hung: set[int] = set()
        super().__init__(spec, seed, pushes, checkpoint)

    def play(self) -> None:
        self.begin()
        while len(self.delivered) < self.pushes and not self.shards[0].over:
            self.act()
        while not self.shards[0].over:
            self._finish()
        for group in self.late:
            self._deliver(group)
        self._check_end()

    def act(self) -> None:
        self._say_goodbye()
        able = [rank for rank, worker in self.live.items() if worker.ready]
        if self.hung and (not able or self.chance.random() < 0.1):
            self._kill_hung()
        elif len(able) > 1 and self.chance.random() < 0.02:
            rank = self.chance.choice(able)
            self.hung.add(rank)
            self.live[rank].inside = -1  # it is ready for nothing
        elif not self.live:
            self._rise()
        else:
            super().act()

    def _finish(self) -> None:
        if self.late:
            self._deliver(self.late.pop(0))
            return
        self._say_goodbye()
        if self.hung:
            self._kill_hung()
        elif lost := self._lost():
            self._reborn(lost[0])
        elif ready := [worker for worker in self.live.values() if worker.ready]:
            self._step(self.chance.choice(ready))
        else:
            assert self.shards[0].over or self.late, f"deadlock at the end: {self.live}, {self.shards[0].state()}"

    def _kill_hung(self) -> None:
        rank = self.chance.choice(sorted(self.hung))
        self.hung.discard(rank)
        worker = self.live.pop(rank)
        self._deliver([(Leave(rank, worker.incarnation, "lost"), None)])

    def _lost(self) -> list[int]:
        """The ranks that come back: a rank that has left by itself does not."""
        left = self.shards[0].members.left
        return [rank for rank in range(self.n) if rank not in self.live and (rank not in left or left[rank].why == "lost")]

    def _rise(self) -> None:
        if self.late:
            self._deliver(self.late.pop(0))
        elif lost := self._lost():
            self._reborn(self.chance.choice(lost))

    def _reborn(self, rank: int) -> None:
        if rank in self._lost():
            super()._reborn(rank)

    def _die(self, worker: LiveWorker) -> None:
        self.hung.discard(worker.rank)
        super()._die(worker)

    def _say_goodbye(self) -> None:
        """Let those leave who hold nothing, and wait for no grant."""
        for worker in list(self.live.values()):
            granted = self.held[worker.rank, worker.incarnation]
            if not granted and not granted.awaits_grant and worker.ready and not worker.checkpoint and not worker.stopped:
                self._bye(worker, "done")

    def _born(self, rank: int) -> None:
        self.held[rank, self.incarnations[rank]] = GrantedBatches()
        super()._born(rank)

    def _init(self, rank: int, incarnation: int) -> Entry:
        return Init(rank, incarnation, planned=self.planned)

    def _next(self, worker: LiveWorker) -> Iterator[Header]:
        granted = self.held[worker.rank, worker.incarnation]
        for entry, x in super()._next(worker):
            if isinstance(entry, Push):
                least = 0 if self.waits_inside else min(1, len(granted))
                steps = self.chance.randint(least, min(self.window, len(granted)))
                queue = self._queue[worker.rank, worker.incarnation]
                numbers = [queue.popleft() for _ in range(steps)]
                assert numbers == list(granted.ahead(steps)), "the worker trains in the order of its grants"
                for _ in range(steps):
                    granted.take()
                granted.expect(entry.seq)
                self._trained[entry.rank, entry.incarnation, entry.seq] = numbers
                yield replace(entry, steps=steps), x
            else:
                yield entry, x

    def _take(self, response: Response) -> None:
        super()._take(response)
        worker = self.live.get(response.rank)
        numbers = [number for first, count in response.grant for number in range(first, first + count)]
        self.granted += numbers
        if worker and worker.incarnation == response.incarnation:
            self._queue[worker.rank, worker.incarnation].extend(numbers)
            self.held[worker.rank, worker.incarnation].receive(response)

    def _note_outputs(self, entry: Entry, outputs: list[Output]) -> None:
        for decision in outputs[0].decisions:
            numbers = self._trained.get((decision.rank, decision.incarnation, decision.seq), [])
            if decision.outcome != "dropped":
                self.learned.update(numbers)
            elif decision.reason == "not_finite":
                self.spoilt += numbers
        counts = [shard.dealer.counts() for shard in self.shards]
        assert counts[1:] == counts[:-1]
        if counts[0].planned:
            self._check_counts(counts[0])
        if outputs[0].checkpoint:
            self.before[outputs[0].checkpoint[0]] = self.learned.copy(), list(self.spoilt)

    def _check_counts(self, counts: DealCounts) -> None:
        planned, trained, dropped, *others = counts
        assert planned == self.planned == trained + dropped + sum(others)
        assert min(counts) >= 0
        assert not self.learned or max(self.learned.values()) == 1, "a mini-batch was learned twice"
        assert (trained, dropped) == (self.learned.total(), len(self.spoilt))

    def _check_end(self) -> None:
        super()._check_end()
        learned = self.learned + Counter(self.spoilt)
        assert learned == Counter(range(self.planned)), "each planned mini-batch was learned once"
