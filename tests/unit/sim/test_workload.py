"""Job files in the simulator: real models, real data, random numbers of each worker's own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from torch.nn import functional

from gradstream import jobfile, sim
from gradstream.input import randomness
from gradstream.sim.times.costs import Costs
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec
from tests.unit.same import difference

DIGITS = Path("examples/digits")

DROPOUT = """
import torch
from torch import nn
from torch.utils.data import TensorDataset
from gradstream import Workload

class Noisy(Workload):
    def model(self):
        return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))

    def dataset(self, split):
        x = torch.arange(240.0).view(60, 4).sin()
        return TensorDataset(x, (x.sum(1) > 0).long())

    def loss(self, model, batch):
        return nn.functional.cross_entropy(model(batch[0]), batch[1])
"""


def digits(*overrides: str) -> tuple[JobSpec, Workloads]:
    spec = jobfile.load(DIGITS / "job.yaml", ["roles.worker.device=cpu", *overrides])
    return spec, Workloads(spec, DIGITS)


def noisy(folder: Path, strategy: str) -> tuple[JobSpec, Workloads]:
    (folder / "noisy_dropout.py").write_text(DROPOUT)
    sys.modules.pop("noisy_dropout", None)
    text = f"name: d\nworkload: {{entrypoint: 'noisy_dropout:Noisy'}}\nstrategy: {strategy}\nroles: {{worker: {{count: 3}}}}\n"
    spec = jobfile.load(text + "batch_size: 5\nstop: {steps: 40}\n")
    return spec, Workloads(spec, folder)


def test_one_worker_is_plain_sgd() -> None:
    """The same examples in the same order, by code that shares none with the product."""
    spec, workloads = digits("strategy={name: async, lr: 0.1}", "roles.worker.count=1", "stop={steps: 60}")
    run = sim.run(spec, workloads, costs=Costs(speeds="lognormal:0.3"))
    sys.path.insert(0, str(DIGITS.resolve()))
    from digits import Digits  # type: ignore[import-not-found]

    torch.manual_seed(spec.seed)
    model, data = Digits(hidden=256).model(), Digits(hidden=256).dataset("train")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        order = torch.randperm(len(data), generator=torch.Generator().manual_seed(spec.seed * 1_000_003 + epoch))
        for chosen in order.split(32)[: 60 - 47 * epoch]:
            images, labels = data[chosen]
            optimizer.zero_grad()
            functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
    assert torch.allclose(run.center, torch.cat([p.detach().reshape(-1) for p in model.parameters()]), atol=1e-6)


@pytest.mark.more
def test_digits_are_learned_by_eight_workers() -> None:
    spec, workloads = digits("roles.worker.count=8", "strategy={name: async, lr: 0.05}", "stop={epochs: 12}")
    scores = []
    costs = Costs(speeds="lognormal:0.3", latency=0.05, bandwidth=1e6)
    run = sim.run(spec, workloads, costs=costs, watch=lambda view: scores.append(workloads.evaluate(view)), watch_every=6000)
    assert scores[-1]["accuracy"] > 0.93
    assert scores[-1]["loss"] < scores[0]["loss"]
    assert run.samples == workloads.total_samples() == 12 * 1497


@pytest.mark.few(1)
@pytest.mark.parametrize("strategy", ["{name: async, lr: 0.05}", "{name: sync, lr: 0.05}", "{name: easgd, lr: 0.05}"])
def test_dropout_of_a_worker_is_its_own_and_resumes_exactly(tmp_path: Path, strategy: str) -> None:
    spec, workloads = noisy(tmp_path, strategy)
    costs = Costs(speeds="lognormal:0.5", latency=0.1)
    whole = sim.run(spec, workloads, costs=costs, checkpoints={9})
    torch.manual_seed(12345)
    rest = sim.run(spec, workloads, costs=costs, resume=whole.checkpoints[9])
    assert difference(whole.shards, rest.shards) is None
    shuffled = sim.run(spec, workloads, costs=Costs(speeds="1,2,4"))
    assert shuffled.losses[0][0] == whole.losses[0][0], "whoever else draws"


def test_the_generators_of_this_process_stay_as_they_were(tmp_path: Path) -> None:
    spec, workloads = noisy(tmp_path, "{name: async, lr: 0.05}")
    torch.manual_seed(3)
    before = randomness.state()
    sim.run(spec, workloads, costs=Costs())
    assert difference(before, randomness.state()) is None


def test_workers_draw_what_their_processes_on_the_platform_draw(tmp_path: Path) -> None:
    spec, workloads = noisy(tmp_path, "{name: async, lr: 0.05}")
    drawn = []
    for rank in range(3):
        problem = workloads(spec, rank)
        drawn.append(problem.gradient(0).g.clone())
        assert torch.equal(drawn[-1], workloads(spec, rank).gradient(0).g)
    assert not torch.equal(drawn[0], drawn[1])


def test_scores_of_a_center_bring_its_buffers(tmp_path: Path) -> None:
    spec, workloads = noisy(tmp_path, "{name: async, lr: 0.05}")
    views: list[dict[str, float]] = []
    sim.run(spec, workloads, costs=Costs(), watch=lambda view: views.append(workloads.evaluate(view)), watch_every=150)
    assert views[-1] != views[0]
    assert set(views[0]) == {"loss", "accuracy"}
