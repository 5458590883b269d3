"""Laws of `group: {tensor: t}`, with real processes: it computes what one process computes, but for the rounding of sums."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import time
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from gradstream import Workload, sim
from gradstream.errors import InvalidWorkload
from gradstream.group.peers import PeerLost
from gradstream.group.tensor import exchange
from gradstream.group.tensor.linear import widths_of
from gradstream.group.tensor.plan import plan_of
from gradstream.input import randomness
from gradstream.input.data import Batches
from gradstream.model.computing.scaled import problem_of
from gradstream.model.flat_model import FlatModel
from gradstream.model.usercode import UserCode, blaming
from gradstream.optim.flat import FlatOptimizer
from gradstream.optim.spec import Adam
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec
from gradstream.workload import Split
from tests import nets
from tests.nets import CPU
from tests.unit.group.conftest import GroupProblems, kill_peer

WIDTH, HEADS, EXAMPLES = 12, 6, 28


class Attention(nn.Module):
    """Heads, which are split between two of them, and the norm of each head, whose weight all heads share."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.norm, self.dropout = nn.LayerNorm(WIDTH // HEADS), dropout

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for part in (self.q(x), self.k(x), self.v(x)))
        drop = self.dropout if self.training else 0.0
        mixed = nn.functional.scaled_dot_product_attention(self.norm(q), k, v, dropout_p=drop)
        return self.out(mixed.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]


class Block(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention, self.up, self.down = Attention(dropout), nn.Linear(WIDTH, 4 * WIDTH + 1), nn.Linear(4 * WIDTH + 1, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.before(x))
        return x + self.down(nn.functional.gelu(self.up(self.between(x))))  # type: ignore[no-any-return]


class Language(nn.Module):
    """Its embedding is its head, too."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.words, self.blocks = nn.Embedding(17, WIDTH), nn.ModuleList(Block(dropout) for _ in range(2))
        self.head = nn.Linear(WIDTH, 17, bias=False)
        nn.init.normal_(self.words.weight, std=0.2)
        self.head.weight = self.words.weight

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)  # type: ignore[no-any-return]


class Images(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 13), nn.ReLU(), nn.Linear(13, 3)
        )


class Tied(nets.Tied):
    """Two layers with one weight, and a frozen one; a layer that is no linear one, and one output that no process shares."""

    def __init__(self) -> None:
        super().__init__()
        self.scores = nn.Bilinear(3, 3, 3)
        self.factor = nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = super().forward(x)
        return self.scores(y, y) * self.factor(y).exp()  # type: ignore[no-any-return]


PAIRS = {"blocks.*.attention.[qkv]": "colwise", "blocks.*.out": "rowwise", "*.up": "colwise", "*.down": "rowwise"}
PLAN = {**PAIRS, "head": "colwise_gather_output", "*.attention.norm": "replicated_with_grad_allreduce"}


class Parted(Workload):
    kind: str
    dropout: float = 0.0
    plan: dict[str, str] | None = None
    double: bool = True

    def model(self) -> nn.Module:
        kinds = {
            "mlp": lambda: nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 4), nn.Tanh(), nn.Linear(4, 3)),
            "in_place": lambda: nn.Sequential(
                nn.Linear(5, 7), nn.ReLU(inplace=True), nn.Linear(7, 4, bias=False), nn.ReLU(inplace=True), nn.Linear(4, 3)
            ),
            "images": Images,
            "tied": Tied,
            "language": lambda: Language(self.dropout),
            "dropped": lambda: nn.Sequential(nn.Linear(5, 7), nn.Dropout(), nn.Linear(7, 3), nn.Dropout(0.1)),
        }
        model: nn.Module = kinds[self.kind]()
        return model.double() if self.double else model

    def tensor_plan(self) -> dict[str, str] | None:
        return self.plan

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        return list(getattr(model, "blocks", model.children()))

    def dataset(self, split: Split) -> TensorDataset:
        x = torch.randn(EXAMPLES, 5, generator=torch.Generator().manual_seed(3))
        x = x.double() if self.double else x
        if self.kind == "images":
            return TensorDataset(x.repeat(1, 8)[:, :36].view(-1, 1, 6, 6), x[:, :3].argmax(1))
        if self.kind == "language":
            ids = (x * 3).long() % 17
            return TensorDataset(ids, ids.roll(1, 1))
        return TensorDataset(x, x[:, :3].argmax(1))

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        return nn.functional.cross_entropy(model(batch[0]).flatten(0, -2), batch[1].flatten())


SYNC = {"name": "sync", "lr": 0.1}


def job(args: dict[str, Any], group: Any, strategy: dict[str, Any] = SYNC, **more: Any) -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": "tensor",
            "workload": {"entrypoint": f"{__name__}:Parted", "args": args},
            "batch_size": 8,
            "strategy": strategy,
            "stop": {"epochs": 2},
            "roles": {"worker": {"count": 2, "group": group, "device": "cpu"}},
            **more,
        }
    )


KINDS: list[dict[str, Any]] = [
    {"kind": "mlp"},
    {"kind": "mlp", "plan": {"0": "colwise", "2": "rowwise"}},
    {"kind": "mlp", "plan": {"2": "rowwise"}},
    {"kind": "images"},
    {"kind": "tied"},
    {"kind": "language"},
    {"kind": "language", "plan": PLAN},
]


def named(args: dict[str, Any]) -> str:
    return args["kind"] + ("-planned" if "plan" in args else "")


def check_same(group: Any, args: dict[str, Any], grouped: GroupProblems, **more: Any) -> None:
    split, whole = sim.run(job(args, group, **more), grouped), sim.run(job(args, 1, **more), nets.problem)
    assert split.center.dtype == torch.float64
    torch.testing.assert_close(split.center, whole.center, rtol=1e-12, atol=1e-12)


@pytest.mark.few(2)
@pytest.mark.parametrize("tensor", [2, 3])
@pytest.mark.parametrize("args", KINDS, ids=named)
def test_a_group_computes_what_one_process_computes(args: dict[str, Any], tensor: int, grouped: GroupProblems) -> None:
    """Widths of 13, 7, 4 and 3 over three: one process has fewer columns, or none."""
    check_same({"tensor": tensor}, args, grouped)


@pytest.mark.parametrize("plan", [None, {"0": "colwise", "2": "rowwise"}], ids=["gathered", "planned"])
def test_the_output_of_a_split_layer_may_be_changed_in_place(plan: dict[str, str] | None, grouped: GroupProblems) -> None:
    check_same({"tensor": 2}, {"kind": "in_place", "plan": plan}, grouped)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("strategy", "more"),
    [
        ({"name": "async", "lr": 0.01}, {"accumulate": 2, "optimizer": {"name": "sgd", "momentum": 0.9}}),
        ({"name": "local_sgd", "lr": 0.01, "window": 2}, {"optimizer": {"name": "sgd", "momentum": 0.9}, "members": 2}),
        ({"name": "diloco", "lr": 0.1, "window": 2}, {"recompute": "blocks"}),
        ({"name": "easgd", "lr": 0.1, "window": 2}, {"codec": {"name": "int8"}}),
    ],
    ids=lambda given: given.get("name", ""),
)
def test_every_strategy_works_between_groups(strategy: dict[str, Any], more: dict[str, Any], grouped: GroupProblems) -> None:
    check_same({"tensor": 2}, {"kind": "language", "plan": PLAN}, grouped, strategy=strategy, **more)


@pytest.mark.few(1)
@pytest.mark.parametrize("args", [{"kind": "language", "plan": PLAN}, {"kind": "images"}], ids=named)
def test_replicates_of_split_models_compute_what_replicates_compute(args: dict[str, Any], grouped: GroupProblems) -> None:
    """Also the statistics of BatchNorm, and the state that a checkpoint has of each replicate."""
    split, whole = (grouped(job(args, group), 0) for group in ({"replicate": 2, "tensor": 2}, 2))
    for position in range(3):
        one, other = split.gradient(position), whole.gradient(position)
        torch.testing.assert_close(one.g, other.g, rtol=1e-12, atol=1e-12)
        assert one.loss == pytest.approx(other.loss, rel=1e-12)
    ours, theirs = split.buffers(), whole.buffers()
    if ours and theirs:
        torch.testing.assert_close(ours.floats, theirs.floats, rtol=1e-12, atol=1e-12)
        assert torch.equal(ours.ints, theirs.ints)
    assert len(split.state()["peers"]) == len(whole.state()["peers"]) == 1


@pytest.mark.few(1)
@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("args", [{"kind": "language", "plan": PLAN}, {"kind": "tied"}, {"kind": "images"}], ids=named)
def test_one_gradient_for_all_replicates_is_the_sum_of_theirs(
    args: dict[str, Any], accumulate: int, grouped: GroupProblems
) -> None:
    """Three parts of 8 examples. The last mini-batch has fewer examples, and so has each part."""
    shared, apart = (grouped(job(args, {axis: 3, "tensor": 2}, accumulate=accumulate), 0) for axis in ("fsdp", "replicate"))
    for position in range(4):
        one, other = shared.gradient(position), apart.gradient(position)
        if accumulate == 1 and args["kind"] == "images":  # no parameter is split and whole
            assert torch.equal(one.g, other.g)
        torch.testing.assert_close(one.g, other.g, rtol=1e-12, atol=1e-12)
        assert one.loss == pytest.approx(other.loss, rel=1e-12)


@pytest.mark.few(1)
@pytest.mark.parametrize("group", [{"fsdp": 2, "tensor": 2}, {"fsdp": 3, "tensor": 2}, {"fsdp": 2, "tensor": 3}], ids=str)
@pytest.mark.parametrize(
    ("strategy", "more"),
    [
        ({"name": "diloco", "lr": 0.1, "window": 2}, {"optimizer": {"name": "adam"}, "members": 2}),
        (
            {"name": "local_sgd", "lr": 0.01, "window": 2},
            {"optimizer": {"name": "sgd", "momentum": 0.9, "clip_norm": 0.1}},
        ),
        ({"name": "easgd", "lr": 0.1, "window": 2}, {"optimizer": {"name": "lamb"}, "recompute": "blocks"}),
    ],
    ids=lambda given: given.get("name", ""),
)
def test_split_models_share_out_the_optimizer(
    group: dict[str, int], strategy: dict[str, Any], more: dict[str, Any], grouped: GroupProblems
) -> None:
    """Adam makes a step of rounding alone where the gradient is 0, as that of the bias of keys is: up to 1e-9 here."""
    split = sim.run(job({"kind": "language", "plan": PLAN}, group, strategy, **more), grouped)
    whole = sim.run(job({"kind": "language", "plan": PLAN}, group["fsdp"], strategy, **more), grouped)
    torch.testing.assert_close(split.center, whole.center, rtol=1e-9, atol=1e-8)


@pytest.mark.more
@pytest.mark.parametrize("after", [{"fsdp": 2}, {"replicate": 2, "tensor": 2}, {"fsdp": 2, "tensor": 3}], ids=str)
def test_a_shared_optimizer_resumes_in_a_group_of_another_shape(after: dict[str, int], grouped: GroupProblems) -> None:
    """Up to the steps that Adam makes of rounding alone: BatchNorm leaves the bias before it without a gradient."""

    def resumed(group: dict[str, int]) -> Tensor:
        first, then = (job({"kind": "images"}, g, strategy, optimizer={"name": "adam"}) for g in ({"fsdp": 2, "tensor": 2}, group))
        return sim.run(then, grouped, resume=sim.run(first, grouped, checkpoints=[1]).checkpoints[1]).center

    strategy = {"name": "local_sgd", "lr": 0.01, "window": 2}
    torch.testing.assert_close(resumed(after), resumed({"fsdp": 2, "tensor": 2}), rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("tensor", [2, 3])
def test_dropout_of_whole_columns_is_that_of_one_process(tensor: int, grouped: GroupProblems) -> None:
    args = {"kind": "dropped"}
    found = []
    for make, group in ((grouped, {"tensor": tensor}), (nets.problem, 1)):
        randomness.seed(1)
        problem = make(job(args, group), 0)
        found.append([(each.loss, each.g.clone()) for each in map(problem.gradient, range(3))])
    for (loss, g), (other_loss, other_g) in zip(*found, strict=True):
        assert loss == pytest.approx(other_loss, rel=1e-12)
        torch.testing.assert_close(g, other_g, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("recompute", ["none", "blocks"])
def test_dropout_between_split_layers_is_repeated_and_differs_between_peers(recompute: str, grouped: GroupProblems) -> None:
    """The processes go on alike after it, or they would find losses that differ."""
    args = {"kind": "language", "plan": PLAN, "dropout": 0.5}
    found = []
    for _ in range(2):
        randomness.seed(1)
        problem = grouped(job(args, {"tensor": 2}, recompute=recompute), 0)
        found.append([(each.loss, each.g.clone()) for each in map(problem.gradient, range(3))])
    assert all(one[0] == other[0] and torch.equal(one[1], other[1]) for one, other in zip(*found, strict=True))
    assert found[0][0][0] != found[0][1][0]


@pytest.mark.few(1)
@pytest.mark.parametrize("args", [{"kind": "images"}, {"kind": "dropped"}], ids=named)
@pytest.mark.parametrize(
    ("before", "after"), [({"tensor": 2}, 1), (1, {"tensor": 3}), ({"tensor": 3}, {"tensor": 2}), ({"tensor": 2}, 2)], ids=str
)
def test_a_checkpoint_resumes_in_another_group(args: dict[str, Any], before: Any, after: Any, grouped: GroupProblems) -> None:
    """Its random numbers are those of one process. A replicate beside the first one begins with its own."""

    def make(spec: JobSpec, rank: int) -> Any:
        return grouped(spec, rank) if spec.roles.worker.group.peers > 1 else nets.problem(spec, rank)

    def resumed(first: Any, then: Any) -> Tensor:
        randomness.seed(1)
        one = {"worker": {"count": 1, "device": "cpu"}}
        jobs = [job(args, 1, roles={"worker": {**one["worker"], "group": group}}) for group in (first, then)]
        checkpoint = sim.run(jobs[0], make, checkpoints=[2]).checkpoints[2]
        randomness.seed(2)
        return sim.run(jobs[1], make, resume=checkpoint).center

    then = after if after == 2 else 1
    torch.testing.assert_close(resumed(before, after), resumed(1, then), rtol=1e-12, atol=1e-12)


def test_long_tensors_go_in_turns(monkeypatch: pytest.MonkeyPatch, grouped: GroupProblems) -> None:
    """A slot has less than a row, or some rows."""
    for slot in (64, 256):
        monkeypatch.setattr(exchange, "SLOT_BYTES", slot)
        for args in ({"kind": "mlp"}, {"kind": "language", "plan": PLAN}):
            spec = job(
                args, {"tensor": 3}, roles={"worker": {"count": 1, "group": {"tensor": 3}, "device": "cpu"}}, stop={"steps": 2}
            )
            one = job(args, 1, roles={"worker": {"count": 1}}, stop={"steps": 2})
            split, whole = sim.run(spec, grouped), sim.run(one, nets.problem)
            torch.testing.assert_close(split.center, whole.center, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_narrow_numbers_are_as_exact_as_those_of_one_process(precision: str, grouped: GroupProblems) -> None:
    """Sums are taken in float32, also of 16 bits. One loss scale is that of the group, and overflows in the same mini-batches."""
    args = {"kind": "language", "plan": PLAN, "double": False}
    spec = job(args, 1, precision=precision)
    code = UserCode(spec)
    whole = problem_of(code, FlatModel(code.model(), CPU), Batches(code.dataset("train"), spec, 0), spec)
    split, exact = grouped(job(args, {"tensor": 2}, precision=precision), 0), nets.problem(job({**args, "double": True}, 1), 0)
    exact.theta.copy_(whole.theta)
    for position in range(4):
        mine, theirs, right = (each.gradient(position).g for each in (split, whole, exact))
        assert bool(mine.isfinite().all()) == bool(theirs.isfinite().all())
    assert (split.scale and split.scale.value) == (whole.scale and whole.scale.value)
    errors = [float((found - right).norm() / right.norm()) for found in (mine, theirs)]
    assert errors[0] < 1.5 * errors[1]
    assert errors[0] < {"fp32": 2e-6, "bf16": 0.1, "fp16": 0.01}[precision]


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_a_trained_model_is_not_taken_for_another(precision: str, grouped: GroupProblems) -> None:
    """Its loss is small, so the rounding of a split in 16 bits is a large part of it. A resumed job is compared anew."""
    args = {"kind": "language", "plan": PLAN, "double": False}
    alone = nets.problem(job(args, 1, precision=precision), 0)
    optimizer = FlatOptimizer(alone.theta, Adam(), 0.02)
    for position in range(120):
        found = alone.gradient(position)
        if found.g.isfinite().all():
            optimizer.step(found.g)
    group = grouped(job(args, {"tensor": 2}, precision=precision), 0)
    group.theta.copy_(alone.theta)
    assert group.gradient(0).loss == pytest.approx(alone.gradient(0).loss, rel=0.5, abs=1e-4)


class Dying(Parted):
    """In the second mini-batch, the first peer ends before or while the lead waits for it, as `dropout` says."""

    calls = 0

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        self.calls += model.training
        if self.calls > 1 and multiprocessing.current_process().name == "peer-1":
            time.sleep(0.3 - self.dropout)
            os.kill(os.getpid(), signal.SIGKILL)
        if self.calls > 1:
            time.sleep(self.dropout)
        return super().loss(model, batch)


@pytest.mark.few(2)
@pytest.mark.parametrize("rests", [0.0, 0.3])
@pytest.mark.parametrize("group", [{"tensor": 3}, {"replicate": 2, "tensor": 2}, {"fsdp": 2, "tensor": 2}], ids=str)
def test_a_peer_that_ends_within_a_mini_batch_ends_the_group(group: dict[str, int], rests: float, grouped: GroupProblems) -> None:
    args = {"kind": "mlp", "dropout": rests}
    problem = grouped(job(args, group, workload={"entrypoint": f"{__name__}:Dying", "args": args}), 0)
    problem.gradient(0)
    with pytest.raises(PeerLost, match=r"^peer 1 of worker-0 has ended \(killed by signal 9\), and with it the whole worker$"):
        problem.gradient(1)


def test_a_peer_that_is_killed_between_mini_batches_ends_the_group(grouped: GroupProblems) -> None:
    problem = grouped(job({"kind": "mlp"}, {"tensor": 3}), 0)
    problem.gradient(0)
    kill_peer("worker-0/1")
    with pytest.raises(PeerLost, match=r"^peer 1 of worker-0 has ended \(killed by signal 9\), and with it the whole worker$"):
        problem.gradient(1)


def refused(make: Any) -> str:
    with pytest.raises(UserError) as caught:
        make()
    assert isinstance(caught.value.__cause__, InvalidWorkload)
    return str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({"blocks.*.atention.q": "colwise"}, "the model has no module 'blocks.*.atention.q'; did you mean 'blocks.1.attention.q'?"),
        ({"head": "columnwise"}, "'head' has the style 'columnwise'; did you mean 'colwise'?"),
        ({"words": "colwise"}, "words is of type Embedding, which cannot be split; name modules of type nn.Linear"),
        ({"*.up": "colwise", "blocks.0.*": "colwise"}, "both '*.up' and 'blocks.0.*' match blocks.0.up; let one of them do so"),
        (["head"], "tensor_plan() must return a dict of styles by names of modules, not a list"),
    ],
    ids=str,
)
def test_a_plan_that_fits_no_model_is_refused(plan: Any, said: str) -> None:
    assert said in refused(lambda: plan_of_code(plan))


def plan_of_code(plan: Any) -> None:
    with blaming("tensor_plan()"):
        plan_of(Language(0.0), plan, 2)


def test_what_has_less_than_there_are_processes_is_refused() -> None:
    with pytest.raises(InvalidWorkload, match=r"2 has 3 outputs, too few for 4 processes; lower it, or leave it out$"):
        plan_of(nn.Sequential(nn.Linear(3, 9), nn.ReLU(), nn.Linear(9, 3)), {"2": "colwise"}, 4)
    with pytest.raises(InvalidWorkload, match=r"no nn.Linear with at least 2 outputs, so nothing can be split; take group: 2"):
        plan_of(nn.Conv2d(1, 4, 3), None, 2)
    with pytest.raises(InvalidWorkload, match="first and second have one weight, and it cannot be split colwise and rowwise"):
        plan_of(nets.Tied(), {"first": "colwise", "second": "rowwise"}, 2)


@pytest.mark.parametrize(
    ("plan", "tensor", "said"),
    [
        (
            {"*.up": "colwise"},
            2,
            "the model fails when its modules are split, and not as a whole: .* see that each colwise module leads",
        ),
        ({**PAIRS, "*.down": "colwise"}, 2, "the model fails when its modules are split"),
        (PAIRS, 5, "no split goes through a head"),
        ({**PAIRS, "*.norm": "replicated_with_grad_allreduce"}, 2, ""),
        (
            PAIRS,
            2,
            r"another gradient of the parameter blocks.0.attention.norm.weight: .* the style replicated_with_grad_allreduce",
        ),
    ],
    ids=["alone", "twice", "through heads", "right", "shared by heads"],
)
def test_a_plan_that_computes_something_else_is_refused(plan: Any, tensor: int, said: str, grouped: GroupProblems) -> None:
    problem = grouped(job({"kind": "language", "plan": plan}, {"tensor": tensor}), 0)
    if said:
        assert re.search(said, refused(lambda: problem.gradient(0)))
    else:
        problem.gradient(0)


class Drawing(Parted):
    """Its loss goes by the process that computes it, from the second mini-batch on."""

    calls = 0

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        self.calls += model.training
        if self.kind == "mlp":
            factor = os.getpid() if self.calls > 1 else 1
            return super().loss(model, batch) * factor
        return super().loss(model, (batch[0], batch[1])) + (super().loss(model, batch) if self.calls > 1 and is_lead() else 0.0)


def is_lead() -> bool:
    return multiprocessing.parent_process() is None


@pytest.mark.parametrize(
    ("kind", "said"), [("mlp", "computed losses that differ"), ("tied", "came to different places of loss()")], ids=str
)
def test_processes_that_go_different_ways_are_found_out(kind: str, said: str, grouped: GroupProblems) -> None:
    problem = grouped(job({"kind": kind}, {"tensor": 2}, workload={"entrypoint": f"{__name__}:Drawing", "args": {"kind": kind}}), 0)
    problem.gradient(0)
    assert said in refused(lambda: problem.gradient(1))


def test_a_job_that_compiles_what_is_split_is_refused() -> None:
    with pytest.raises(ValidationError, match="torch compiles a module as a whole"):
        job({"kind": "mlp"}, 1, roles={"worker": {"group": {"tensor": 2}}}, compile=True)


@pytest.mark.parametrize(
    ("size", "count", "widths"),
    [(7, 2, [4, 3]), (7, 3, [3, 3, 1]), (4, 3, [2, 2, 0]), (10, 4, [3, 3, 3, 1]), (9, 6, [2, 2, 2, 2, 1, 0])],
)
def test_widths_are_those_of_torch(size: int, count: int, widths: list[int]) -> None:
    assert widths_of(size, count) == widths
    assert [len(part) for part in torch.arange(size).chunk(count)] == [width for width in widths if width]
