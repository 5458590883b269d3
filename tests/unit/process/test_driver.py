"""CUDA_VISIBLE_DEVICES as CUDA reads it."""

from __future__ import annotations

import pytest

from gradstream.process.gpus.driver import select_visible

UUIDS = ["GPU-aa11", "GPU-aa22", "GPU-bb33"]


@pytest.mark.parametrize(
    ("visible", "found"),
    [
        (None, [0, 1, 2]),
        ("", []),
        ("2,0", [2, 0]),
        (" 1 , 2", [1, 2]),
        ("GPU-bb,0", [2, 0]),
        ("GPU-aa11", [0]),
        ("GPU-aa", []),
        ("0,7,1", [0]),
        ("-1", []),
        ("1,1,0", [1]),
        ("MIG-aa11", []),
    ],
)
def test_numbers_and_uuids_up_to_the_first_that_names_none(visible: str | None, found: list[int]) -> None:
    assert select_visible(UUIDS, visible) == found
