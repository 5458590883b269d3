"""The workload: a model, its data and its loss. Nothing in it is distributed.

It trains on the 1,797 handwritten digits that scikit-learn ships. Replace the three methods by yours.
"""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import Dataset, TensorDataset

from gradstream import Workload


class NewProject(Workload):
    hidden: int = 64  # An argument: job.yaml sets it under workload.args. Add your own as annotated attributes.

    def model(self) -> nn.Module:
        """REPLACE: return your model. Every process seeds torch before, so all begin from the same parameters."""
        return nn.Sequential(nn.Linear(64, self.hidden), nn.ReLU(), nn.Linear(self.hidden, 10))

    def dataset(self, split: str) -> Dataset[tuple[torch.Tensor, ...]]:
        """REPLACE: return any Dataset for split "train" and another one for split "eval", without common examples.

        Gradstream shards the training split over the workers, shuffles it and makes mini-batches: write no DataLoader.
        """
        digits = load_digits()
        images = torch.tensor(digits.data / 16, dtype=torch.float32)
        labels = torch.tensor(digits.target)
        held_out = torch.arange(len(labels)) % 6 == 0  # every sixth image is for evaluation only
        chosen = held_out if split == "eval" else ~held_out
        return TensorDataset(images[chosen], labels[chosen])

    def loss(self, model: nn.Module, batch: list[torch.Tensor]) -> torch.Tensor:
        """REPLACE: return the mean loss over the mini-batch, a scalar. Gradstream calls backward() and the optimizer."""
        images, labels = batch
        return nn.functional.cross_entropy(model(images), labels)

    # Evaluation reports the loss, and the accuracy of `model(batch[0])` against `batch[1]`. For a model that classifies
    # nothing, set `classifies = False` and remove stop.target from job.yaml. For other metrics, override evaluate().
