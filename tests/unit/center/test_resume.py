"""A job that resumes from a checkpoint takes the path of the one that went on, also from checkpoints of a crowd: with pushes
waiting for an open round, workers held by the gate, ranks that are gone."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from gradstream.center.entries import Join, Leave, Payload, Push, Response
from gradstream.center.ledger import Decision
from gradstream.center.shard import Shard
from tests.unit.center.crowd import Crowd
from tests.unit.center.test_fuzz import GATES, RUNS, spec
from tests.unit.same import difference


class Attempt:
    """Drives the members of one shard, by rank."""

    def __init__(self, shard: Shard, responses: list[Response]) -> None:
        self.shard = shard
        self.free: set[int] = set()
        self.bases: dict[int, int] = {}
        self._read(responses)

    def push(self, rank: int, x: torch.Tensor, examples: int) -> list[tuple[int, str, int]]:
        self.free.discard(rank)
        member = self.shard.members[rank]
        position = self.shard.members.positions.get(rank, 0) + 1
        entry = Push(rank, member.incarnation, member.seq + 1, self.bases[rank], 1, examples, "center", position)
        output = self.shard.handle(entry, Payload(x))
        self._read(output.responses)
        return [_fact(decision) for decision in output.decisions]

    def _read(self, responses: list[Response]) -> None:
        for response in responses:
            if response.rank in self.shard.members:
                if response.brings == "center":
                    self.bases[response.rank] = response.version
                if response.go:
                    self.free.add(response.rank)


def _fact(decision: Decision) -> tuple[int, str, int]:
    return decision.rank, decision.outcome, decision.staleness


def resumed(gate: str, state: dict[str, Any], ranks: list[int]) -> Attempt:
    shard = Shard(spec(gate))
    shard.load(state)
    responses: list[Response] = []
    for rank in range(4):
        responses += shard.handle(Join(rank, 0) if rank in ranks else Leave(rank, 0, "lost")).responses
    return Attempt(shard, responses)


@pytest.mark.few(2)
@pytest.mark.parametrize("gate", [gate for gate in GATES if not gate.endswith(("acknowledged", "inside", "for the center"))])
def test_takes_the_same_path(gate: str) -> None:
    compared = waiting = held = 0
    for seed in range(RUNS // 2):
        crowd = Crowd(spec(gate), seed, pushes=0)
        crowd.begin()
        while not crowd.checkpoints and len(crowd.delivered) < 60:
            crowd.act()
        if not crowd.checkpoints:
            continue
        whole = crowd.shards[0]
        state, ranks = crowd.checkpoints.popitem()[1][0], sorted(whole.members)
        rest, gone_on = resumed(gate, state, ranks), Attempt(whole, crowd.responses_at_checkpoint)
        waiting += bool(state["gate"].get("pending"))
        held += len(gone_on.free) < len(ranks)
        compared += 1
        _drive(gone_on, rest, random.Random(seed))
    assert compared > RUNS / 4, "the crowd must make checkpoints"
    if gate in ("bsp", "quorum 3"):
        assert waiting > RUNS / 40, "some checkpoints must be made in an open round"
    if gate not in ("asp", "max_staleness", "with bases"):
        assert held, "some checkpoints must be made while the gate holds somebody"


def _drive(gone_on: Attempt, rest: Attempt, chance: random.Random) -> None:
    for _ in range(25):
        assert gone_on.free == rest.free
        rank = chance.choice(sorted(gone_on.free))
        x, examples = torch.tensor([chance.random() for _ in range(7)]), chance.randrange(1, 4)
        assert gone_on.push(rank, x, examples) == rest.push(rank, x, examples)
        assert difference(_numbers(gone_on.shard), _numbers(rest.shard)) is None


def _numbers(shard: Shard) -> tuple[Any, ...]:
    assert shard.center is not None
    return shard.center.theta, shard.center.version, shard.center.samples, shard.ledger.state()
