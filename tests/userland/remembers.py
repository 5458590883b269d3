"""User code that writes down what happens to it: the state_dict that each process begins with, and each call of a hook."""

import json
import time
from pathlib import Path
from uuid import uuid4

import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload

ID = uuid4().hex


def make_model() -> nn.Module:
    """Frozen, trained in more than one slice, and with buffers."""
    frozen = nn.Linear(8, 8)
    frozen.requires_grad_(False)
    return nn.Sequential(frozen, nn.Linear(8, 1024), nn.BatchNorm1d(1024), nn.Linear(1024, 1))


class Remembers(Workload):
    classifies = False
    folder: str
    """Of each process: `<id>.pt` and `<id>.jsonl`. A pid would not do: each process may have a namespace of its own."""
    holds_at: int = 0
    """Mini-batches of a process after which it waits for the file `go` in the folder; 0: it never does. A number in that file
    has it wait again after so many."""

    def model(self) -> nn.Module:
        return make_model()

    def dataset(self, split: str) -> TensorDataset:
        x = torch.randn(256 if split == "train" else 64, 8, generator=torch.Generator().manual_seed(3 if split == "train" else 4))
        return TensorDataset(x, x.sum(1, keepdim=True))

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        if model.training:
            self._note("loss")
            if not (path := self._path("pt")).exists():
                torch.save(model.state_dict(), path.with_suffix(".tmp"))
                path.with_suffix(".tmp").rename(path)
            self._wait()
        return nn.functional.mse_loss(model(batch[0]), batch[1])

    def on_train_start(self, model: nn.Module) -> None:
        self._note("on_train_start")

    def on_epoch(self, epoch: int) -> None:
        self._note("on_epoch", epoch)

    def on_epoch_end(self, model: nn.Module, epoch: int) -> None:
        self._note("on_epoch_end", epoch)

    def on_train_end(self) -> None:
        self._note("on_train_end")

    def on_checkpoint(self, model: nn.Module, checkpoint: int) -> None:
        assert torch.is_grad_enabled()
        assert [tuple(p.shape) for p in model.parameters()] == [tuple(p.shape) for p in make_model().parameters()]
        self._note("on_checkpoint", checkpoint)

    def _note(self, what: str, number: int | None = None) -> None:
        with self._path("jsonl").open("a") as file:
            file.write(json.dumps([what, number]) + "\n")

    def _wait(self) -> None:
        self.calls = getattr(self, "calls", 0) + 1
        go, deadline = Path(self.folder, "go"), time.monotonic() + 300
        while self.holds_at and self.calls > self.holds_at:
            if go.exists():
                self.holds_at = int(go.read_text() or 0)
            else:
                assert time.monotonic() < deadline, "nobody lets it go on"
                time.sleep(0.02)

    def _path(self, suffix: str) -> Path:
        return Path(self.folder, f"{ID}.{suffix}")
