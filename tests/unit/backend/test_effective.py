"""Jobs that do the same have the same effective values, however their job files say it; jobs that differ do not."""

from __future__ import annotations

from typing import Any

import pytest

from backend.overview.effective import effective_values
from gradstream.spec import JobSpec
from gradstream.strategies import STRATEGIES


def roles(workers: int = 3, **server: Any) -> dict[str, Any]:
    return {"roles": {"worker": {"count": workers}, "server": server}}


def job(strategy: str = "adag", /, **changes: Any) -> JobSpec:
    given = {
        "name": "j",
        "workload": {"entrypoint": "a:B"},
        "strategy": {"name": strategy},
        "stop": {"epochs": 1},
        **roles(),
    }
    return JobSpec.model_validate({**given, **changes})


def values(spec: JobSpec, **defaults: Any) -> dict[str, Any]:
    return effective_values(spec, defaults)


def differences(one: Any, other: Any, path: str = "") -> dict[str, tuple[Any, Any]]:
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return {} if one == other else {path: (one, other)}
    found: dict[str, tuple[Any, Any]] = {}
    for key in {**one, **other}:
        found |= differences(one.get(key), other.get(key), f"{path}.{key}".strip("."))
    return found


def test_sync_and_async_differ_in_their_gate_and_what_follows_from_it() -> None:
    """The gate of one is named, that of the other is its strategy's own; neither names a bound or a cohort."""
    assert differences(values(job("sync")), values(job("async", gate="asp"))) == {
        "strategy.name": ("sync", "async"),
        "gate.mode": ("bsp", "asp"),
        "on_worker_loss": ("restart", "continue"),
    }


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("asp", {"mode": "asp"}),
        ("bsp", {"mode": "bsp"}),
        ({"mode": "bsp", "quorum": 1}, {"mode": "bsp", "quorum": 1}),
        ({"mode": "bsp", "cohort": 0.5}, {"mode": "bsp", "cohort": 0.5}),
        ("ssp", {"mode": "ssp", "bound": 3}),
        ({"ssp": 0}, {"mode": "ssp", "bound": 0}),
        ({"mode": "asp", "max_staleness": 1}, {"mode": "asp", "max_staleness": 1}),
    ],
)
def test_a_gate_has_the_options_that_shape_it(given: Any, found: dict[str, Any]) -> None:
    assert values(job(gate=given))["gate"] == found


NESTEROV = {"name": "sgd", "lr": 0.7, "momentum": 0.9, "nesterov": True}


@pytest.mark.parametrize(
    ("strategy", "silent", "spoken"),
    [
        ("adag", {}, {"gate": "asp"}),
        ("sync", {}, {"gate": "bsp", "on_worker_loss": "restart"}),
        ("adag", {}, {"on_worker_loss": "continue"}),
        ("adag", {}, roles(optimizer={"name": "sgd", "lr": 1})),
        ("diloco", {}, roles(optimizer=NESTEROV)),
        ("adag", {"strategy": {"name": "adag", "lr": 0.2}}, {"optimizer": {"name": "sgd", "lr": 0.2}}),
        ("downpour", {}, {"optimizer": {"name": "sgd", "lr": 0.05}}),
        ("easgd", {}, {"strategy": {"name": "easgd", "alpha": 0.3}}),
        ("eamsgd", {}, {"strategy": {"name": "eamsgd", "alpha": 0.3}}),
        ("delayed_diloco", {}, {"strategy": {"name": "delayed_diloco", "k": 3}}),
        ("adag", {"best": {"metric": "eval/loss"}}, {"best": {"metric": "eval/loss", "mode": "min"}}),
        ("adag", {}, {"workload": {"entrypoint": "a:B", "args": {"hidden": 32}}}),
    ],
)
def test_a_default_that_is_written_out_is_no_difference(strategy: str, silent: dict[str, Any], spoken: dict[str, Any]) -> None:
    one, other = job(strategy, **silent), job(strategy, **spoken)
    assert one != other
    assert differences(values(one, hidden=32), values(other, hidden=32)) == {}


def test_an_argument_is_compared_by_its_default_where_it_is_not_set() -> None:
    wide = job(workload={"entrypoint": "a:B", "args": {"hidden": 64}})
    assert differences(values(job(), hidden=32), values(wide, hidden=32)) == {"workload.args.hidden": (32, 64)}


def test_an_optimizer_is_there_for_each_side_that_steps_by_one() -> None:
    def sides(strategy: str) -> set[str]:
        found = values(job(strategy, **roles(STRATEGIES[strategy].workers or 3)))
        return {"optimizer" if "optimizer" in found else "", "server" if "optimizer" in found["roles"]["server"] else ""} - {""}

    assert [sides(name) for name in ("adag", "sync", "easgd", "eamsgd")] == [
        {"optimizer", "server"},
        {"optimizer"},
        {"optimizer"},
        set(),
    ]
    for name in STRATEGIES:
        assert ("optimizer" in sides(name)) == bool(STRATEGIES[name].optimizers)


def test_shards_are_those_that_auto_came_to() -> None:
    auto, fixed = job(**roles(count="auto")), job(**roles(count=2))
    assert values(auto)["roles"]["server"]["count"] == "auto"
    assert differences(values(auto.with_shards(2)), values(fixed)) == {}
