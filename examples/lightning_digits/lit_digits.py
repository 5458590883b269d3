"""Handwritten digits by a LightningModule and a LightningDataModule, which a Trainer would run as they are."""

import lightning
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from gradstream.adapters.lightning import LightningWorkload


class DigitsModule(lightning.LightningModule):
    def __init__(self, hidden: int, lr: float) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, 10))

    def training_step(self, batch: list[torch.Tensor], batch_idx: int) -> torch.Tensor:
        images, labels = batch
        return nn.functional.cross_entropy(self.net(images), labels)

    def validation_step(self, batch: list[torch.Tensor], batch_idx: int) -> None:
        images, labels = batch
        scores = self.net(images)
        self.log("loss", nn.functional.cross_entropy(scores, labels))
        self.log("accuracy", (scores.argmax(-1) == labels).float().mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=self.hparams["lr"])


class DigitsData(lightning.LightningDataModule):
    def setup(self, stage: str) -> None:
        digits = load_digits()
        images, labels = torch.tensor(digits.data / 16, dtype=torch.float32), torch.tensor(digits.target)
        held_out = torch.arange(len(labels)) % 6 == 0  # every sixth image is for evaluation only: 300 of them
        self.train, self.val = (TensorDataset(images[rows], labels[rows]) for rows in (~held_out, held_out))

    def train_dataloader(self) -> DataLoader[list[torch.Tensor]]:
        return DataLoader(self.train, batch_size=32, shuffle=True)

    def val_dataloader(self) -> DataLoader[list[torch.Tensor]]:
        return DataLoader(self.val, batch_size=32)


class Digits(LightningWorkload):
    hidden: int = 128
    lr: float = 0.002

    def module(self) -> DigitsModule:
        return DigitsModule(self.hidden, self.lr)

    def dataset(self, split: str) -> Dataset[list[torch.Tensor]]:
        return self.from_datamodule(DigitsData(), split)
