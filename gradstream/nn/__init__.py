"""Embeddings without a vocabulary: their rows lie in tables, found by 64-bit ids, and are made as ids come.

    from gradstream import nn as gnn

    model = torch.nn.Sequential(gnn.EmbeddingBag("tags", 16), torch.nn.Linear(16, 1))
    dense = torch.optim.Adam(model.parameters())
    rows = gnn.TableOptimizer(model, {"tags": {"rule": {"name": "adagrad", "lr": 0.1}}})

Importing this imports torch and numba; `import gradstream` does not.
"""

from gradstream.nn.embedding import Embedding, EmbeddingBag
from gradstream.nn.ids import hashed
from gradstream.nn.optimizer import TableOptimizer
from gradstream.nn.trained import load_tables

__all__ = ["Embedding", "EmbeddingBag", "TableOptimizer", "hashed", "load_tables"]
