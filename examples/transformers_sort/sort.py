"""A tiny Llama with random weights learns to sort digits: `3 1 2 | 1 2 3`. The data is drawn here, and nothing is downloaded."""

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import LlamaConfig

from gradstream.adapters.transformers import TransformersWorkload

SEPARATOR, IGNORED = 10, -100


class Sequences(Dataset[dict[str, torch.Tensor]]):
    """Digits, a separator, and the same digits in order. Only the second half is to be predicted."""

    def __init__(self, digits: torch.Tensor) -> None:
        self._digits = digits

    def __len__(self) -> int:
        return len(self._digits)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        digits = self._digits[index]
        ids = torch.cat([digits, torch.tensor([SEPARATOR]), digits.sort().values])
        labels = ids.clone()
        labels[: len(digits) + 1] = IGNORED
        return {"input_ids": ids, "labels": labels}


class Sort(TransformersWorkload):
    length: int = 5
    width: int = 48

    def config(self) -> LlamaConfig:
        return LlamaConfig(
            vocab_size=11,
            hidden_size=self.width,
            intermediate_size=2 * self.width,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=2 * self.length + 1,
            bos_token_id=None,
            eos_token_id=None,
        )

    def dataset(self, split: str) -> Sequences:
        numbers = torch.randperm(10**self.length)[:6500]  # the same in every process: the platform seeds torch
        digits = numbers[:, None] // 10 ** torch.arange(self.length) % 10
        return Sequences(digits[500:] if split == "train" else digits[:500])

    def evaluate(self, model: nn.Module, batch: dict[str, torch.Tensor]) -> dict[str, float]:
        outputs = model(**batch)
        guesses, labels = outputs.logits[:, :-1].argmax(-1), batch["labels"][:, 1:]
        asked = labels != IGNORED
        return {"loss": outputs.loss.item(), "accuracy": (guesses == labels)[asked].float().mean().item()}
