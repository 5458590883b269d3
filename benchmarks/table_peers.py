"""Other systems with embedding tables, for the click model of `benchmarks.tables`; each is optional."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

FBGEMM = "fbgemm's CPU kernels, fixed rows"
NO_PADDLE = "absent: this benchmark does not start its servers"


class FbgemmRows(nn.Module):
    """As many rows as ids, with row-wise Adagrad; `backward` makes the step. Raises: ImportError, OSError: it is not installed, or
    is for another version of torch."""

    def __init__(self, rows: int, width: int, lr: float) -> None:
        super().__init__()
        from fbgemm_gpu.split_embedding_configs import EmbOptimType
        from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation
        from fbgemm_gpu.split_table_batched_embeddings_ops_training import ComputeDevice, SplitTableBatchedEmbeddingBagsCodegen

        self.width = width
        self.rows: Any = SplitTableBatchedEmbeddingBagsCodegen(
            [(rows, width, EmbeddingLocation.HOST, ComputeDevice.CPU)],
            optimizer=EmbOptimType.EXACT_ROWWISE_ADAGRAD,
            learning_rate=lr,
        )

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Each id is a bag of its own."""
        found: torch.Tensor = self.rows(ids.flatten(), torch.arange(ids.numel() + 1))
        return found.view(*ids.shape, self.width)


def fbgemm_rows(rows: int, width: int, lr: float) -> FbgemmRows | str:
    """Return the reason if it is absent."""
    try:
        return FbgemmRows(rows, width, lr)
    except (ImportError, OSError) as error:
        first = str(error).partition("\n")[0]
        return f"absent: {first}; install the fbgemm-gpu-cpu for torch {torch.__version__.partition('+')[0]} (1.8.0 for 2.13)"
