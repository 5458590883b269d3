"""`compile: true`: torch's own compiler, compared to the plain run and to itself, and a machine without a C++ compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._dynamo.utils import counters
from torch.utils.data import TensorDataset

from gradstream import local_run, sim
from gradstream import nn as gnn
from gradstream.advise.measure import measure
from gradstream.errors import InvalidWorkload
from gradstream.input.data import Batches
from gradstream.model.computing.blocks import recompute
from gradstream.model.computing.compiled import _check_device, _is_own, compile_forward
from gradstream.model.computing.scaled import problem_of
from gradstream.model.flat_model import FlatModel
from gradstream.model.usercode import UserCode
from gradstream.process.exits import UserError
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec
from gradstream.workload import Workload

HERE = Path(__file__).parent
needs_compiler = pytest.mark.skipif(
    not shutil.which(os.environ.get("CXX", "g++")), reason="torch.compile needs a C++ compiler, and this machine has no g++"
)


@pytest.fixture(autouse=True, scope="module")
def code_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where torch keeps what it compiles in these tests."""
    folder = tmp_path_factory.mktemp("compiled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def nothing_is_compiled_yet() -> None:
    torch._dynamo.reset()
    counters.clear()


class Block(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.linear, self.norm, self.dropout = nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Dropout(dropout)

    def forward(self, x: Tensor, *, scale: float) -> Tensor:
        return x + scale * self.dropout(self.norm(self.linear(x)).relu())


class Deep(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(dropout) for _ in range(2)])
        self.head = nn.Sequential(nn.Linear(6, 2))

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x, scale=0.5)
        return self.head(x)  # type: ignore[no-any-return]


class Layers(Workload):
    dropout: float = 0.0

    def model(self) -> nn.Module:
        return Deep(self.dropout)

    def dataset(self, split: str) -> TensorDataset:
        x = torch.arange(288.0).view(48, 6).sin()
        return TensorDataset(x, (x.sum(1) > 0).long())

    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        return nn.functional.cross_entropy(model(batch[0]), batch[1])


class WithTable(Layers):
    """Rows of a table before a dense part."""

    def model(self) -> nn.Module:
        class Model(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.rows, self.deep = gnn.Embedding("ids", 6), Deep(0.0)

            def forward(self, x: Tensor) -> Tensor:
                return self.deep(self.rows((x[:, 0] * 10).long()) + x)  # type: ignore[no-any-return]

        return Model()


def spec(kind: str = "Layers", **fields: Any) -> JobSpec:
    given = {
        "name": "layers",
        "workload": {"entrypoint": f"{__name__}:{kind}", "args": fields.pop("args", {})},
        "strategy": {"name": "adag", "lr": 0.05, "window": 2},
        "gate": "bsp",
        "roles": {"worker": {"count": 2, "device": "cpu"}},
        "batch_size": 5,
        "stop": {"epochs": 3},
    }
    return JobSpec.model_validate(given | fields)


def simulated(job: JobSpec) -> tuple[Tensor, list[dict[str, float]]]:
    """The center, and what it scores on the way."""
    workloads, scores = Workloads(job, HERE), list[dict[str, float]]()
    run = sim.run(job, workloads, watch=lambda view: scores.append(workloads.evaluate(view)), watch_every=40)
    return run.center, scores


@pytest.mark.more
@needs_compiler
@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("Layers", {}),
        pytest.param("Layers", {"recompute": "blocks", "precision": "bf16", "members": 2}, marks=pytest.mark.long),
        pytest.param("WithTable", {"tables": {"ids": {}}}, marks=pytest.mark.long),
    ],
    ids=["plain", "recomputed", "table"],
)
def test_compiled_and_plain_runs_agree(kind: str, fields: dict[str, Any]) -> None:
    """The last mini-batch of a pass is smaller, so two shapes are compiled; the center moves between vectors."""
    (plain, seen), (center, scores) = (simulated(spec(kind, compile=chosen, **fields)) for chosen in (False, True))
    assert counters["stats"]["unique_graphs"] >= 3, "training in two shapes, and evaluation"
    tolerance = 0.01 if "precision" in fields else 1e-5
    assert (center - plain).norm() < tolerance * plain.norm()
    assert len(seen) == len(scores) >= 2
    for one, other in zip(seen, scores, strict=True):
        assert other == pytest.approx(one, rel=10 * tolerance)


@pytest.mark.more
@needs_compiler
def test_a_process_that_resumes_has_the_bits_of_one_that_went_on() -> None:
    """With dropout and BatchNorm. The second one begins with the mini-batch whose shape the first one sees last."""
    job = spec(compile=True, args={"dropout": 0.3})

    def problem() -> Any:
        torch._dynamo.reset()
        code = UserCode(job)
        flat = FlatModel(code.model(), torch.device("cpu"))
        return problem_of(code, flat, Batches(code.dataset("train"), job, 0, code.batching), job)

    first = problem()
    torch.manual_seed(1)
    sizes = []
    for t in range(8):
        if t == 4:
            state, theta = first.state(), first.theta.clone()
        taken = first.gradient(t)
        sizes.append(taken.examples)
        first.theta.sub_(taken.g, alpha=0.1)
    assert (sizes[4], set(sizes[:4])) == (4, {5})
    second = problem()
    second.theta.copy_(theta)
    second.load(state)
    for t in range(4, 8):
        second.theta.sub_(second.gradient(t).g, alpha=0.1)
    assert torch.equal(first.theta, second.theta)
    assert not torch.equal(first.theta, theta)


@pytest.mark.more
@needs_compiler
def test_blocks_that_compute_again_draw_the_same_random_numbers() -> None:
    found = []
    for again in (False, True):
        torch.manual_seed(1)
        block = Block(0.3)
        compile_forward(block)
        if again:
            recompute(block)
        torch.manual_seed(2)
        x = torch.arange(24.0).view(4, 6).cos()
        for _ in range(2):
            block(x, scale=2.0).square().mean().backward()
        found.append([p.grad for p in block.parameters()] + list(block.buffers()))
    assert all(torch.equal(plain, repeated) for plain, repeated in zip(*found, strict=True))
    assert found[1][-1].item() == 2, "mini-batches that BatchNorm has seen"


@pytest.mark.more
@needs_compiler
def test_run_local_compiles(code_folder: Path) -> None:
    plain, compiled = (list(local_run.train(spec(compile=chosen), HERE))[-1].evaluation for chosen in (False, True))
    assert compiled == pytest.approx(plain, rel=1e-4)
    assert counters["stats"]["unique_graphs"] >= 3
    assert list(code_folder.rglob("*.so")), "the code lies where the environment says"


@pytest.mark.more
@needs_compiler
def test_names_stay_and_a_model_that_is_compiled_already_stays_as_it_is() -> None:
    plain, compiled = (UserCode(spec(compile=chosen)).model() for chosen in (False, True))
    assert list(plain.state_dict()) == list(compiled.state_dict())
    assert [name for name, _ in plain.named_modules()] == [name for name, _ in compiled.named_modules()]
    own = torch.compile(nn.Linear(2, 2), backend="eager")
    forward = own.forward
    compile_forward(own)
    assert own.forward == forward


@needs_compiler
def test_advice_measures_the_plain_model() -> None:
    """Its curvature is a second derivative, which compiled code has none of."""
    assert measure(spec(compile=True), HERE).curvature == measure(spec(), HERE).curvature


def test_compiled_headers_lie_in_a_folder_of_this_account_only(tmp_path: Path) -> None:
    others, linked, new = tmp_path / "others", tmp_path / "linked", tmp_path / "new"
    others.mkdir()
    others.chmod(0o777)
    linked.symlink_to(tmp_path)
    assert [_is_own(folder) for folder in (others, linked, new, new, tmp_path / "no" / "where")] == [
        False,
        False,
        True,
        True,
        False,
    ]
    assert new.stat().st_mode & 0o777 == 0o700


def print_errors() -> None:
    """The errors of the check before training, and of a part that torch cannot compile."""
    try:
        UserCode(spec(compile=True)).model()
    except UserError as error:
        sys.stdout.write(f"{error.__cause__}\n")
    model = nn.Sequential(nn.ReLU())
    compile_forward(model)
    try:
        model(torch.ones(2))
    except InvalidWorkload as error:
        sys.stdout.write(f"{error}\n")


@pytest.mark.more
def test_a_machine_without_a_compiler_is_told_of_before_training(tmp_path: Path) -> None:
    """In a process of its own: torch looks for its compiler once."""
    program = f"from {__name__} import print_errors; print_errors()"
    environment = os.environ | {"CXX": "/nowhere/g++", "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    before, at_first = done.stdout.splitlines()
    assert before.startswith("compile: torch needs a C++ compiler (g++) to compile for cpu, and cannot use one on this machine: ")
    assert before.endswith("; install it there, set CXX in env to its path, or remove compile")
    assert at_first.startswith("compile: torch cannot compile the Sequential: ")
    assert at_first.endswith("; put torch.compiler.disable around the part that it names, or remove compile")


@pytest.mark.more
@pytest.mark.skipif(torch.cuda.is_available(), reason="torch may compile for the GPU of this machine")
def test_a_machine_that_cannot_compile_for_gpus_is_told_of_the_c_compiler() -> None:
    with pytest.raises(InvalidWorkload, match=r"^compile: torch needs Triton and a C compiler .* set CC in env to its path"):
        _check_device("cuda")
