"""User code of the end-to-end tests: a line fitted to made data, as slow as `pause` says, and broken where `breaks` says."""

import os
import sys
import time

import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload

if os.environ.get("BREAK_AT_IMPORT"):
    raise RuntimeError("broken at import")
any(time.sleep(0.02) for _ in iter(lambda: os.path.exists(os.environ.get("WAIT_AT_IMPORT", "/")), True))


class Steady(Workload):
    classifies = False
    pause: float = 0.0
    examples: int = 256
    until: str = ""
    """A file: once it is there, there is no pause any more, and one that has begun ends."""
    breaks: str = ""
    after: int = 3
    straggler: str = ""
    """A folder that is not there: the worker that makes it, the first, pauses at each mini-batch."""
    lag: float = 1.0
    """Seconds of that pause."""

    def model(self) -> nn.Module:
        if self.breaks == "model":
            raise RuntimeError("broken in model")
        return nn.Linear(8, 1)

    def dataset(self, split: str) -> TensorDataset:
        generator = torch.Generator().manual_seed(3 if split == "train" or self.breaks == "overlap" else 4)
        x = torch.randn(self.examples if split == "train" else 64, 8, generator=generator)
        return TensorDataset(x, x.sum(1, keepdim=True))

    def evaluate(self, model: nn.Module, batch: list[torch.Tensor]) -> dict[str, float]:
        if self.breaks == "evaluate":
            raise RuntimeError("broken in evaluate \x00 \ud800")
        names = {"score": {"ratio": float("nan")}, "metric name": {"a\x00b": 1.0}}
        return names.get(self.breaks) or super().evaluate(model, batch)

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        if model.training:
            self._rest(self.lag if self._is_straggler() else self.pause)
        if model.training and self.breaks == "peer hangs":
            import multiprocessing

            self.after -= 1
            if self.after < 0 and multiprocessing.current_process().name == "peer-1":
                os.write(2, b"written by C\n")
                self._rest(3600)
        if model.training and self.breaks == "flood":
            self.breaks = ""
            for _ in range(150):
                sys.stdout.write(("x" * 63 + "\n") * 2**14)
        loss = nn.functional.mse_loss(model(batch[0]), batch[1])
        if model.training and self.breaks == "crash":
            import ctypes

            ctypes.string_at(0)
        if model.training and self.breaks == "clip":
            for p in model.parameters():
                p.data.clamp_(-0.01, 0.01)
        if model.training and self.breaks in ("loss", "nan"):
            self.after -= 1
            if self.after < 0:
                if self.breaks == "loss":
                    raise RuntimeError("broken in loss")
                loss = loss * float("nan")
        return loss

    def _rest(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not (self.until and os.path.exists(self.until)):
            time.sleep(min(left, 0.05))

    def _is_straggler(self) -> bool:
        if self.straggler and not hasattr(self, "slow"):
            try:
                os.mkdir(self.straggler)
                self.slow = True
            except FileExistsError:
                self.slow = False
        return bool(self.straggler) and self.slow
