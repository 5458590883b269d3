"""Known answers: 40 events of Hermans' toy, round-robin, from (3, 4) with a rate of 0.01 in float64.

They were computed once by ten lines of numpy that share nothing with this code.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from gradstream import sim
from gradstream.cli.main import app
from gradstream.sim.toys import Toy, job
from gradstream.spec import JobSpec
from gradstream.strategies import STRATEGIES
from gradstream.strategies.base import ServerSide, WorkerSide
from gradstream.strategies.easgd import Easgd

GOLDEN = [
    ("async", {}, None, 1, 40, (1.223385561279, 2.777685157328)),
    ("async", {}, None, 4, 40, (1.211972234475, 2.788713212442)),
    ("downpour", {"n_push": 5, "n_fetch": 5}, None, 1, 40, (1.008793973303, 2.991206026697)),
    ("downpour", {"n_push": 5, "n_fetch": 5}, None, 4, 40, (3.634220258242, 5.633170008768)),
    ("adag", {"window": 5}, None, 1, 40, (1.237005466501, 2.776814893697)),
    ("adag", {"window": 5}, None, 4, 40, (1.219513530089, 2.780645292109)),
    ("async", {}, {"max_staleness": 2}, 1, 40, (1.223385561279, 2.777685157328)),
    ("async", {}, {"max_staleness": 2}, 4, 20, (1.338842033963, 2.676602895603)),
    ("sync", {}, None, 1, 40, (1.223385561279, 2.777685157328)),
    ("sync", {}, None, 4, 10, (1.614708450448, 2.797635643560)),
    ("single", {"window": 5}, None, 1, 40, (1.008793973303, 2.991206026697)),
    ("dynsgd", {"window": 1}, None, 1, 40, (1.223385561279, 2.777685157328)),
    ("dynsgd", {"window": 1}, None, 4, 40, (1.529432358180, 2.731588348298)),
    ("dynsgd", {"window": 5}, None, 1, 40, (1.008793973303, 2.991206026697)),
    ("dynsgd", {"window": 5}, None, 4, 40, (1.154714597193, 2.845388420578)),
    ("dc_asgd", {}, None, 1, 40, (1.223385561279, 2.777685157328)),
    ("dc_asgd", {}, None, 4, 40, (1.246813471249, 2.751481388506)),
    ("easgd", {"window": 5, "alpha": 0.1}, None, 1, 40, (1.159281853307, 2.913019238292)),
    ("easgd", {"window": 5, "alpha": 0.1}, None, 4, 40, (1.344627099079, 2.790789503361)),
    ("eamsgd", {"window": 5, "alpha": 0.1, "lr": 0.002}, None, 1, 40, (1.078862374632, 2.977002012026)),
    ("eamsgd", {"window": 5, "alpha": 0.1, "lr": 0.002}, None, 4, 40, (1.218645157381, 2.867393980690)),
    ("geo", {"window": 5}, {"mode": "bsp"}, 1, 40, (1.008793973303, 2.991206026697)),
    ("geo", {"window": 5}, {"mode": "bsp"}, 4, 10, (0.941189300831, 3.054302134282)),
    ("geo", {"window": 5}, None, 4, 40, (0.872285315516, 3.035572715527)),
    ("distance", {"window": 5}, None, 1, 40, (1.008793973303, 2.991206026697)),
    ("distance", {"window": 5}, None, 4, 40, (1.176367776217, 2.825830568372)),
    ("local_sgd", {"window": 5}, None, 4, 10, (1.182158424126, 2.817988744039)),
    ("fedavg", {"epochs": 5}, None, 4, 10, (1.182158424126, 2.817988744039)),
    ("fedprox", {"epochs": 5, "mu": 0.5}, None, 4, 10, (1.184106021555, 2.816067431659)),
    ("delayed_diloco", {"window": 5, "k": 2}, None, 4, 20, (8.467191439159, 9.998639628321)),
    ("diloco", {"window": 5}, None, 4, 10, (0.814607759008, 3.178917202745)),
    ("fedavg", {"epochs": 5}, None, 1, 40, (1.008793973303, 2.991206026697)),
    ("fedprox", {"epochs": 5, "mu": 0}, None, 1, 40, (1.008793973303, 2.991206026697)),
    ("local_sgd", {"window": 5}, None, 1, 40, (1.008793973303, 2.991206026697)),
]
OTHER_EVENTS = [
    ("easgd", {"window": 1, "alpha": 0.1}, {"mode": "bsp"}, 4, 160, (1.279363311788, 2.734849566317)),
    ("geo", {"window": 5}, {"mode": "bsp"}, 1, 10, (1.182158424126, 2.817988744039)),
    ("diloco", {"window": 5}, None, 1, 10, (0.814607759008, 3.178917202745)),
    ("async", {}, None, 1, 200, (1.008793973303, 2.991206026697)),
]
"""The last number is that of the events."""


def run(name: str, settings: dict[str, Any], gate: dict[str, Any] | None, workers: int, shards: int) -> sim.Result:
    spec = job({"name": name, "lr": 0.01, **settings}, workers=workers, shards=shards, gate=gate)
    return sim.run(spec, Toy, events=40)


@pytest.mark.parametrize(("name", "settings", "gate", "workers", "version", "center"), GOLDEN)
def test_known_answers(
    name: str, settings: dict[str, Any], gate: dict[str, Any] | None, workers: int, version: int, center: tuple[float, float]
) -> None:
    one, two = (run(name, settings, gate, workers, shards) for shards in (1, 2))
    assert one.center.tolist() == pytest.approx(center, abs=1e-9, rel=0)
    assert (one.version, one.events) == (version, 40)
    assert torch.equal(one.center, two.center)
    assert one.decisions == two.decisions


@pytest.mark.parametrize(("name", "settings", "gate", "workers", "events", "center"), OTHER_EVENTS)
def test_known_answers_after_other_numbers_of_events(
    name: str, settings: dict[str, Any], gate: dict[str, Any] | None, workers: int, events: int, center: tuple[float, float]
) -> None:
    spec = job({"name": name, "lr": 0.01, **settings}, workers=workers, gate=gate)
    assert sim.run(spec, Toy, events=events).center.tolist() == pytest.approx(center, abs=1e-9, rel=0)


def test_known_answer_of_elastic_workers_that_start_apart() -> None:
    """Worker i at (3 + 0.1 i, 4 - 0.1 i), the center at (3, 4)."""

    class Apart(Easgd, frozen=True):
        def round(self, w: WorkerSide, ps: ServerSide) -> None:
            if w.t == 0:
                w.theta.add_(starts[w.theta.data_ptr()])
            super().round(w, ps)

    starts: dict[int, torch.Tensor] = {}
    kept = []

    def toy(spec: JobSpec, rank: int) -> Toy:
        made = Toy(spec, rank)
        kept.append(made)
        starts[made.theta.data_ptr()] = torch.tensor([0.1, -0.1], dtype=torch.float64) * rank
        return made

    spec = job({"name": "easgd", "lr": 0.01, "window": 1, "alpha": 0.1}, workers=4, gate="bsp")
    run = sim.run(spec.model_copy(update={"strategy": Apart(lr=0.01, window=1, alpha=0.1)}), toy, events=160)
    assert run.center.tolist() == pytest.approx((1.344169517813, 2.670043360292), abs=1e-9, rel=0)


@pytest.mark.few(10)
@pytest.mark.parametrize(("name", "settings", "gate", "workers", "version", "center"), GOLDEN)
def test_known_answers_from_the_command_line(
    name: str, settings: dict[str, Any], gate: dict[str, Any] | None, workers: int, version: int, center: tuple[float, float]
) -> None:
    chosen = [f"--set={key}={value}" for key, value in {"lr": 0.01, **settings}.items()] + (
        [f"--gate={json.dumps(gate)}"] if gate else []
    )
    arguments = ["--problem=toy", f"--strategy={name}", f"--workers={workers}", "--events=40", "--schedule=round-robin", "--json"]
    done = CliRunner().invoke(app, ["sim", *arguments, *chosen])
    assert done.exit_code == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["center"] == pytest.approx(center, abs=1e-9, rel=0)
    assert facts["version"] == version


def test_every_strategy_has_a_known_answer() -> None:
    """A new one may come without: the skip says what is missing, and fails nothing."""
    known = {name for name, *_ in GOLDEN}
    assert known <= set(STRATEGIES)
    if missing := sorted(set(STRATEGIES) - known):
        pytest.skip(f"no line in GOLDEN for {', '.join(missing)}: compute an answer independently of this code, and add it")
