"""Every strategy under every gate that it says it is meant for, with its default settings (windows made small); and with rounds
that overlap (`pipeline`), where that can be."""

from __future__ import annotations

from typing import Any

import pytest

from gradstream.sim.toys import job
from gradstream.spec import JobSpec
from gradstream.strategies import STRATEGIES
from gradstream.strategies.base import Strategy

GATES: dict[str, list[dict[str, Any]]] = {
    "asp": [{"mode": "asp"}, {"mode": "asp", "max_staleness": 3}, {"mode": "asp", "warm_start": 700}],
    "ssp": [{"mode": "ssp", "bound": 0}, {"mode": "ssp", "bound": 2}],
    "bsp": [
        {"mode": "bsp"},
        {"mode": "bsp", "quorum": 3},
        {"mode": "bsp", "cohort": 0.5},
        {"mode": "bsp", "quorum": 2, "cohort": 0.75},
    ],
}
SMALL_WINDOW = 3


def small(cls: type[Strategy]) -> dict[str, Any]:
    """Its settings: the defaults, but no window longer than a test can wait for."""
    defaults = cls.model_construct().model_dump()
    return {key: min(value, SMALL_WINDOW) if type(value) is int else value for key, value in defaults.items()} | {"lr": 0.006}


def as_id(value: Any) -> str:
    return value if isinstance(value, str) else " ".join(str(part) for part in value.values())


OVERLAPPING = {"mode": "asp", "pipeline": 1}
CASES = [(name, gate) for name, cls in STRATEGIES.items() for mode in sorted(cls.gates) for gate in GATES[mode]]
CASES += [(name, OVERLAPPING) for name, cls in STRATEGIES.items() if "asp" in cls.gates and cls.pulls_every_round]
SEEN_TOGETHER = [{"mode": "asp", "max_staleness": 3}, {"mode": "bsp", "quorum": 3}, {"mode": "bsp", "cohort": 0.5}]
"""Gates that `make test` leaves out: their options stand together in another one, and in the tests with every option."""

every_case = pytest.mark.parametrize(
    ("name", "gate"),
    [pytest.param(*case, marks=pytest.mark.long if case[1] in SEEN_TOGETHER else ()) for case in CASES],
    ids=as_id,
)


def workers(name: str) -> int:
    return STRATEGIES[name].workers or 4


def spec(name: str, gate: dict[str, Any], **more: Any) -> JobSpec:
    gate, pipeline = {key: value for key, value in gate.items() if key != "pipeline"}, gate.get("pipeline", 0)
    return job(small(STRATEGIES[name]), workers=workers(name), gate=gate, on_worker_loss="continue", pipeline=pipeline, **more)
