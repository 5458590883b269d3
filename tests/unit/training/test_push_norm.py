"""The norm of a push, with the gradients of its rows."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gradstream.center.tables.half import RowCodec, encode_rows
from gradstream.center.tables.payload import LOAN, RowGradients
from gradstream.training.push_buffer import norm_of


def rows(codec: RowCodec, gradients: list[list[float]]) -> dict[str, RowGradients]:
    count, encoded = len(gradients), encode_rows(np.array(gradients, np.float32), codec)
    return {
        "t": RowGradients(np.arange(count), np.zeros(count, LOAN), encoded, np.ones(count, np.int64), np.zeros(count, np.float32))
    }


@pytest.mark.parametrize("codec", ["raw", "fp16", "bf16"])
def test_rows_belong_to_the_vector_whatever_their_codec(codec: RowCodec) -> None:
    assert norm_of(torch.tensor([3.0, 0.0]), rows(codec, [[4.0, 0.0], [0.0, 12.0]])) == pytest.approx(13)
    assert not np.isfinite(norm_of(torch.zeros(1), rows(codec, [[np.inf, 0.0]])))
    assert not np.isfinite(norm_of(torch.zeros(1), rows(codec, [[np.nan, 0.0]])))
