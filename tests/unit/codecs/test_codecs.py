"""What every codec must do: its bytes, its error, its blocks; a new one is tested as soon as it stands in the union."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gradstream.center.parameters.slices import ALIGN
from gradstream.codecs import CODECS
from gradstream.codecs.base import Codec
from gradstream.codecs.randomk import RandomK
from gradstream.codecs.topk import TopK

every_codec = pytest.mark.parametrize("codec", [cls() for cls in CODECS.values()], ids=list(CODECS))
SIZES = [1, 5, 255, 4096, 4097, 20_011]


def vector(size: int, seed: int = 0) -> Tensor:
    """Values over six orders of magnitude."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(size, generator=generator) * torch.logspace(-3, 3, size)


@every_codec
@pytest.mark.parametrize("size", SIZES)
def test_it_has_the_length_that_it_says(codec: Codec, size: int) -> None:
    assert len(codec.encode(vector(size))) == codec.nbytes(size, itemsize=4)


@every_codec
@pytest.mark.parametrize("size", SIZES)
def test_slices_have_the_bits_of_the_whole(codec: Codec, size: int) -> None:
    x = vector(size)
    assert ALIGN % codec.block == 0
    slices = torch.cat([codec.arrives(x[at : at + ALIGN]) for at in range(0, size, ALIGN)])
    assert torch.equal(codec.arrives(x), slices)


@every_codec
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_other_kinds_of_numbers_keep_their_kind(codec: Codec, dtype: torch.dtype) -> None:
    x = torch.linspace(-1, 1, 5000).to(dtype)
    arrived = codec.arrives(x)
    assert arrived.dtype == dtype
    if codec.dense:
        torch.testing.assert_close(arrived, x, rtol=0, atol=0.01)


@every_codec
def test_zeros_stay_zeros(codec: Codec) -> None:
    assert not codec.arrives(torch.zeros(5000)).any()


@every_codec
def test_with_error_feedback_everything_arrives_in_the_end(codec: Codec) -> None:
    """The same vector sent again and again: the mean of what arrives comes to it."""
    x, residual, arrived = vector(5000).clamp(-1, 1), torch.zeros(5000), torch.zeros(5000)
    rounds = 400
    for _ in range(rounds):
        sent = codec.arrives(x + residual)
        residual = x + residual - sent
        arrived += sent / rounds
    torch.testing.assert_close(arrived + residual / rounds, x, rtol=0, atol=1e-4)
    assert residual.norm() < 120 * x.norm()


@settings(max_examples=40, deadline=None)
@given(size=st.integers(1, 9000), seed=st.integers(0, 1000))
def test_errors_are_within_their_bounds(size: int, seed: int) -> None:
    x = vector(size, seed)
    largest = x.abs().max()
    assert ((CODECS["bf16"]().arrives(x) - x).abs() <= 2**-8 * x.abs()).all()
    assert ((CODECS["fp16"]().arrives(x) - x).abs() <= torch.maximum(2**-11 * x.abs(), 2**-39 * largest)).all()
    blocks = torch.nn.functional.pad(x, (0, -size % 256)).view(-1, 256).abs().amax(1).repeat_interleave(256)[:size]
    assert ((CODECS["int8"]().arrives(x) - x).abs() <= blocks / 253).all()
    assert CODECS["onebit"]().arrives(x).sum() == pytest.approx(float(x.sum()), abs=1e-3 * float(x.abs().sum()))


def test_topk_keeps_the_largest_of_each_block() -> None:
    x = vector(2 * 4096)
    arrived = TopK(share=0.01).arrives(x)
    for block, kept in zip(x.split(4096), arrived.split(4096), strict=True):
        assert int((kept != 0).sum()) == 41
        assert block[kept != 0].abs().min() >= block[kept == 0].abs().max()
        assert torch.equal(kept[kept != 0], block[kept != 0])


def test_randomk_gives_every_element_its_turn() -> None:
    """Over many different vectors each element travels about as often as any other."""
    counts = torch.zeros(4096)
    for seed in range(400):
        x = torch.randn(4096, generator=torch.Generator().manual_seed(seed))
        arrived = RandomK(every=16).arrives(x)
        assert int((arrived != 0).sum()) == 256
        counts += arrived != 0
    assert counts.mean() == 25
    assert 8 <= counts.min() <= counts.max() <= 46


def test_a_bfloat16_is_not_rounded_again() -> None:
    """What an exchange is answered is rounded once by the server, and once more on its way."""
    once = CODECS["bf16"]().arrives(vector(5000))
    assert torch.equal(CODECS["bf16"]().arrives(once), once)
