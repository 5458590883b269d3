"""How many shards `auto` comes to."""

from __future__ import annotations

from typing import Any

import pytest

from gradstream.spec import JobSpec
from gradstream.spec.shard_count import MAX_AUTO_SHARDS, Host, choose

MB = 1_000_000


def spec(**changes: Any) -> JobSpec:
    job = {"name": "job", "workload": {"entrypoint": "work:Work"}, "strategy": {"name": "async"}, "stop": {"steps": 1}}
    return JobSpec.model_validate({**job, **changes})


def shards(megabytes: float, *hosts: Host, **changes: Any) -> int:
    return choose(spec(**changes), int(megabytes * MB), hosts or (Host(64, 2),)).shards


def test_a_small_model_has_one_and_larger_ones_have_more() -> None:
    found = [shards(megabytes) for megabytes in (0.001, 0.1, 4, 20, 80, 400, 4000)]
    assert found[:2] == [1, 1]
    assert found == sorted(found), "more bytes, never fewer shards"
    assert found[4] > found[3] > 1
    assert found[-1] <= MAX_AUTO_SHARDS


def test_never_more_than_there_are_cores_beside_the_workers() -> None:
    assert shards(400, Host(2, 2)) == 1, "a full machine"
    assert shards(400, Host(2, 8)) == 1
    assert shards(400, Host(4, 2)) == 2
    assert shards(400, Host(8, 2), roles={"worker": {"count": 2, "threads": 3}}) == 2, "a worker takes its threads"
    assert shards(400, Host(8, 2), roles={"worker": {"count": 2, "hogwild": 3}}, strategy={"name": "adag"}) == 2


def test_what_the_machine_does_not_allow_is_said() -> None:
    choice = choose(spec(), 400 * MB, [Host(4, 2)])
    assert choice.reason.startswith("2 shards, where ")
    assert "2 of 4 cores are left beside the workers" in choice.reason


def test_the_reason_has_the_numbers_that_it_rests_on() -> None:
    choice = choose(spec(), 80 * MB, [Host(64, 2)])
    assert choice.reason.startswith(f"{choice.shards} shards: the center has 80 MB, which keep one shard busy for 28 ms")
    small = choose(spec(), MB // 100, [Host(64, 2)])
    assert small.reason.startswith("1 shard: the center has 0.01 MB")


def test_state_of_the_servers_optimizer_and_vectors_through_redis_take_more_of_them() -> None:
    plain = shards(8)
    assert shards(8, optimizer={"name": "adam"}) > plain
    assert shards(8, Host(64, 1), Host(64, 1)) > plain


def test_an_optimizer_of_the_workers_costs_the_servers_nothing() -> None:
    assert shards(8, strategy={"name": "adag"}, optimizer={"name": "adam"}) == shards(8, strategy={"name": "adag"})


@pytest.mark.parametrize("megabytes", [1, 10, 100])
def test_momentum_counts_where_there_is_some(megabytes: int) -> None:
    assert shards(megabytes, optimizer={"name": "sgd", "momentum": 0.9}) >= shards(megabytes, optimizer={"name": "sgd"})


def test_a_parameter_that_no_cut_may_go_through_bounds_what_more_shards_are_worth() -> None:
    def count(largest: float, name: str) -> int:
        return choose(spec(optimizer={"name": name}), 80 * MB, [Host(64, 2)], largest).shards

    assert count(0.5, "lars") == 2 < count(0.1, "lars") <= count(0.0, "lars")
    assert count(0.5, "sgd") == count(0.0, "sgd"), "it works element by element"
