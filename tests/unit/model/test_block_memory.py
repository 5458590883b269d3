"""Blocks that have their parameters only while they compute; here the device is the CPU. They compute what a model computes that
keeps all of its parameters there, bit for bit, and two of them have memory at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm
from torch.utils.checkpoint import checkpoint

from gradstream.errors import InvalidWorkload
from gradstream.model.computing.block_memory import BlockMemory, parameters_of_blocks
from gradstream.model.computing.blocks import find_blocks, recompute
from gradstream.model.flat_model import FlatModel
from gradstream.model.guard import ParameterGuard, hook_watched
from tests.nets import CPU

WIDTH, BLOCKS = 6, 4


class Layer(nn.Module):
    """Two matrices, a norm, and parameters of one element. A mini-batch goes through it as `doing` says."""

    def __init__(self, doing: str) -> None:
        super().__init__()
        self.up, self.down, self.norm = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(3 * WIDTH, WIDTH), nn.BatchNorm1d(WIDTH)
        self.scale, self.factor = nn.Parameter(torch.ones(1)), nn.Parameter(torch.tensor(2.0))
        self.doing = doing
        if doing == "weight norm":
            self.up = weight_norm(self.up)
        if doing == "frozen":
            self.up.requires_grad_(False)
        if doing == "several dtypes":
            self.down.bfloat16()

    def forward(self, x: Any) -> Any:
        x = x["x"] if isinstance(x, dict) else x.value if isinstance(x, Box) else x
        if self.doing == "checkpoint inside":
            return x + checkpoint(self._inside, x, use_reentrant=False)
        if self.doing == "reentrant checkpoint inside":
            return x + checkpoint(self._inside, x, use_reentrant=True)
        found = x + self._inside(x)
        return (
            {"x": found, "more": (found.sum(), None, 3)} if self.doing == "dicts" else Box(found) if self.doing == "box" else found
        )

    def _inside(self, x: Tensor) -> Tensor:
        x = self.scale * x / self.factor
        return self.norm(self.down(self.up(x).tanh().to(self.down.weight.dtype)).to(x.dtype))  # type: ignore[no-any-return]


class Box:
    def __init__(self, value: Tensor) -> None:
        self.value = value


class Net(nn.Module):
    def __init__(self, doing: str = "") -> None:
        super().__init__()
        self.first = nn.Linear(5, WIDTH)
        self.layers = nn.ModuleList(Layer(doing) for _ in range(BLOCKS))
        self.last = nn.Linear(WIDTH, 3)
        if doing == "tied":
            self.layers[3].up.weight = self.layers[0].up.weight
            self.last.weight = nn.Parameter(self.layers[2].norm.weight.detach().expand(3, WIDTH).clone())
        self.doing = doing

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        layers = list(self.layers)
        if self.doing == "called twice":
            layers = [*layers, *layers[::-1], layers[1]]
        for layer in layers:
            if self.doing.startswith("checkpoint around"):
                hidden = checkpoint(layer, hidden, use_reentrant=False)
            elif self.doing.startswith("reentrant checkpoint around"):
                hidden = checkpoint(layer, hidden, use_reentrant=True)
            elif self.doing == "branches":
                hidden = hidden + layer(self.layers[0](hidden)) * self.layers[1](hidden)
            else:
                hidden = layer(hidden)
            if self.doing == "in place":
                hidden += 1
        hidden = hidden["x"] if isinstance(hidden, dict) else hidden.value if isinstance(hidden, Box) else hidden
        return self.last(hidden)  # type: ignore[no-any-return]


class Trained:
    """A model that copies theta to a device."""

    def __init__(self, doing: str, *, by_blocks: bool, narrow: bool = False) -> None:
        torch.manual_seed(3)
        self.model, self.narrow = Net(doing), narrow
        blocks = find_blocks(self.model)
        if doing == "recompute":
            for block in blocks:
                recompute(block)
        self.flat = FlatModel(self.model, CPU)
        self.flat.compute_on(CPU, blocks=[blocks] if by_blocks else [])
        self.peak = 0
        """Bytes of blocks."""

    @property
    def memory(self) -> BlockMemory:
        assert self.flat._copy is not None
        assert self.flat._copy._blocks is not None
        return self.flat._copy._blocks

    def filled(self) -> int:
        """Return the bytes of all blocks."""
        copies = [copy for block in set(self.memory._of_parameter.values()) for copy in block._copies]
        return sum(copy.there.untyped_storage().nbytes() for copy in copies)

    def step(self, number: int, loss: Callable[[nn.Module, Tensor], Tensor] | None = None) -> Tensor:
        """Return the gradient over two parts of a mini-batch, at a theta that has moved."""
        generator = torch.Generator().manual_seed(number)
        self.flat.theta.add_(torch.randn(len(self.flat.theta), generator=generator, dtype=self.flat.theta.dtype), alpha=0.01)
        self.flat.refresh()
        for _ in range(2):
            x = torch.randn(4, 5, generator=generator)
            with self.flat.watching(), torch.autocast("cpu", torch.bfloat16, enabled=self.narrow):
                value = loss(self.model, x) if loss else self.model(x).square().mean()
            value.backward()
        self.flat.free_blocks()
        return self.flat.gather_gradient().clone()

    def count(self) -> None:
        """Note the peak from now on: as each module computes, and as each gradient comes."""

        def look(*_: Any) -> None:
            self.peak = max(self.peak, self.filled())

        for module in self.model.modules():
            module.register_forward_pre_hook(look)
        for p in self.flat.trained:
            p.register_post_accumulate_grad_hook(look)  # type: ignore[no-untyped-call]


DOING = [
    "",
    "recompute",
    "called twice",
    "branches",
    "in place",
    "dicts",
    "tied",
    "frozen",
    "several dtypes",
    "weight norm",
    "checkpoint inside",
    "reentrant checkpoint inside",
    "checkpoint around",
    "reentrant checkpoint around",
]


@pytest.mark.parametrize("doing", DOING)
def test_the_bits_of_a_model_that_keeps_its_parameters(doing: str) -> None:
    whole, by_blocks = (Trained(doing, by_blocks=each) for each in (False, True))
    by_blocks.count()
    for number in range(3):
        assert torch.equal(by_blocks.step(number), whole.step(number))
    largest = max(
        sum(p.nbytes for p in own) for own in parameters_of_blocks(by_blocks.model, find_blocks(by_blocks.model)).values()
    )
    assert largest < by_blocks.peak <= 2 * (largest + 3 * 512), "and the places within a line"
    assert by_blocks.filled() == 0


@pytest.mark.parametrize("doing", ["", "recompute"])
def test_narrow_copies_give_the_same_bits(doing: str) -> None:
    whole, by_blocks = (Trained(doing, by_blocks=each, narrow=True) for each in (False, True))
    assert torch.equal(by_blocks.step(0), whole.step(0))


def test_evaluations_have_two_blocks_at_most() -> None:
    whole, by_blocks = (Trained("", by_blocks=each) for each in (False, True))
    by_blocks.count()
    x = torch.randn(4, 5)
    with torch.no_grad():
        for each in (whole, by_blocks):
            each.flat.refresh()
            each.model.eval()
        assert torch.equal(by_blocks.model(x), whole.model(x))
    assert 0 < by_blocks.peak <= 2 * (sum(p.nbytes for p in whole.model.layers[0].parameters()) + 512)
    by_blocks.flat.refresh()
    assert by_blocks.filled() == 0


PENALTIES: dict[str, Callable[[nn.Module], Any]] = {
    "sum of squares": lambda model: sum(p.square().sum() for p in model.parameters()),
    "stacked": lambda model: torch.stack([model.layers[0].norm.weight, model.layers[1].norm.weight]).sum(),
    "detached": lambda model: model.layers[2].up.weight.detach().norm(),
    "another block": lambda model: nn.functional.linear(torch.ones(WIDTH), weight=model.layers[3].up.weight).sum(),
    "a part of a block": lambda model: model.layers[1].norm(torch.ones(2, WIDTH)).sum(),
}


@pytest.mark.parametrize("name", PENALTIES)
def test_a_parameter_outside_of_its_block_is_refused(name: str) -> None:
    trained = Trained("", by_blocks=True)
    for number in range(2):
        with pytest.raises(InvalidWorkload, match=r"used a parameter of shape \(.*\) outside of its block"):
            trained.step(number, lambda model, x: model(x).square().mean() + PENALTIES[name](model))


def test_a_loss_may_ask_for_shapes_and_use_what_stands_outside_of_blocks() -> None:
    def loss(model: nn.Module, x: Tensor) -> Tensor:
        parameters = [p for p in model.parameters() if p.requires_grad and p.numel() and p.shape and p.is_leaf]
        weight = model.get_submodule("last").weight
        return model(x.to(parameters[-1].device)).square().mean() + weight.square().sum()  # type: ignore[union-attr, operator, no-any-return]

    whole, by_blocks = (Trained("", by_blocks=each) for each in (False, True))
    assert torch.equal(by_blocks.step(0, loss), whole.step(0, loss))


def test_a_block_whose_outputs_may_hide_a_gradient_is_refused() -> None:
    with pytest.raises(InvalidWorkload, match="a block gives a Box"):
        Trained("box", by_blocks=True).step(0)


def test_a_hook_reads_all_parameters_and_computes_with_them() -> None:
    trained = Trained("", by_blocks=True)
    guard = ParameterGuard(trained.model)
    trained.flat.theta.normal_()
    expected = None
    for _ in range(2):
        with hook_watched(guard, trained.flat), torch.no_grad():
            found = torch.cat([p.reshape(-1) for p in trained.flat.trained])
            outputs = trained.model.eval()(torch.ones(4, 5))
            again = torch.cat([p.reshape(-1) for p in trained.flat.trained])
        assert torch.equal(found, trained.flat.theta)
        assert torch.equal(again, trained.flat.theta)
        assert expected is None or torch.equal(outputs, expected)
        expected = outputs
    assert trained.filled() == 0
    assert all(p.isnan().all() for p in trained.model.layers.parameters())


def test_a_block_that_changes_its_parameter_in_place_is_refused() -> None:
    trained = Trained("", by_blocks=True)
    guard = ParameterGuard(trained.model)

    def compute() -> None:
        with guard.watching():
            trained.model(torch.ones(4, 5)).sum().backward()
            trained.flat.free_blocks()

    def spoil(module: nn.Module, *_: Any) -> None:
        with torch.no_grad():
            module.bias.mul_(2)  # type: ignore[union-attr, operator]

    trained.flat.refresh()
    compute()
    trained.model.layers[1].up.register_forward_hook(spoil)
    with pytest.raises(InvalidWorkload, match=r"changed the parameter layers\.1\.up\.bias in place"):
        compute()


def test_parameters_of_several_blocks_stay() -> None:
    model = Net("tied")
    own = parameters_of_blocks(model, find_blocks(model))
    shared = model.layers[0].up.weight
    assert not any(p is shared for parameters in own.values() for p in parameters)
    assert [len(parameters) for parameters in own.values()] == [7, 8, 8, 7]
