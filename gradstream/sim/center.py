"""All shards of the simulated center, fed in step, as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from msgspec.structs import replace
from torch import Tensor

from gradstream.center.entries import Answer, Entry, Payload, moved_in_all
from gradstream.center.ledger import Decision
from gradstream.center.shard import Shard
from gradstream.center.slices import slices
from gradstream.spec import JobSpec, Snapshot


class ShardsDisagree(Exception):
    """Shards that were fed the same entries answered differently: a bug in the machine or a strategy that is no formula."""


@dataclass
class Settled:
    """What one entry led to, on all shards."""

    answers: list[Answer]
    decisions: list[Decision]
    cut: tuple[int, list[int], list[dict[str, Any]]] | None
    """Number, ranks, and the state of each shard."""


def _watched(spec: JobSpec) -> JobSpec:
    """Nobody asks these shards for evaluations or checkpoints that are due: whoever runs the simulation looks at the center."""
    by_time = {"evaluate": spec.evaluate.model_copy(update={"every": 2.0}), "snapshot": Snapshot()}
    return spec.model_copy(update=by_time)


class ShardedCenter:
    def __init__(self, spec: JobSpec, size: int, align: int) -> None:
        """`align`: where slices may begin; 1 cuts even the tiny vectors of the toys."""
        self.shards = [Shard(_watched(spec)) for _ in range(spec.roles.server.shards)]
        self._pull_codec = spec.pull_codec
        self._slices = slices(size, len(self.shards), max(align, spec.codec.block))

    def handle(self, entry: Entry, payload: Payload | None) -> Settled:
        """Raises: ShardsDisagree."""
        first, *others = (shard.handle(entry, self._part(k, payload)) for k, shard in enumerate(self.shards))
        for outcome in others:
            same_answers = list(map(Answer.shared, outcome.answers)) == list(map(Answer.shared, first.answers))
            if not same_answers or outcome.decisions != first.decisions or _cut(outcome.cut) != _cut(first.cut):
                raise ShardsDisagree(f"after {entry}: {first} and {outcome}")
        outcomes = [first, *others]
        made: dict[tuple[int, ...], Payload] = {}
        answers = [self._joined(parts, made) for parts in zip(*(outcome.answers for outcome in outcomes), strict=True)]
        states = [outcome.cut[2] for outcome in outcomes if outcome.cut]
        return Settled(answers, first.decisions, (*first.cut[:2], states) if first.cut else None)

    @property
    def samples(self) -> int:
        return self.shards[0].center.samples if self.shards[0].center else 0

    @property
    def version(self) -> int:
        return self.shards[0].center.version if self.shards[0].center else 0

    def theta(self) -> Tensor:
        return torch.cat([shard.center.theta for shard in self.shards if shard.center])

    def for_evaluation(self) -> Payload:
        """What an evaluator would be given: a copy."""
        parts = [shard.center.read_for_evaluation() for shard in self.shards if shard.center]
        return Payload(torch.cat([part.x for part in parts]), parts[0].buffers)

    def load(self, states: list[dict[str, Any]]) -> None:
        for shard, state in zip(self.shards, states, strict=True):
            shard.load(state)

    def state(self) -> list[dict[str, Any]]:
        return [shard.state() for shard in self.shards]

    def _part(self, k: int, payload: Payload | None) -> Payload | None:
        return payload and Payload(payload.x[self._slices[k]], payload.buffers if k == 0 else None)

    def _joined(self, parts: tuple[Answer, ...], made: dict[tuple[int, ...], Payload]) -> Answer:
        """`made`: payloads of other answers to the same entry. A center that all are given is copied once; workers only read it."""
        payloads = [part.payload for part in parts if part.payload]
        answer = replace(parts[0], moved=moved_in_all(parts)) if parts[0].moved is not None else parts[0]
        if not payloads:
            return answer
        key = tuple(id(payload.x) for payload in payloads)
        if key not in made:
            x = self._pull_codec.arrives(torch.cat([payload.x for payload in payloads]))
            made[key] = Payload(x, payloads[0].buffers)
        return replace(answer, payload=made[key])


def _cut(cut: tuple[int, list[int], Any] | None) -> tuple[int, list[int]] | None:
    return cut and cut[:2]
