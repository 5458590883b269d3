"""What makes an entry cost the same with any number of workers must not change what the gates decide."""

from __future__ import annotations

import random

from gradstream.center.entries import Join, Leave
from gradstream.center.gate import Rounds
from gradstream.center.members import Members
from gradstream.gate import Gate


def test_the_slowest_is_the_lowest_clock_whatever_happens() -> None:
    chance = random.Random(1)
    for _ in range(30):
        members, incarnations = Members(6), dict.fromkeys(range(6), -1)
        members.load({"clocks": {rank: chance.randrange(5) for rank in range(6) if chance.random() < 0.5}, "positions": {}})
        for _ in range(300):
            rank = chance.randrange(6)
            if rank in members and chance.random() < 0.9:
                members.tick(rank)
            elif rank in members:
                members.leave(Leave(rank, incarnations[rank], "lost"))
            else:
                incarnations[rank] += 1
                members.join(Join(rank, incarnations[rank]))
            assert members.slowest() == min((member.clock for member in members.values()), default=0)


def test_a_round_closes_when_nobody_of_its_cohort_is_missing() -> None:
    chance = random.Random(2)
    for quorum in (None, 2):
        gate, members = Rounds(Gate(mode="bsp", quorum=quorum, cohort=0.7)), set(range(8))
        closed = 0
        for _ in range(4000):
            rank = chance.randrange(8)
            if chance.random() < 0.1:
                members ^= {rank}
            elif rank in members and rank in gate.cohort:
                gate.pending.setdefault(rank, object())  # type: ignore[arg-type]
            pushed, cohort = list(gate.pending), set(gate.cohort)
            counting = gate.closes(members)
            complete = not (cohort & members) - set(pushed)
            full = quorum is not None and len(pushed) >= quorum
            assert counting == (pushed[:quorum] if pushed and (complete or full) else None)
            if counting:
                closed += 1
                gate.open(members)
        assert closed > 100
