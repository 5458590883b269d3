"""Mini-batches dealt on demand, while everything goes wrong: see `dealt_crowd`."""

from __future__ import annotations

import os
from typing import Any

import pytest

from gradstream.center.dealing.dealer import DealCounts, Dealer
from gradstream.center.dealing.grants import grant_of, numbers_of
from gradstream.center.entries import FINAL_CHECKPOINT, ProtocolError
from gradstream.sim.toys import job
from gradstream.spec import JobSpec
from tests.unit.center.dealt_crowd import DealtCrowd

RUNS = int(os.environ.get("GRADSTREAM_FUZZ_RUNS", "12"))
"""For each kind of job. A night's worth: 10,000."""

JOBS: dict[str, tuple[dict[str, Any], Any, int]] = {
    "one gradient": ({"name": "async"}, "asp", 0),
    "overlapping rounds": ({"name": "async"}, "asp", 1),
    "windows": ({"name": "adag", "window": 5}, "asp", 0),
    "long windows": ({"name": "dynsgd", "window": 40}, "asp", 0),
    "windows, acknowledged": ({"name": "downpour", "n_push": 3}, "asp", 0),
    "ssp(0)": ({"name": "async"}, {"ssp": 0}, 0),
    "ssp(2), windows": ({"name": "adag", "window": 4}, {"ssp": 2}, 0),
    "ssp(1), acknowledged": ({"name": "downpour"}, {"ssp": 1}, 0),
    "max_staleness": ({"name": "adag", "window": 3}, {"max_staleness": 3}, 0),
    "warm start": ({"name": "async"}, {"mode": "asp", "warm_start": 25}, 0),
    "inside": ({"name": "easgd", "window": 3}, "asp", 0),
    "inside, for the center": ({"name": "geo", "window": 4}, "asp", 0),
    "inside, ssp(1)": ({"name": "eamsgd", "window": 2}, {"ssp": 1}, 0),
    "gathered": ({"name": "delayed_diloco", "window": 2}, {"ssp": 1}, 0),
}


def spec(name: str, workers: int = 4) -> JobSpec:
    strategy, gate, pipeline = JOBS[name]
    given = {"lr": 0.01, **strategy}
    more = {"on_worker_loss": "continue", "on_nan": "drop", "data": {"deal": "demand"}}
    return job(given, workers=workers, gate=gate, pipeline=pipeline, **more)


@pytest.mark.few(3)
@pytest.mark.parametrize("runs", [RUNS, pytest.param(10 * RUNS, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", JOBS)
def test_each_mini_batch_is_learned_once(name: str, runs: int) -> None:
    incarnations = again = resumed = 0
    for seed in range(runs):
        window = spec(name).strategy.steps_per_push() or 1
        crowd = DealtCrowd(spec(name), seed, pushes=60, planned=20 + window * 7 * (seed % 15))
        crowd.play()
        incarnations += sum(crowd.incarnations) + crowd.n
        again += len(crowd.granted) - len(set(crowd.granted))
        crowd.checkpoints.pop(FINAL_CHECKPOINT)
        if crowd.checkpoints:
            number = max(crowd.checkpoints)
            DealtCrowd(spec(name), seed, 30, crowd.planned, crowd.checkpoints[number], crowd.before[number]).play()
            resumed += 1
    assert incarnations > 4.5 * runs, "workers must die"
    assert again, "mini-batches of dead workers must be dealt again"
    assert resumed, "jobs must resume from checkpoints"


class TestDealer:
    def dealer(self, ahead: int, planned: int) -> Dealer:
        made = Dealer(ahead)
        made.planned = planned
        return made

    def join(self, dealer: Dealer, rank: int, live: int = 1) -> list[int]:
        dealer.join(rank)
        return numbers_of(dealer.grant(rank, 0, live))

    def test_a_push_brings_as_many_as_it_used_up(self) -> None:
        dealer = self.dealer(ahead=4, planned=100)
        assert self.join(dealer, 0) == [0, 1, 2, 3]
        assert dealer.push(0, 3) == [0, 1, 2]
        assert dealer.grant(0, 1, 1) == ((4, 3),)
        assert dealer.counts() == DealCounts(100, trained=3, dropped=0, outstanding=4, returned=0, left=93)

    def test_what_a_worker_leaves_is_dealt_first(self) -> None:
        dealer = self.dealer(ahead=3, planned=100)
        assert self.join(dealer, 0, 2) == [0, 1, 2]
        assert self.join(dealer, 1, 2) == [3, 4, 5]
        dealer.push(0, 1)
        dealer.take_back(0)
        assert dealer.counts().returned == 2
        dealer.push(1, 3)
        assert numbers_of(dealer.grant(1, 1, 1)) == [1, 2, 6]

    def test_the_next_incarnation_begins_with_new_numbers_and_a_resumed_one_with_its_own(self) -> None:
        dealer = self.dealer(ahead=2, planned=100)
        self.join(dealer, 0)
        dealer.push(0, 1)
        dealer.grant(0, 1, 1)
        resumed = Dealer(2)
        resumed.load(dealer.state())
        assert resumed.counts() == dealer.counts()
        assert self.join(resumed, 0) == [1, 2]
        assert self.join(resumed, 0) == [1, 2]
        assert resumed.counts().outstanding == 2

    def test_at_the_end_grants_are_shares_of_the_rest(self) -> None:
        """Rank 0 trains nine of ten mini-batches. The two end together, though rank 1 could hold 20."""
        dealer = self.dealer(ahead=20, planned=1000)
        held = {rank: len(self.join(dealer, rank, 2)) for rank in (0, 1)}
        trained = {0: 0, 1: 0}
        for time in range(1, 1000):
            for rank in (0, 1):
                if held[rank] and (rank == 0 or time % 9 == 0):
                    dealer.push(rank, 1)
                    trained[rank] += 1
                    held[rank] += len(numbers_of(dealer.grant(rank, time, 2))) - 1
            if not any(held.values()):
                break
        assert trained == {0: 900, 1: 100}
        assert dealer.counts() == DealCounts(1000, trained=1000, dropped=0, outstanding=0, returned=0, left=0)

    def test_values_that_are_not_finite_are_not_dealt_again_and_stale_ones_are(self) -> None:
        dealer = self.dealer(ahead=1, planned=10)
        self.join(dealer, 0)
        dealer.drop(dealer.push(0, 1), again=False)
        assert numbers_of(dealer.grant(0, 1, 1)) == [1]
        dealer.drop(dealer.push(0, 1), again=True)
        assert numbers_of(dealer.grant(0, 2, 1)) == [1]
        assert dealer.counts() == DealCounts(10, trained=0, dropped=1, outstanding=1, returned=0, left=8)

    def test_a_push_of_more_than_was_granted_is_a_bug(self) -> None:
        dealer = self.dealer(ahead=2, planned=10)
        self.join(dealer, 0)
        with pytest.raises(ProtocolError, match="worker 0 pushed 3 mini-batches, and was granted 2"):
            dealer.push(0, 3)

    def test_a_grant_can_be_sent_again(self) -> None:
        dealer = self.dealer(ahead=2, planned=10)
        self.join(dealer, 0)
        for seq in (1, 2):
            dealer.push(0, 1)
            dealer.grant(0, seq, 1)
        assert [dealer.granted_with(0, seq) for seq in (0, 1, 2)] == [((0, 2),), ((2, 1),), ((3, 1),)]
        dealer.join(0)
        assert dealer.granted_with(0, 2) == ()


@pytest.mark.parametrize("numbers", [[], [3], [0, 1, 2, 9, 4, 5], [5, 4, 3]])
def test_grants_are_ranges_in_the_order_of_their_numbers(numbers: list[int]) -> None:
    assert numbers_of(grant_of(numbers)) == numbers
