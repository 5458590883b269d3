"""Rules by layer: golden values, numpy, torch's own; and the same bits on any number of slices."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import TypeAdapter
from torch import Tensor, nn

from gradstream.center.parameters.slices import slices_for
from gradstream.optim.flat import FlatOptimizer
from gradstream.optim.parameters import ParameterShape, pieces
from gradstream.optim.spec import AnyOptimizer, Optimizer
from tests.unit.optim import rules

MODEL = (
    ParameterShape("body.weight", (70, 90)),
    ParameterShape("body.bias", (70,)),
    ParameterShape("scale", ()),
    ParameterShape("none", (0, 3)),
    ParameterShape("middle.weight", (90, 70)),
    ParameterShape("conv.weight", (4, 3, 5, 5)),
    ParameterShape("head.weight", (50, 40)),
    ParameterShape("head.bias", (50,)),
)
SIZE = sum(each.size for each in MODEL)
RULES: list[dict[str, Any]] = [
    {"name": "lars", "weight_decay": 1e-2, "trust": 0.1, "groups": [{"match": "*.bias", "weight_decay": 0, "adapt": False}]},
    {"name": "lamb", "groups": [{"match": "*.bias", "adapt": False}, {"match": "head.*", "lr_factor": 0.1}]},
    {"name": "muon", "adamw": ["head.*"]},
    {"name": "sgd", "momentum": 0.9, "nesterov": True, "groups": [{"match": "body.*", "lr_factor": 0.5, "weight_decay": 0.1}]},
    {"name": "sgd", "groups": [{"match": "*.bias", "lr_factor": 2}]},
    {"name": "adam", "groups": [{"match": "*.weight", "weight_decay": 0.1}]},
    {"name": "adamw", "groups": [{"match": "*.bias", "weight_decay": 0}, {"match": "scale", "lr_factor": 0}]},
    {"name": "adagrad", "groups": [{"match": "conv.*", "lr_factor": 3}]},
]
of_each = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["name"])


def optimizer(rule: dict[str, Any]) -> Optimizer:
    found: Optimizer = TypeAdapter(AnyOptimizer).validate_python(rule)
    return found


def one(name: str, start: list[float], *directions: list[float], **settings: Any) -> list[list[float]]:
    theta = torch.tensor(start, dtype=torch.float64)
    steps = FlatOptimizer(theta, optimizer({"name": name, **settings}), 0.1)
    found = []
    for direction in directions:
        steps.step(torch.tensor(direction, dtype=torch.float64))
        found.append(theta.tolist())
    return found


def test_golden_lars() -> None:
    found = one("lars", [3, 4], [0.6, 0.8], [0.6, 0.8], trust=0.001, weight_decay=1e-4, momentum=0.9)
    assert found[0] == pytest.approx([2.999700000000, 3.999600000000], abs=5e-13, rel=0)
    assert found[1] == pytest.approx([2.999130030000, 3.998840040000], abs=5e-13, rel=0)


def test_golden_lamb() -> None:
    found = one("lamb", [3, 4], [0.6, 0.8], [-0.3, 0.4])
    assert found[0] == pytest.approx([2.648158776298, 3.644742694229], abs=5e-13, rel=0)
    assert found[1] == pytest.approx([2.517791870461, 3.213496347023], abs=5e-13, rel=0)


def test_a_parameter_that_begins_at_zero_moves() -> None:
    assert one("lars", [0, 0], [3, 4], momentum=0, weight_decay=0.1)[0] == pytest.approx([-0.3, -0.4])
    assert one("lamb", [0, 0], [3, 4], eps=1e-12)[0] == pytest.approx([-0.1, -0.1])
    assert one("lars", [3, 4], [0, 0], weight_decay=0.1)[0] == pytest.approx([2.97, 3.96]), "only the decay"


def start() -> Tensor:
    return torch.randn(SIZE, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def directions(steps: int = 3) -> list[Tensor]:
    generator = torch.Generator().manual_seed(2)
    return [torch.randn(SIZE, generator=generator, dtype=torch.float64) for _ in range(steps)]


def parts(vector: Tensor) -> dict[str, Any]:
    split = zip(MODEL, torch.split(vector, [each.size for each in MODEL]), strict=True)
    return {shape.name: part.view(shape.shape).numpy() for shape, part in split}


@pytest.mark.parametrize("rule", RULES[:3], ids=lambda rule: rule["name"])
def test_numpy_comes_to_the_same(rule: dict[str, Any]) -> None:
    theta, gs = start(), directions()
    steps = FlatOptimizer(theta, optimizer(rule), 0.01, parameters=MODEL)
    for g in gs:
        steps.step(g)
    old, found, pushed = parts(start()), parts(theta), [parts(g) for g in gs]
    for name, w in old.items():
        own = [g[name] for g in pushed]
        bias, head = name.endswith(".bias"), name.startswith("head.")
        adam: dict[str, Any] = {"betas": (0.9, 0.999)}
        if rule["name"] == "lars" and bias:  # plain momentum: a length of trust that gives the factor 1
            expected, v = w, 0 * w
            for g in own:
                v = 0.9 * v + 0.01 * g
                expected = expected - v
        elif rule["name"] == "lars":
            expected = rules.lars(w, own, lr=0.01, eta=0.1, momentum=0.9, decay=1e-2)
        elif rule["name"] == "lamb" and bias:
            expected = rules.adamw(w, own, lr=0.01, eps=1e-6, decay=0.01, **adam)
        elif rule["name"] == "lamb":
            expected = rules.lamb(w, own, lr=0.001 if head else 0.01, eps=1e-6, decay=0.01, **adam)
        elif w.ndim == 2 and w.size and not head:
            expected = rules.muon(w, own, lr=0.01, momentum=0.95, nesterov=True, decay=0.1, ns_steps=5)
        else:
            expected = rules.adamw(w, own, lr=0.01, eps=1e-8, decay=0.1, **adam)
        np.testing.assert_allclose(found[name], expected, rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("shape", [(40, 60), (60, 40), (33, 33)])
@pytest.mark.parametrize("nesterov", [True, False])
def test_torchs_muon_comes_to_the_same_in_bfloat16(shape: tuple[int, int], nesterov: bool) -> None:
    size = shape[0] * shape[1]
    theta = torch.randn(size, generator=torch.Generator().manual_seed(1))
    w = nn.Parameter(theta.clone().view(shape))
    ours = FlatOptimizer(theta, optimizer({"name": "muon", "nesterov": nesterov}), 0.02, parameters=[ParameterShape("w", shape)])
    theirs = torch.optim.Muon([w], lr=0.02, nesterov=nesterov, adjust_lr_fn="match_rms_adamw")
    for seed in range(3):
        g = torch.randn(size, generator=torch.Generator().manual_seed(seed))
        ours.step(g)
        w.grad = g.view(shape)
        theirs.step()
    moved = 3 * 0.02 * 0.2 * max(shape) ** 0.5 * min(shape) ** 0.5  # the length of three orthogonal steps
    assert float((w.detach().view(-1) - theta).norm()) < 0.03 * moved


@pytest.mark.parametrize("name", ["adamw", "sgd", "adagrad"])
def test_groups_are_those_of_torch(name: str) -> None:
    spec = optimizer({"name": name, "groups": [{"match": "*.bias", "lr_factor": 0.5}, {"match": "head.*", "weight_decay": 0.3}]})
    theta = start().float()
    named = [
        (shape.name, nn.Parameter(torch.tensor(part).float())) for shape, part in zip(MODEL, parts(start()).values(), strict=True)
    ]
    biases = [p for name, p in named if name.endswith("bias")]
    heads = [p for name, p in named if name == "head.weight"]
    others = [p for _, p in named if not any(p is q for q in biases + heads)]
    kinds: dict[str, Any] = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad}
    theirs = kinds[name]([{"params": others}, {"params": biases, "lr": 0.05}, {"params": heads, "weight_decay": 0.3}], lr=0.1)
    ours = FlatOptimizer(theta, spec, 0.1, parameters=MODEL)
    for g in directions():
        ours.step(g.float())
        for (_, p), part in zip(named, parts(g).values(), strict=True):
            p.grad = torch.tensor(part).float()
        theirs.step()
    assert torch.equal(theta, torch.cat([p.detach().view(-1) for _, p in named]))


@of_each
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_any_number_of_slices_has_the_bits_of_one(rule: dict[str, Any], dtype: torch.dtype) -> None:
    spec, ends = optimizer(rule), []
    for count in (1, 2, 3, 8):
        theta, gs = start().to(dtype), [g.to(dtype) for g in directions()]
        bounds = slices_for(spec.sees, MODEL, SIZE, count)
        assert [bounds[0].start, bounds[-1].stop] == [0, SIZE]
        assert all(one.stop == two.start for one, two in pairwise(bounds))
        shards = [FlatOptimizer(theta[part], spec, 0.01, parameters=pieces(MODEL, part)) for part in bounds]
        for number, g in enumerate(gs):
            for shard, part in zip(shards, bounds, strict=True):
                shard.step(g[part], factor=1 / (1 + number))
        ends.append(theta)
    assert all(torch.equal(end, ends[0]) for end in ends)
    assert not torch.equal(ends[0], start().to(dtype))


@of_each
def test_it_goes_on_from_its_state(rule: dict[str, Any]) -> None:
    spec, gs = optimizer(rule), directions(4)
    theta = start()
    through = FlatOptimizer(theta, spec, 0.01, parameters=MODEL)
    for g in gs[:2]:
        through.step(g)
    again = theta.clone()
    resumed = FlatOptimizer(again, spec, 0.01, parameters=MODEL)
    resumed.load(through.state())
    for g in gs[2:]:
        through.step(g)
        resumed.step(g)
    assert torch.equal(theta, again)


@of_each
def test_its_vectors_are_as_long_as_theta_and_can_be_set(rule: dict[str, Any]) -> None:
    spec = optimizer(rule)
    steps = FlatOptimizer(start(), spec, 0.01, parameters=MODEL)
    assert [vector.tolist() for vector in steps.vectors()] == [[0.0] * SIZE] * len(spec.state_vectors)
    steps.step(directions()[0])
    halves = [vector / 2 for vector in steps.vectors()]
    steps.set_vectors(halves)
    assert all(torch.equal(vector, half) for vector, half in zip(steps.vectors(), halves, strict=True))


@of_each
def test_it_moves_to_another_vector(rule: dict[str, Any]) -> None:
    theta, other, gs = start(), start(), directions(2)
    steps = FlatOptimizer(theta, optimizer(rule), 0.01, parameters=MODEL)
    steps.step(gs[0])
    left = theta.clone()
    other.copy_(theta)
    steps.move(other)
    steps.step(gs[1])
    assert torch.equal(theta, left)
    assert not torch.equal(other, left)


class TestSlices:
    def test_a_rule_of_whole_parameters_begins_at_their_starts(self) -> None:
        begins = {0, 6300, 6370, 6371, 12671, 12971, 14971, SIZE}
        for count in range(1, 20):
            assert {part.start for part in slices_for("matrix", MODEL, SIZE, count)} <= begins
        assert [part.start for part in slices_for("matrix", MODEL, SIZE, 2)] == [0, 6371]

    def test_a_rule_of_elements_of_parameters_also_begins_behind_them(self) -> None:
        large = (ParameterShape("a", (100,)), ParameterShape("b", (100, 4096)), ParameterShape("c", (7,)))
        size = sum(each.size for each in large)
        found = slices_for("parameter", large, size, 4)
        assert all((part.start - 100) % 4096 == 0 for part in found[1:])
        assert max(part.stop - part.start for part in found) < 1.03 * size / 4
        cut = [[each.name for each in pieces(large, part)] for part in found]
        assert cut == [["a", "b"], ["b"], ["b"], ["b", "c"]]

    def test_pieces_fill_their_slice(self) -> None:
        for count in range(1, 9):
            for sees in ("element", "parameter", "matrix"):
                for part in slices_for(sees, MODEL, SIZE, count, align=64):  # type: ignore[arg-type]
                    assert sum(each.size for each in pieces(MODEL, part)) == part.stop - part.start

    def test_a_model_without_names_is_cut_as_ever(self) -> None:
        assert slices_for("matrix", (), 9000, 2) == slices_for("element", MODEL, 9000, 2)

    def test_gpt_2_is_balanced_as_far_as_its_embedding_lets_it(self) -> None:
        width = 768
        block = [(width,), (width,), (3 * width, width), (3 * width,), (width, width), (width,), (width,), (width,)]
        block += [(4 * width, width), (4 * width,), (width, 4 * width), (width,)]
        shapes = [(50257, width), (1024, width), *(block * 12), (width,), (width,)]
        gpt2 = [ParameterShape(str(number), shape) for number, shape in enumerate(shapes)]
        size = sum(each.size for each in gpt2)
        found = {}
        for count in (2, 4, 8):
            lengths = [part.stop - part.start for part in slices_for("matrix", gpt2, size, count)]
            found[count] = round(size / count / max(lengths), 2)
        assert found == {2: 1.00, 4: 0.81, 8: 0.40}
