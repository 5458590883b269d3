"""A model of Hugging Face Transformers as a workload. `model(**batch).loss` is the loss.

class Counting(TransformersWorkload):
    auto = "AutoModelForCausalLM"                           # the head: any class of transformers with from_config
    def config(self): return GPT2Config(n_layer=2, n_embd=64, n_head=2, vocab_size=16)
    def dataset(self, split): ...                           # items are dicts: input_ids, labels, attention_mask ...

Nothing is downloaded: weights are random, or of a local folder that `weights` names.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from gradstream.accuracy import described, scalar
from gradstream.errors import InvalidWorkload
from gradstream.workload import Workload


class TransformersWorkload(Workload):
    """Subclass it with `dataset`, and with `config` or `weights`."""

    classifies: ClassVar[bool] = False
    model_reads_weights: ClassVar[bool] = True
    auto: ClassVar[str] = "AutoModelForCausalLM"
    """The class of `transformers` that makes the model: an `AutoModelFor...`, or a model's own class."""

    def config(self) -> Any:
        """The model's configuration, such as `GPT2Config(...)`. Not called if `weights` names a folder, which has one."""
        raise InvalidWorkload(f"{type(self).__name__} has neither config() nor weights(); add one of them")

    def weights(self) -> str | Path | None:
        """A folder that `save_pretrained` wrote, which every node can read. None: the weights are drawn at random."""
        return None

    def model(self) -> nn.Module:
        """The model in float32. Raises: InvalidWorkload."""
        made = _find_class(self.auto)
        folder = self.weights()
        if folder is not None:
            if not Path(folder).is_dir():
                raise InvalidWorkload(f"weights() names {folder}, and this machine has no such folder; jobs download no weights")
            model = made.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
        else:
            config = self.config()
            model = made.from_config(config, dtype=torch.float32) if hasattr(made, "from_config") else made(config)
        model.config.use_cache = False  # training needs no keys and values of earlier tokens
        return model  # type: ignore[no-any-return]

    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        return _loss_of(_call(model, batch))

    def evaluate(self, model: nn.Module, batch: Any) -> dict[str, Any]:
        """The loss; and the accuracy where there is one label for each example."""
        outputs = _call(model, batch)
        values, labels = {"loss": scalar(_loss_of(outputs))}, batch["labels"]
        logits = outputs.get("logits")
        if isinstance(logits, Tensor) and logits.shape[:-1] == labels.shape and labels.ndim == 1 and not labels.is_floating_point():
            values["accuracy"] = (logits.argmax(-1) == labels).float().mean().item()
        return values


def _find_class(name: str) -> Any:
    import transformers

    try:
        return getattr(transformers, name)
    except AttributeError:
        raise InvalidWorkload(
            f"auto: transformers {transformers.__version__} has no {name}; name a class such as AutoModelForCausalLM"
        ) from None


def _call(model: nn.Module, batch: Any) -> Any:
    """Raises: InvalidWorkload: the mini-batch does not name what the model takes."""
    if not isinstance(batch, Mapping):
        raise InvalidWorkload(
            f"the mini-batch is {described(batch)}, and a model of transformers takes names; let dataset() give dicts with "
            "input_ids, labels and the like"
        )
    return model(**batch)


def _loss_of(outputs: Any) -> Tensor:
    """`outputs`: of a model, or the mean of those of an ensemble's members, which is a plain dict."""
    loss = outputs.get("loss") if isinstance(outputs, Mapping) else None
    if loss is None:
        raise InvalidWorkload(
            f"{type(outputs).__name__} has no loss, as the mini-batch has no labels or the model no head; let dataset() give "
            "labels, or override loss(model, batch)"
        )
    return loss  # type: ignore[no-any-return]
