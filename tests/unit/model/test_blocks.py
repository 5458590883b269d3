"""`recompute: blocks`: less memory, and the bits of the plain run with dropout, BatchNorm and spectral norm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import spectral_norm
from torch.utils.data import TensorDataset

from gradstream import local_run, sim
from gradstream import nn as gnn
from gradstream.errors import InvalidWorkload
from gradstream.model.computing.blocks import check_blocks, find_blocks, recompute
from gradstream.model.usercode import UserCode
from gradstream.process.exits import UserError
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec
from gradstream.workload import Workload

HERE = Path(__file__).parent


class Block(nn.Module):
    def __init__(self, normed: bool) -> None:
        super().__init__()
        self.linear = spectral_norm(nn.Linear(6, 6)) if normed else nn.Linear(6, 6)
        self.norm, self.dropout = nn.BatchNorm1d(6), nn.Dropout(0.3)

    def forward(self, x: Tensor, *, scale: float) -> Tensor:
        return x + scale * self.dropout(self.norm(self.linear(x)).relu())


class Counting(nn.Module):
    """Its output depends on how often it was called, which stands in no state_dict."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 6)
        self.register_buffer("calls", torch.zeros(()), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return self.linear(x).tanh() * self.calls


class Deep(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(normed=False) for _ in range(3)])
        self.head = nn.Sequential(nn.Linear(6, 2))

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x, scale=0.5)
        return self.head(x)  # type: ignore[no-any-return]


class Layers(Workload):
    def model(self) -> nn.Module:
        return Deep()

    def dataset(self, split: str) -> TensorDataset:
        x = torch.arange(240.0).view(40, 6).sin()
        return TensorDataset(x, (x.sum(1) > 0).long())

    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        return nn.functional.cross_entropy(model(batch[0]), batch[1])


class Astray(Layers):
    def blocks(self, model: nn.Module) -> list[nn.Module]:
        return [nn.Linear(2, 2)]


class Generated(Layers):
    def blocks(self, model: nn.Module) -> Any:
        return (block for block in model.blocks)  # type: ignore[operator]


def spec(kind: str = "Layers", **fields: Any) -> JobSpec:
    given = {
        "name": "layers",
        "workload": {"entrypoint": f"{__name__}:{kind}"},
        "strategy": {"name": "adag", "lr": 0.05, "window": 2},
        "gate": "bsp",
        "roles": {"worker": {"count": 2}},
        "batch_size": 5,
        "stop": {"epochs": 3},
    }
    return JobSpec.model_validate(given | fields)


@pytest.mark.few(2)
@pytest.mark.parametrize("fields", [{}, {"precision": "bf16"}, {"members": 2}, {"accumulate": 2}], ids=str)
def test_a_job_that_recomputes_has_the_bits_of_one_that_does_not(fields: dict[str, Any]) -> None:
    found = []
    for chosen in ("none", "blocks"):
        job = spec(recompute=chosen, **fields)
        workloads = Workloads(job, HERE)
        scores: list[dict[str, float]] = []
        run = sim.run(job, workloads, watch=lambda view, w=workloads, s=scores: s.append(w.evaluate(view)), watch_every=40)
        found.append((run.center, scores))
    assert torch.equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]
    assert len(found[0][1]) >= 2


def test_run_local_has_the_same_scores() -> None:
    plain, again = (list(local_run.train(spec(recompute=chosen), HERE))[-1].evaluation for chosen in ("none", "blocks"))
    assert plain == again


def test_buffers_that_are_not_persistent_move_once_too() -> None:
    found = []
    for recomputes in (False, True):
        torch.manual_seed(1)
        model = nn.Sequential(Counting(), Counting())
        if recomputes:
            for block in model:
                recompute(block)
        for _ in range(2):
            model(torch.ones(3, 6)).square().sum().backward()
        found.append([*(p.grad for p in model.parameters()), *(buffer for _, buffer in model.named_buffers())])
    assert all(map(torch.equal, *found))
    assert found[1][-1] == 2


def test_buffers_that_a_forward_moves_move_once_and_the_repetition_sees_the_old_ones() -> None:
    found = []
    for recomputes in (False, True):
        torch.manual_seed(1)
        model = nn.Sequential(Block(normed=True), Block(normed=True))
        if recomputes:
            for block in model:
                recompute(block)
        x = torch.arange(24.0).view(4, 6).cos()
        for _ in range(2):
            y = model[1](model[0](x, scale=0.5), scale=2.0)
            y.square().mean().backward()
        found.append([p.grad for p in model.parameters()] + list(model.buffers()))
    assert all(torch.equal(plain, again) for plain, again in zip(*found, strict=True))
    assert found[0][-1].item() == 2, "mini-batches that BatchNorm has seen"


def test_less_is_kept_until_backward() -> None:
    kept = []
    for recomputes in (False, True):
        model = Deep()
        for block in find_blocks(model) if recomputes else []:
            recompute(block)
        sizes = 0

        def pack(tensor: Tensor) -> Tensor:
            nonlocal sizes
            sizes += tensor.nbytes
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            model(torch.ones(500, 6))
        kept.append(sizes)
    assert kept[1] < kept[0] / 3


def test_names_stay() -> None:
    plain, again = (UserCode(spec(recompute=chosen)).model() for chosen in ("none", "blocks"))
    assert list(plain.state_dict()) == list(again.state_dict())
    assert [name for name, _ in plain.named_modules()] == [name for name, _ in again.named_modules()]


def test_blocks_are_found() -> None:
    transformers = pytest.importorskip("transformers")  # an extra
    config = transformers.LlamaConfig(
        vocab_size=4, hidden_size=8, intermediate_size=8, num_hidden_layers=3, num_attention_heads=2, max_position_embeddings=8
    )
    model = transformers.LlamaForCausalLM(config)
    assert find_blocks(model) == list(model.model.layers)
    deep = Deep()
    assert find_blocks(deep) == list(deep.blocks)
    for without in (nn.Linear(2, 2), nn.TransformerEncoderLayer(4, 1)):
        with pytest.raises(InvalidWorkload, match=r"has no ModuleList or Sequential.*override blocks\(model\)"):
            find_blocks(without)


def test_blocks_may_come_from_a_generator() -> None:
    code = UserCode(spec("Generated", recompute="blocks"))
    model = code.model()
    assert code.blocks(model) == list(model.blocks)  # type: ignore[arg-type]
    assert all("forward" in vars(block) for block in model.blocks), "each is computed again"  # type: ignore[union-attr]


def test_blocks_that_are_not_of_the_model_are_refused() -> None:
    with pytest.raises(UserError, match=r"blocks\(\)") as raised:
        UserCode(spec("Astray", recompute="blocks")).model()
    assert "gives a Linear, and the model has no such module" in str(raised.value.__cause__)
    tabled = nn.Sequential(nn.Sequential(gnn.Embedding("ids", 4)))
    with pytest.raises(InvalidWorkload, match=r"a Sequential has an embedding table.*override blocks\(model\)"):
        check_blocks(find_blocks(tabled), tabled)
    model = Deep()
    with pytest.raises(InvalidWorkload, match="gives a str, and the model has no such module"):
        check_blocks(["blocks.0"], model)  # type: ignore[list-item]
    with pytest.raises(InvalidWorkload, match=r"blocks\(\) gives none"):
        check_blocks([], model)
    with pytest.raises(InvalidWorkload, match="a BatchNorm1d that stands in another block"):
        check_blocks([model.blocks[0], model.blocks[0].norm], model)  # type: ignore[list-item]
