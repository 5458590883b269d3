"""User code that logs values in `loss`, `evaluate` and every hook, such that a test knows what must be reported."""

import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload


class Logs(Workload):
    classifies = False
    names: int = 0
    """Further names under which each mini-batch logs."""

    def model(self) -> nn.Module:
        return nn.Linear(1, 1)

    def dataset(self, split: str) -> TensorDataset:
        x = torch.arange(64.0 if split == "train" else 10.0)[:, None] / 64
        return TensorDataset(x, x)

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        value = nn.functional.mse_loss(model(batch[0]), batch[1])
        if model.training:
            self.log("loss", value)
            self.log("examples", len(batch[0]), reduce="max")
            for number in range(self.names):
                self.log(f"name-{number}", 1.0)
        return value

    def evaluate(self, model: nn.Module, batch: list[torch.Tensor]) -> dict[str, float]:
        self.log("input", batch[0].mean())
        return {"loss": float(self.loss(model, batch))}

    def on_train_start(self, model: nn.Module) -> None:
        self.log("hooks/start", sum(p.numel() for p in model.parameters()))

    def on_epoch(self, epoch: int) -> None:
        self.log("hooks/epoch", epoch, reduce="last")

    def on_epoch_end(self, model: nn.Module, epoch: int) -> None:
        self.log("hooks/epoch_end", epoch, reduce="last")

    def on_checkpoint(self, model: nn.Module, checkpoint: int) -> None:
        self.log("hooks/checkpoint", checkpoint, reduce="last")

    def on_evaluation_end(self, model: nn.Module, metrics: dict[str, float]) -> None:
        self.log("hooks/loss", metrics["loss"])

    def on_train_end(self) -> None:
        self.log("hooks/end", 1)
