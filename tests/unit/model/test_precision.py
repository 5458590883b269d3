"""`precision` of a job: autocast in loss and evaluate, parameters in float32, and the loss scale of float16."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from gradstream import jobfile, local_run, sim
from gradstream.errors import InvalidWorkload
from gradstream.evaluation.scoring import Scorer
from gradstream.input.data import Batches
from gradstream.model.computing.precision import FIRST_SCALE, GOOD_STEPS, LEAST_SCALE, LossScale
from gradstream.model.computing.scaled import ScaledProblem, problem_of
from gradstream.model.flat_model import FlatModel
from gradstream.model.usercode import UserCode
from gradstream.process.exits import UserError
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec
from gradstream.workload import Workload

HERE = Path(__file__).parent
DIGITS = Path("examples/digits")
SEEN: list[torch.dtype] = []


class Steep(Workload):
    """Each mini-batch of four has the loss of its first example, times a factor: a large one overflows in float16."""

    steep: list[int] = []  # noqa: RUF012
    dtype: str = "float32"
    classifies = False

    def model(self) -> nn.Module:
        return nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)).to(getattr(torch, self.dtype))

    def dataset(self, split: str) -> TensorDataset:
        x = torch.arange(120.0).view(40, 3).sin()
        factors = torch.ones(40)
        factors[[4 * batch + i for batch in self.steep for i in range(4)]] = 1e6
        return TensorDataset(x, (x.sum(1) > 0).long(), factors)

    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        scores = model(batch[0])
        SEEN.append(scores.dtype)
        return nn.functional.cross_entropy(scores, batch[1]) * batch[2].max()


def spec(strategy: str = "sync", **fields: Any) -> JobSpec:
    given = {
        "name": "steep",
        "workload": {"entrypoint": f"{__name__}:Steep", "args": fields.pop("args", {})},
        "strategy": {"name": strategy, "lr": 0.01},
        "roles": {"worker": {"count": 1}},
        "batch_size": 4,
        "stop": {"epochs": 1},
    }
    return JobSpec.model_validate(given | fields)


def problem(job: JobSpec) -> Any:
    code = UserCode(job)
    flat = FlatModel(code.model(), torch.device("cpu"))
    return problem_of(code, flat, Batches(code.dataset("train"), job, 0, code.batching), job)


def steep_positions(job: JobSpec) -> list[int]:
    """The mini-batches of one worker that have a large factor, as the data is shuffled."""
    batches = Batches(UserCode(job).dataset("train"), job, 0)
    return [t for t in range(batches.total) if batches.take(t, torch.device("cpu"))[0][2].max() > 1]


@pytest.mark.parametrize(("name", "dtype"), [("fp32", torch.float32), ("bf16", torch.bfloat16), ("fp16", torch.float16)])
def test_loss_and_evaluate_compute_in_this_dtype_and_parameters_keep_theirs(name: str, dtype: torch.dtype) -> None:
    job = spec(precision=name)
    SEEN.clear()
    reports = list(local_run.train(job, HERE))
    assert set(SEEN) == {dtype}
    assert reports[-1].samples == 40
    trained = problem(job)
    assert trained.gradient(0).g.dtype is trained.theta.dtype is torch.float32
    assert isinstance(trained, ScaledProblem) == (name == "fp16")


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["bf16", "fp16"])
def test_digits_are_learned_as_in_float32(name: str) -> None:
    losses = []
    for chosen in ("fp32", name):
        job = jobfile.load(DIGITS / "job.yaml", [f"precision={chosen}", "stop={epochs: 6}", "evaluate.every=1000"])
        losses.append(list(local_run.train(job, DIGITS))[-1].evaluation["loss"])
    assert losses[1] == pytest.approx(losses[0], rel=0.03)
    assert losses[0] < 0.4


def test_gradients_leave_unscaled() -> None:
    exact, scaled = problem(spec()), problem(spec(precision="fp16"))
    assert torch.allclose(scaled.gradient(0).g, exact.gradient(0).g, rtol=0.01, atol=1e-3)
    assert scaled.scale.value == FIRST_SCALE


def test_the_scale_is_halved_at_an_overflow_and_doubled_after_enough_good_steps() -> None:
    scale, p = LossScale(), nn.Parameter(torch.ones(2))
    for value, finite in ((float("inf"), False), (float("nan"), False), (1.0, True)):
        p.grad = torch.tensor([1.0, value])
        assert scale.unscale([p]) == finite
    assert (scale.value, scale.overflows) == (FIRST_SCALE / 4, 2)
    for _ in range(GOOD_STEPS - 1):
        assert scale.value == FIRST_SCALE / 4
        p.grad = torch.ones(2)
        scale.unscale([p])
    assert scale.value == FIRST_SCALE / 2
    assert p.grad is not None
    assert torch.equal(p.grad, torch.full((2,), 4 / FIRST_SCALE)), "divided by the scale that the loss had"


def test_the_scale_comes_back_after_any_number_of_overflows() -> None:
    """Its reciprocal is a number of float32, also after 1,000 mini-batches with labels that are none."""
    scale, p = LossScale(), nn.Parameter(torch.ones(2))
    for value in [float("nan")] * 1200 + [1.0] * GOOD_STEPS:
        p.grad = torch.full((2,), value)
        assert scale.unscale([p]) == (value == 1.0)
    assert scale.value == 2 * LEAST_SCALE


def test_a_sparse_gradient_is_unscaled_and_may_overflow() -> None:
    """As nn.Embedding(sparse=True) leaves it, with a row that was looked up twice."""
    scale, p = LossScale(), nn.Embedding(3, 2, sparse=True).weight
    for largest, finite in ((2.0, True), (float("inf"), False)):
        rows = torch.tensor([[1.0, 1.0], [3.0, 3.0], [largest, 1.0]]) * scale.value
        p.grad = torch.sparse_coo_tensor(torch.tensor([[0, 2, 2]]), rows, (3, 2), check_invariants=True)
        assert scale.unscale([p]) == finite
        assert torch.equal(p.grad.to_dense(), torch.tensor([[1.0, 1.0], [0.0, 0.0], [3.0 + largest, 4.0]]))


def test_a_server_drops_and_counts_overflowed_mini_batches() -> None:
    job = spec(precision="fp16", args={"steep": [2, 5, 7]})
    overflows = len(steep_positions(job))
    run = sim.run(job, Workloads(job, HERE))
    [account] = run.ledger.values()
    assert overflows >= 3
    assert account.dropped_not_finite == overflows
    assert account.applied == 10 - overflows
    assert bool(run.center.isfinite().all())


@pytest.mark.parametrize("optimizer", [{"name": "sgd"}, {"name": "sgd", "momentum": 0.9}, {"name": "adam"}])
def test_a_worker_that_descends_makes_no_step_at_an_overflow(optimizer: dict[str, Any]) -> None:
    """As if these mini-batches were not there: by plain torch, over the others."""
    job = spec("single", precision="fp16", args={"steep": [2, 5, 7]}, optimizer=optimizer)
    left_out = steep_positions(job)
    run = sim.run(job, Workloads(job, HERE))
    code = UserCode(job)
    model, batches = code.model(), Batches(code.dataset("train"), job, 0)
    own = job.optimizer.build(model.named_parameters(), lr=0.01)
    for t in range(10):
        if t not in left_out:
            own.zero_grad()
            code.loss(model, batches.take(t, torch.device("cpu"))[0]).backward()
            own.step()
    assert torch.allclose(run.center, torch.cat([p.detach().reshape(-1) for p in model.parameters()]), atol=2e-3)
    assert bool(run.center.isfinite().all())


def test_run_local_makes_no_step_at_an_overflow() -> None:
    job = spec("single", precision="fp16", args={"steep": list(range(10))}, optimizer={"name": "adam"})
    code = UserCode(job)
    untrained = Scorer(code, code.model(), code.dataset("eval"), job.evaluate.batch_size, torch.device("cpu")).score()
    assert list(local_run.train(job, HERE))[-1].evaluation == untrained
    assert list(local_run.train(job.model_copy(update={"precision": "fp32"}), HERE))[-1].evaluation != untrained


def test_a_checkpoint_of_a_worker_has_the_scale() -> None:
    job = spec(precision="fp16", args={"steep": list(range(10))})
    first, second = problem(job), problem(job)
    for t in range(3):
        first.gradient(t)
    second.load(first.state())
    assert (second.scale.value, second.scale.overflows) == (FIRST_SCALE / 8, 3)
    assert second.scale.state() == first.scale.state()


def test_a_model_of_another_dtype_is_refused() -> None:
    for name in ("bf16", "fp16"):
        with pytest.raises(UserError) as raised:
            UserCode(spec(precision=name, args={"dtype": "float64"})).model()
        said = f"precision: {name} computes with float32 parameters, and 0.weight is torch.float64; make it float32 in model()"
        assert said in str(raised.value.__cause__)
    assert UserCode(spec(args={"dtype": "float64"})).model()


def test_rows_of_tables_are_refused_in_float16() -> None:
    job = spec(precision="fp16")
    code = UserCode(job)
    flat = FlatModel(code.model(), torch.device("cpu"))
    batches = Batches(code.dataset("train"), job, 0, code.batching)
    with pytest.raises(InvalidWorkload, match=r"precision: fp16 scales the loss.*take bf16"):
        ScaledProblem(code, flat, batches, job, object(), LossScale())  # type: ignore[arg-type]
