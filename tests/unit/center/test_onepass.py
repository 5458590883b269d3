"""A step in one pass over memory has the bits of the same step made over whole vectors, one operation after the other."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gradstream.center.entries import Init, Join, Payload, Push
from gradstream.center.parameters import onepass
from gradstream.center.parameters.onepass import LARGEST, SMALLEST, Descent, OnePass, Whole
from gradstream.center.parameters.slices import ALIGN
from gradstream.center.shard import Shard
from tests.unit.center.shards import shard

SIZES = st.one_of(
    st.integers(0, 40),
    st.builds(lambda blocks, more: max(0, blocks * SMALLEST + more), st.integers(0, 9), st.integers(-40, 40)),
    st.builds(lambda more: 2 * LARGEST + more, st.integers(-ALIGN, ALIGN)),
)
DTYPES = st.sampled_from([torch.float32, torch.float64, torch.bfloat16, torch.float16])


def vectors(count: int, size: int, dtype: torch.dtype, seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(size, generator=generator).to(dtype) for _ in range(count)]


def bits(x: Tensor) -> Tensor:
    return x.view(torch.uint8)


def whole(theta: Tensor, descent: Descent) -> None:
    """One operation after the other."""
    mean = descent.xs[0]
    if len(descent.xs) > 1:
        mean = torch.mul(descent.xs[0], descent.weights[0])
        for x, weight in zip(descent.xs[1:], descent.weights[1:], strict=True):
            mean.add_(x, alpha=weight)
    theta.add_(mean, alpha=descent.alpha)


@pytest.mark.parametrize("large", [1 << 40, 1], ids=["one thread", "several threads"])
@settings(max_examples=60, deadline=None)
@given(size=SIZES, dtype=DTYPES, pushes=st.integers(1, 3), destinations=st.integers(0, 3), seed=st.integers(0, 9), data=st.data())
def test_has_the_bits_of_whole_vectors(
    large: int, size: int, dtype: torch.dtype, pushes: int, destinations: int, seed: int, data: st.DataObject
) -> None:
    theta, *xs = vectors(1 + pushes, size, dtype, seed)
    weights = data.draw(st.lists(st.floats(0.01, 1), min_size=pushes, max_size=pushes))
    descent = Descent(xs, weights, data.draw(st.floats(-3, -1e-4)))
    expected = theta.clone()
    whole(expected, descent)
    given_destinations = [torch.full_like(theta, 7) for _ in range(destinations)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onepass, "LARGE", large)
        patch.setattr(onepass, "_cores", lambda: 3)
        OnePass(theta).make(descent, given_destinations)

    for found in (theta, *given_destinations):
        assert torch.equal(bits(found), bits(expected))


@pytest.mark.parametrize("pushes", [0, 1, 3])
def test_the_way_for_other_devices_has_them_too(pushes: int) -> None:
    theta, destination, *xs = vectors(2 + pushes, 10_007, torch.float32, pushes)
    descent = Descent(xs, [0.5, 0.3, 0.2][:pushes], -0.1) if xs else None
    expected = theta.clone()
    OnePass(expected).make(descent, [])
    Whole(theta).make(descent, [destination])
    assert torch.equal(bits(theta), bits(expected))
    assert torch.equal(bits(destination), bits(expected))


def test_without_a_step_only_copies() -> None:
    [theta] = vectors(1, LARGEST + 5, torch.float32, 0)
    before, destination = theta.clone(), torch.zeros_like(theta)
    OnePass(theta).make(None, [destination])
    assert torch.equal(destination, before)
    assert torch.equal(theta, before)


def begun(theta: Tensor, gate: Any, workers: int, **more: Any) -> Shard:
    made = shard(gate, workers, **more)
    made.handle(Init(0, 0), Payload(theta))
    for rank in range(workers):
        made.handle(Join(rank, 0))
    return made


@settings(max_examples=40, deadline=None)
@given(
    order=st.lists(st.integers(0, 2), min_size=1, max_size=8),
    optimizer=st.sampled_from([{"name": "sgd"}, {"name": "sgd", "momentum": 0.9}, {"name": "sgd", "clip_norm": 0.5}]),
    average=st.sampled_from([None, 0.25]),
)
def test_each_destination_holds_the_center_right_after_its_own_push(
    order: list[int], optimizer: dict[str, Any], average: float | None
) -> None:
    """Whatever order pushes come in, and whichever steps are made in one pass."""
    theta, *xs = vectors(1 + len(order), LARGEST + 9, torch.float32, len(order))
    evaluate = {"average": average} if average else {}
    one_pass, plain = (begun(theta, "asp", 3, optimizer=optimizer, evaluate=evaluate) for _ in range(2))
    seqs = [0, 0, 0]
    for x, rank in zip(xs, order, strict=True):
        seqs[rank] += 1
        entry = Push(rank, 0, seqs[rank], base=0, steps=1, examples=4, want="center", position=seqs[rank])
        destination = torch.zeros_like(theta)
        got = one_pass.handle(entry, Payload(x), lambda response, destination=destination: destination)
        expected = plain.handle(entry, Payload(x))
        assert got.decisions == expected.decisions
        [response], [other] = got.responses, expected.responses
        assert response.payload
        assert other.payload
        for found in (destination, response.payload.x):
            assert torch.equal(bits(found), bits(other.payload.x))


def test_a_round_copies_its_mean_to_all_destinations() -> None:
    theta, x, y = vectors(3, LARGEST + 3, torch.float32, 1)
    made = begun(theta, "bsp", 2)
    destinations = {rank: torch.zeros_like(theta) for rank in range(2)}
    for rank, vector, examples in ((1, y, 3), (0, x, 1)):
        entry = Push(rank, 0, 1, base=0, steps=1, examples=examples, want="center", position=1)
        made.handle(entry, Payload(vector), lambda response: destinations[response.rank])
    expected = theta.clone().add_(torch.mul(x, 1 / 4).add_(y, alpha=3 / 4), alpha=-0.5)
    for found in destinations.values():
        assert torch.equal(found, expected)
