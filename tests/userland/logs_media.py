"""User code that logs media of each kind in `loss`, `evaluate` and hooks, such that a test knows what must be stored."""

import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload


class LogsMedia(Workload):
    classifies = False
    per_batch: bool = False
    """Log a text with each mini-batch, which is more than the limits allow."""

    def model(self) -> nn.Module:
        return nn.Linear(1, 1)

    def dataset(self, split: str) -> TensorDataset:
        x = torch.arange(64.0 if split == "train" else 10.0)[:, None] / 64
        return TensorDataset(x, x)

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        if model.training and self.per_batch:
            self.log_text("often", "one for each mini-batch")
        return nn.functional.mse_loss(model(batch[0]), batch[1])

    def evaluate(self, model: nn.Module, batch: list[torch.Tensor]) -> dict[str, float]:
        self.log_image("inputs", batch[0].reshape(1, 1, -1).expand(3, 4, -1))
        return {"loss": float(self.loss(model, batch))}

    def on_epoch_end(self, model: nn.Module, epoch: int) -> None:
        self.log_histogram("weights", torch.cat([p.detach().flatten() for p in model.parameters()]), bins=2)
        self.log_text("epoch", f"<b>pass</b> {epoch} is over")

    def on_evaluation_end(self, model: nn.Module, metrics: dict[str, float]) -> None:
        self.log_table("scores", ["metric", "value"], [*metrics.items(), ("worst", None)])

    def on_train_end(self) -> None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(2, 1))
        figure.subplots().plot([1, 4, 9])
        self.log_figure("curve", figure)
