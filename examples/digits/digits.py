"""Handwritten digits: the 1,797 real 8 x 8 images that scikit-learn ships, and a small multilayer perceptron."""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload


class Digits(Workload):
    hidden: int = 256

    def model(self) -> nn.Module:
        return nn.Sequential(nn.Linear(64, self.hidden), nn.ReLU(), nn.Linear(self.hidden, 10))

    def dataset(self, split: str) -> TensorDataset:
        digits = load_digits()
        images = torch.tensor(digits.data / 16, dtype=torch.float32)
        labels = torch.tensor(digits.target)
        held_out = torch.arange(len(labels)) % 6 == 0  # every sixth image is for evaluation only: 300 of them
        chosen = held_out if split == "eval" else ~held_out
        return TensorDataset(images[chosen], labels[chosen])

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        images, labels = batch
        return nn.functional.cross_entropy(model(images), labels)
