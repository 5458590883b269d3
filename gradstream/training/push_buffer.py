"""The buffer that pushes are sent from, and what a lossy codec has not sent yet."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from gradstream.center.tables.half import decode_rows
from gradstream.center.tables.payload import RowGradients
from gradstream.codecs.coding import Residual
from gradstream.spec import JobSpec
from gradstream.training.port import Port


class PushBuffer:
    def __init__(self, spec: JobSpec, port: Port, theta: Tensor) -> None:
        """`theta`: pushes have its shape and dtype."""
        self._port = port
        self._own = torch.zeros_like(theta, device="cpu", pin_memory=theta.is_cuda) if port.out is None else None
        feeds_back = spec.codec.lossy and spec.strategy.pushes == "direction"
        keeps = spec.effective_gate.may_drop
        self.residual = Residual(torch.zeros_like(self.x), keeps=keeps) if feeds_back else None
        """The error that pushes have left; None if the codec feeds back none."""
        self._sent_ahead: int | None = None
        """The version counter of `x` when some of it went ahead."""

    @property
    def x(self) -> Tensor:
        """The vector to send, shape (size,): where the port sends from, now."""
        out = self._port.out if self._own is None else self._own
        assert out is not None, "a port that sends from its own buffer keeps one"
        return out

    def send_ahead(self, seq: int, start: int) -> None:
        """Send ahead the part from `start` on of the push `seq`; -1: no part of it is final. Without a header the shards do
        nothing with it."""
        self._port.send_ahead(seq, self.x, start)
        self._sent_ahead = self.x._version

    def fill(self, seq: int, x: Tensor) -> None:
        """Hold `x`, which the push `seq` will send."""
        if x.data_ptr() != self.x.data_ptr():
            self.x.copy_(x)
        if self._sent_ahead not in (None, self.x._version):
            self.send_ahead(seq, -1)  # the strategy pushes something else than the gradient that went


def norm_of(x: Tensor, rows: Mapping[str, RowGradients] | None) -> float:
    """Return the L2 norm, in float64 where float32 squares overflow, so that a finite vector has a finite norm. `rows`: gradients
    of tables, which belong to the vector."""
    norm = float(torch.linalg.vector_norm(x))
    norm = norm if math.isfinite(norm) else float(torch.linalg.vector_norm(x, dtype=torch.float64))
    of_tables = (float(np.linalg.norm(decode_rows(of_table.gradients).astype(np.float64))) for of_table in (rows or {}).values())
    return math.hypot(norm, *of_tables) if rows else norm
