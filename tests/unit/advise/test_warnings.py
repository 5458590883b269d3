"""Each warning where it is true, and none where it is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gradstream import jobfile
from gradstream.advise.limits import limit
from gradstream.advise.warnings import notes, warnings
from gradstream.sim.toys import job
from gradstream.spec import JobSpec
from gradstream.strategies import STRATEGIES
from tests.unit.advise.swings import growth

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*/job.yaml"))
HEAVY = {"name": "sgd", "momentum": 0.9}


def asp(**options: int) -> dict[str, Any]:
    return {"gate": {"mode": "asp", **options}}


CASES: list[tuple[JobSpec, str, str, str]] = [
    (job({"name": "async"}, workers=16), "/strategy/lr", "one process would stand 40, 20 times", "divide the rate"),
    (job({"name": "async"}, workers=16, optimizer={"name": "sgd", "lr": 0.1}), "/optimizer/lr", "less than 1.01", "dynsgd"),
    (job({"name": "downpour", "n_push": 5, "n_fetch": 5}, workers=8), "/strategy/lr", "windows of 5", "shorten the window"),
    (job({"name": "delayed_diloco"}, workers=8), "/strategy/lr", "8 workers", "{ssp: 0}"),
    (job({"name": "easgd", "alpha": 0.3}, workers=4, gate="bsp"), "/strategy/alpha", "n alpha = 1.2", "1/n = 0.25"),
    (job({"name": "easgd", "alpha": 0.5}, workers=4, gate="bsp"), "/strategy/alpha", "0.4 on nothing settles", "1/n = 0.25"),
    (job({"name": "async"}, workers=2, optimizer=HEAVY), "/optimizer/momentum", "the total is 1.4", "which uses 0.4"),
    (
        job({"name": "adag"}, workers=4, roles={"server": {"optimizer": {**HEAVY, "nesterov": True}}, "worker": {"count": 4}}),
        "/roles/server/optimizer/momentum",
        "momentum of 0.75",
        "set the momentum to 0.15",
    ),
    (job({"name": "delayed_diloco", "k": 1}, workers=2), "/strategy/k", "every 1 of 2 workers", "Leave k out"),
    (job({"name": "delayed_diloco"}, workers=4, pipeline=1), "/pipeline", "moves more than 14% of its way", "Remove pipeline"),
    (job({"name": "delayed_diloco"}, workers=2, pipeline=1, optimizer={"name": "adamw"}), "/pipeline", "momentum of 0.9", "0.7}"),
    (job({"name": "async"}, workers=8, **asp(max_staleness=2)), "/gate/max_staleness", "6 of every 8 pushes", "8 at least"),
    (job({"name": "sync"}, workers=4, gate={"mode": "bsp", "quorum": 2}), "/gate/quorum", "50% of the work", "3 of 4"),
    (job({"name": "adag"}, workers=4, gate={"ssp": 3}, data={"deal": "demand"}), "/data/deal", "3 rounds ahead", "Take gate: asp"),
    (job({"name": "adag", "window": 50}, workers=2, steps=20), "/strategy/window", "pushes once", "at most 2"),
    (job({"name": "downpour", "n_push": 50}, workers=2, steps=20), "/strategy/n_push", "pushes once", "at most 2"),
    (job({"name": "async"}, workers=2, steps=100, evaluate={"average": 0.001}), "/evaluate/average", "82% of the model", "uniform"),
    (job({"name": "async"}, workers=2, steps=100, **asp(warm_start=3200)), "/gate/warm_start", "one after the other", "128"),
    (
        job({"name": "sync"}, workers=2, steps=100, schedule={"name": "constant", "warmup": 9999}),
        "/schedule/warmup",
        "for 9,999 samples",
        "320 or less",
    ),
]


@pytest.mark.parametrize(("spec", "pointer", "message", "remedy"), CASES, ids=[f"{case[1]} {case[2]}" for case in CASES])
def test_says_where_what_and_what_to_do(spec: JobSpec, pointer: str, message: str, remedy: str) -> None:
    [found] = warnings(spec)
    assert found.pointer == pointer
    assert message in found.message
    assert remedy in found.remedy
    assert found.message.endswith(".")
    assert found.remedy.endswith(".")


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.parent.name for path in EXAMPLES])
def test_no_example_is_warned_of(path: Path) -> None:
    assert warnings(jobfile.load(path)) == []


@pytest.mark.parametrize(
    "spec",
    [
        *[job({"name": name}, workers=strategy.workers or 2) for name, strategy in STRATEGIES.items()],
        job({"name": "async"}, workers=2, optimizer={**HEAVY, "momentum_correction": True}),
        job({"name": "sync"}, workers=8, optimizer=HEAVY),
        job({"name": "easgd", "alpha": 0.9}, workers=4),
        job({"name": "async"}, workers=8, **asp(max_staleness=32)),
        job({"name": "sync"}, workers=100, gate={"mode": "bsp", "quorum": 96}),
        job({"name": "dynsgd"}, workers=1000),
        job({"name": "adag", "window": 50}, workers=2, steps=50),
        job({"name": "async"}, workers=2, steps=10_000, evaluate={"average": 0.001}, **asp(warm_start=1000)),
        job({"name": "local_sgd", "window": None}, workers=2, steps=10),
    ],
    ids=str,
)
def test_what_is_in_order_is_not_warned_of(spec: JobSpec) -> None:
    assert warnings(spec) == []


def test_the_rate_that_is_warned_of_diverges_where_one_process_settles() -> None:
    many, one = job({"name": "async"}, workers=16), job({"name": "async"}, workers=1)
    assert warnings(many)
    assert not warnings(one)
    assert growth(many, 4.0, 1600) > 1
    assert growth(one, 4.0, 100) < 1


@pytest.mark.more
def test_outer_steps_that_are_later_diverge_where_those_in_time_settle_and_the_remedy_does() -> None:
    diloco, curvature = {"name": "delayed_diloco", "window": 10, "lr": 0.05}, 0.8  # a round goes a third of its way
    in_time, late = job(diloco, workers=4), job(diloco, workers=4, pipeline=1)
    plain = job(diloco, workers=4, pipeline=1, roles={"server": {"optimizer": {"name": "sgd", "lr": 0.7}}, "worker": {"count": 4}})
    assert [found.pointer for found in warnings(late)] == ["/pipeline"]
    assert warnings(plain) == []
    assert "/pipeline" not in [found.pointer for found in warnings(in_time)]
    assert growth(late, curvature, 600) > 1
    assert growth(in_time, curvature, 600) < 1
    assert growth(plain, curvature, 600) < 1


def test_too_much_alpha_is_where_the_limit_is_0() -> None:
    assert limit(job({"name": "easgd", "alpha": 0.5}, workers=4, gate="bsp")) == 0


def test_an_alpha_near_0_is_no_division_by_0() -> None:
    spec = job({"name": "eamsgd", "window": 10**11, "alpha": 1e-300}, workers=2)
    assert limit(spec) == 0
    assert not [each for each in warnings(spec) if "one process would stand" in each.text]


def test_a_corrected_momentum_is_told() -> None:
    [note] = notes(job({"name": "async"}, workers=8, optimizer={**HEAVY, "momentum_correction": True}))
    assert note.pointer == "/optimizer/momentum_correction"
    assert "momentum of 0.025: 0.9, less the 0.875 that 8" in note.text
    assert notes(job({"name": "async"}, workers=8, optimizer=HEAVY)) == []


def test_needs_no_torch() -> None:
    told = "import sys, gradstream.advise.warnings; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", told], check=False, timeout=60).returncode == 0
