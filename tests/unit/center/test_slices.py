"""The cut of a vector into shards."""

from __future__ import annotations

import pytest

from gradstream.center.parameters.slices import ALIGN, slices


@pytest.mark.parametrize("size", [1, 100, ALIGN, ALIGN + 1, 3 * ALIGN, 10 * ALIGN + 7])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_slices_cover_the_vector_and_the_first_ones_of_a_small_one_are_empty(size: int, count: int) -> None:
    cut = slices(size, count)
    lengths = [each.stop - each.start for each in cut]
    assert [each.start for each in cut[1:]] == [each.stop for each in cut[:-1]]
    assert (cut[0].start, cut[-1].stop, sum(lengths)) == (0, size, size)
    assert all(each.start % ALIGN == 0 for each in cut)
    blocks = -(-size // ALIGN)
    assert lengths[-1] > 0
    assert (lengths[0] == 0) == (blocks < count)
