"""Vectors in pages of their own: the values are the same, and the kernel gets the pages back at once."""

from __future__ import annotations

import psutil
import pytest
import torch

from gradstream.own_pages import own_copy, own_empty_like, own_memory


@pytest.mark.parametrize("size", [0, 3, 1 << 20])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_a_copy_has_the_values_and_memory_of_its_own(size: int, dtype: torch.dtype) -> None:
    x = torch.arange(size).to(dtype).view(-1, 1)
    copy, empty = own_copy(x), own_empty_like(x)
    assert torch.equal(copy, x)
    assert (empty.shape, empty.dtype) == (x.shape, x.dtype)
    x.add_(1)
    assert torch.equal(copy, torch.arange(size).to(dtype).view(-1, 1))


def test_pages_go_back_when_the_last_view_is_dropped() -> None:
    length = 1 << 28

    def held() -> int:
        return int(psutil.Process().memory_info().rss)

    before = held()
    view = own_empty_like(torch.empty(length, dtype=torch.uint8)).fill_(1)[length // 2 :]
    assert held() > before + 0.9 * length
    assert int(view[-1]) == 1
    del view
    assert held() < before + 0.1 * length


def test_memory_is_writable_and_zero_at_first() -> None:
    for nbytes in (0, 5, 1 << 21):
        memory = own_memory(nbytes)
        assert (len(memory), any(memory)) == (nbytes, False)
        memory[:1] = b"a"[:nbytes]
        assert bytes(memory[:1]) == b"a"[:nbytes]
