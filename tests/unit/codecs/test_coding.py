"""Coding and decoding in pieces, and error feedback on the way: the same bits as in one go."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gradstream.codecs import CODECS
from gradstream.codecs.base import CHUNK, Codec
from gradstream.codecs.coding import Coding, Decoding, Residual, carry

LOSSY = [cls() for cls in CODECS.values() if cls().lossy]
lossy = pytest.mark.parametrize("codec", LOSSY, ids=[type(codec).__name__ for codec in LOSSY])
SIZE = 2 * CHUNK + 5000


def vector(seed: int = 0) -> torch.Tensor:
    return torch.randn(SIZE, generator=torch.Generator().manual_seed(seed))


@lossy
@settings(max_examples=10, deadline=None)
@given(ends=st.lists(st.integers(0, 300_000), max_size=6))
def test_a_vector_coded_and_decoded_in_pieces_has_the_bits_of_the_whole(codec: Codec, ends: list[int]) -> None:
    x, data = vector(), memoryview(bytearray(codec.nbytes(SIZE, 4)))
    coding, out = Coding(codec, x, data), torch.full_like(x, torch.nan)
    decoding = Decoding(codec, data, out)
    whole = codec.encode(x)
    for end in [*ends, len(data)]:
        coding.until(end)
        assert data[:end] == whole[:end]
        decoding.until(end)
    assert torch.equal(out, codec.arrives(x))


@lossy
def test_what_has_changed_is_decoded_again(codec: Codec) -> None:
    first, second = codec.encode(vector(1)), codec.encode(vector(2))
    data, out = bytearray(first), torch.empty(SIZE)
    decoding = Decoding(codec, data, out)
    decoding.until(len(data))
    data[:] = second
    decoding.again()
    decoding.until(len(data))
    assert torch.equal(out, codec.arrives(vector(2)))


@lossy
def test_what_arrives_and_what_is_left_are_what_was_sent_and_left_before(codec: Codec) -> None:
    x, before = vector(), 0.1 * vector(1)
    residual, out, data = Residual(before.clone()), torch.empty(SIZE), memoryview(bytearray(codec.nbytes(SIZE, 4)))
    carry(codec, x, out, residual)
    assert torch.equal(out, codec.arrives(x + before))
    assert torch.equal(residual.x, x + before - out)
    assert residual.norm() == pytest.approx(float(residual.x.norm()), rel=1e-4)
    again = Residual(before.clone())
    Coding(codec, x, data, again).until(len(data))
    assert (data, again.x.tolist()) == (codec.encode(x + before), residual.x.tolist())


@lossy
def test_slices_share_a_residual_and_leave_what_the_whole_leaves(codec: Codec) -> None:
    x, whole, parts = vector(), Residual(torch.zeros(SIZE)), Residual(torch.zeros(SIZE))
    arrived, in_place = torch.empty(SIZE), vector()
    carry(codec, x, arrived, whole)
    for mine in (slice(0, 8192), slice(8192, 3 * 4096 + CHUNK), slice(3 * 4096 + CHUNK, SIZE)):
        carry(codec, in_place[mine], in_place[mine], parts, mine.start)
    assert torch.equal(in_place, arrived)
    assert torch.equal(parts.x, whole.x)
    assert parts.norm() == pytest.approx(whole.norm(), rel=1e-5)
