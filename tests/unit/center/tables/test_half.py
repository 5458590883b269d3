"""Rows in 16 bits: torch's rounding, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gradstream.center.tables.half import DTYPES, RowCodec, decode_rows, encode_rows

TORCH = {"fp16": torch.float16, "bf16": torch.bfloat16}
EDGES = np.array(
    [
        0,
        -0.0,
        1,
        1 + 2**-8,
        1 + 3 * 2**-8,
        1 + 2**-11,
        1 + 3 * 2**-11,
        65504,
        -65504,
        65519,
        6e-8,
        3e-8,
        1e-40,
        np.inf,
        -np.inf,
        np.nan,
    ],
    np.float32,
)
"""Ties to even, the largest and the smallest of fp16, a subnormal of float32."""


@pytest.mark.parametrize("codec", ["fp16", "bf16"])
def test_values_are_rounded_as_torch_does(codec: RowCodec) -> None:
    draw = np.random.default_rng(1)
    values = np.concatenate([EDGES, draw.normal(size=9984).astype(np.float32) * np.float32(10) ** draw.integers(-4, 4, 9984)])
    values = values.reshape(-1, 4).astype(np.float32)
    travelled = encode_rows(values, codec)
    assert (travelled.dtype, travelled.shape) == (DTYPES[codec], values.shape)
    expected = torch.from_numpy(values).to(TORCH[codec]).float().numpy()
    np.testing.assert_array_equal(decode_rows(travelled), expected)
    assert (np.signbit(decode_rows(travelled)) == np.signbit(expected))[~np.isnan(expected)].all()


def test_what_fp16_cannot_hold_is_its_largest_value_and_an_infinity_stays_one() -> None:
    values = np.array([[1e6, -1e6, np.inf]], np.float32)
    assert decode_rows(encode_rows(values, "fp16")).tolist() == [[65504, -65504, np.inf]]


def test_raw_values_are_not_copied() -> None:
    values = np.ones((2, 3), np.float32)
    assert encode_rows(values, "raw") is values
    assert decode_rows(values) is values
