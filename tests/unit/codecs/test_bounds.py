"""The bound of its error that each codec's file states, for any vector."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gradstream.codecs.bf16 import Bf16
from gradstream.codecs.fp16 import Fp16
from gradstream.codecs.int8 import Int8
from gradstream.codecs.onebit import OneBit
from gradstream.codecs.randomk import RandomK
from gradstream.codecs.topk import TopK

LEAST = torch.finfo(torch.float32).tiny
"""The least normal float32."""


@st.composite
def vectors(draw: st.DrawFn) -> Tensor:
    """Of any length, with runs of zeros and of equal values, of sizes from those below normal float32s up to the largest that a sum
    over a block can hold."""
    size, seed = draw(st.integers(1, 9000)), draw(st.integers(0, 2**31))
    generator = torch.Generator().manual_seed(seed)
    decades = draw(st.sampled_from([(-44, -36), (-6, 6), (-38, 33), (0, 0)]))
    sizes = 10.0 ** (torch.rand(size, generator=generator, dtype=torch.float64) * (decades[1] - decades[0]) + decades[0])
    x = (torch.randn(size, generator=generator) * sizes).to(torch.float32)
    x[torch.rand(size, generator=generator) < draw(st.sampled_from([0.0, 0.5, 0.999]))] = draw(st.sampled_from([0.0, 0.25, -3.0]))
    return x


def largest(x: Tensor, block: int) -> Tensor:
    """Of each element: the largest absolute value in its block."""
    padded = torch.nn.functional.pad(x.abs(), (0, -x.numel() % block)).view(-1, block)
    return padded.amax(1).repeat_interleave(block)[: x.numel()]


any_vector = settings(max_examples=60, deadline=None)


@any_vector
@given(vectors())
def test_bf16(x: Tensor) -> None:
    error = (Bf16().arrives(x) - x).double().abs()
    assert (error <= torch.clamp_min(2**-8 * x.double().abs(), LEAST * 2**-8)).all()


@any_vector
@given(vectors())
def test_fp16(x: Tensor) -> None:
    error = (Fp16().arrives(x).double() - x.double()).abs()
    assert (error <= torch.maximum(2**-11 * x.double().abs(), 2**-39 * largest(x, 1024).double())).all()


@any_vector
@given(vectors())
def test_int8(x: Tensor) -> None:
    error = (Int8().arrives(x).double() - x.double()).abs()
    assert (error <= torch.clamp_min(largest(x, 256).double() / 254 * (1 + 1e-5), LEAST / 2)).all()


@any_vector
@given(vectors())
def test_onebit(x: Tensor) -> None:
    """Each value becomes the mean of its side; so a block keeps its sum."""
    for block, arrived in zip(x.split(4096), OneBit().arrives(x).split(4096), strict=True):
        for side in (block >= 0, block < 0):
            if side.any():
                mean = block[side].double().mean()
                # The means are float32s, and one is the other and a step; below the least float32 they are zero.
                margin = 1e-5 * float(block.double().abs().max()) + 2**-149
                assert (arrived[side].double() - mean).abs().max() <= margin


@any_vector
@given(vectors(), st.sampled_from([0.0001, 0.01, 0.3, 1.0]))
def test_topk(x: Tensor, share: float) -> None:
    """What arrives is what was sent, and nothing that does not arrive is larger than anything that does. Of equals the first go."""
    kept = -int(-share * 4096 // 1)
    for block, arrived in zip(x.split(4096), TopK(share=share).arrives(x).split(4096), strict=True):
        order = torch.sort(block.abs(), descending=True, stable=True).indices[:kept]
        expected = torch.zeros_like(block)
        expected[order] = block[order]
        assert torch.equal(arrived, expected)


@any_vector
@given(vectors(), st.sampled_from([2, 16, 128]))
def test_randomk(x: Tensor, every: int) -> None:
    """One comb of each block arrives as it is, and nothing else."""
    for block, arrived in zip(x.split(4096), RandomK(every=every).arrives(x).split(4096), strict=True):
        combs = (torch.zeros_like(block) for _ in range(every))
        assert any(torch.equal(arrived, _with_teeth(comb, block, k, every)) for k, comb in enumerate(combs))


def _with_teeth(comb: Tensor, block: Tensor, first: int, every: int) -> Tensor:
    comb[first::every] = block[first::every]
    return comb
