"""Logged tensors on a GPU: no call waits for the device, and later changes of a tensor change no logged value."""

from __future__ import annotations

import pytest
import torch

from gradstream.user_logging.scalars import LoggedScalars

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not torch.cuda.is_available(), reason="THIS MACHINE HAS NO CUDA DEVICE: logged tensors on it are not tested"
    ),
]


def test_log_waits_for_no_device_and_keeps_the_value_of_the_call() -> None:
    logged, total = LoggedScalars(), torch.zeros((), device="cuda")
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(3):
            total += 1
            logged.add("mean", total)
            logged.add("largest", total, "max")
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert logged.take() == {"mean": 2.0, "largest": 3.0}
