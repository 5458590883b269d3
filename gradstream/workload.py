"""The interface of user code. A workload is an ordinary single-machine model and data set; nothing in it is distributed.

class Digits(Workload):
    hidden: int = 128                       # a field of the job file: workload.args.hidden

    def model(self): ...                    # an nn.Module
    def dataset(self, split): ...           # "train" or "eval": a torch Dataset; the platform shards it
    def loss(self, model, batch): ...       # the mean loss over the batch, a scalar tensor
"""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from gradstream.errors import InvalidWorkload
from gradstream.user_logging.media import LoggedMedia
from gradstream.user_logging.scalars import LoggedScalars, Reduction, check_logged, check_value
from gradstream.workload_arguments import check_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from torch import Tensor, nn
    from torch.utils.data import Dataset

    from gradstream.spec import JobSpec
    from gradstream.user_logging.items import MediaKind, Snapshot

Split = Literal["train", "eval"]


class Workload:
    """Subclass it. Annotated class attributes are arguments, set from `workload.args` of the job file."""

    classifies: ClassVar[bool] = True
    """The default `evaluate` reports accuracy, taking the model's output as class scores and batch[1] as labels."""
    drop_last: ClassVar[bool] = False
    """Each worker leaves out the last mini-batch of a pass if it has fewer than `batch_size` examples."""
    model_reads_weights: ClassVar[bool] = False
    """`model()` itself reads what `weights` names, as that of a model of Transformers does."""
    _scalars: LoggedScalars | None = None
    """Where `log` puts its values. None: this runs in no job."""
    _media: LoggedMedia | None = None
    """Where `log_image` and the others put their items."""

    def __init__(self, **args: Any) -> None:
        for key, value in _checked(type(self), args).items():
            setattr(self, key, value)

    def model(self) -> nn.Module:
        """A new model. Called after seeding, so that every process builds the same one: once, or for each of `members`."""
        raise NotImplementedError

    def weights(self) -> str | Path | Sequence[str | Path] | None:
        """The .safetensors files with the first values of all parameters and buffers: a file, an index of several
        (`model.safetensors.index.json`), a folder with either, or a list. None: those that `model()` draws."""
        return None

    def check_job(self, spec: JobSpec, model: nn.Module) -> None:
        """Called once with the job and the model that was made. Raise InvalidWorkload where the two do not fit."""

    def dataset(self, split: Split) -> Dataset[Any]:
        """A map-style data set: it has a length, and items by index. Or an iterable one, read in its own order."""
        raise NotImplementedError

    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        """The mean loss over the batch, a scalar."""
        raise NotImplementedError

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        """The modules of the model that `recompute: blocks` works on, and that `stages` of a group share out, in the order of their
        calls; none within another. By default the layers that a model of
        Transformers names, else the children of the `ModuleList` or `Sequential` with most parameters."""
        from gradstream.model.computing.blocks import find_blocks

        return find_blocks(model)

    def tensor_plan(self) -> Mapping[str, str] | None:
        """How `tensor` of a group splits the model: styles by names of its `nn.Linear` modules, or by patterns such as `*.mlp.up`.
        "colwise": each process has some outputs, and the next module gets these alone. "rowwise": each has some inputs, and the
        outputs are added up. None: the plan of a model of Transformers, else all linear layers by their outputs, which are gathered
        at once."""
        return None

    def ids(self, batch: Any) -> dict[str, Any]:
        """The ids that the model will look up for this mini-batch, by embedding table: integer tensors of any shape, nested
        tensors, or what a column of lists gives. Workers call it for their next mini-batches, and their rows come with the
        response to the push before. The model looks up by itself what is missing here, and waits for it. It must draw no random
        numbers and change nothing."""
        return {}

    def clicks(self, batch: Any) -> Tensor:
        """The clicks of each example, shape (examples,), for the scores of rows: 0 or 1, or another number of at least 0. Called by
        workers before `loss`, if a table of the job uses scores. Without it, all shows are without a click."""
        raise NotImplementedError

    def observe(self, logits: Tensor, labels: Tensor, weights: Tensor | float = 1.0) -> None:
        """Call it in `loss`, before the step: these predictions count in AUC, log loss, normalized entropy, calibration, accuracy,
        precision, recall, F1 and average precision, over the last examples of all workers, and over the whole evaluation split.

        `logits`: of any shape. `labels`: of that shape, from 0 to 1. `weights`: of that shape, or one number of at least 0."""
        from gradstream.observations.recording import record

        record(logits, labels, weights)

    def log(self, name: str, value: Any, *, reduce: Reduction = "mean") -> None:
        """Log a number in `loss`, `evaluate` or a hook: charts show it as `user/NAME`, and what is logged during an evaluation as
        `user/eval/NAME`, with the worker, its step, samples and version. Outside of a job it is checked and nothing else.

        `value`: a number, or a tensor with one element, which no call waits for. `reduce`: what is reported for all calls since the
        last report. In an evaluation "mean" weighs batches by their examples. Raises: InvalidWorkload."""
        if self._scalars is not None:
            self._scalars.add(name, value, reduce)
        else:
            check_logged(name, reduce)
            check_value(name, value)

    def log_image(self, name: str, image: Any) -> None:
        """Log an image, where `log` may be called. The page shows it at its step, by worker.

        `image`: a tensor, an array or an image of PIL. Its shape is (height, width), (channels, height, width) or (height, width,
        channels), its pixels are uint8, or floats from 0 to 1. Beyond limits of rate and size, items are dropped: an alert
        says so. The first item of a name in a mini-batch or an evaluation counts. Raises: InvalidWorkload."""
        from gradstream.user_logging import snapshots

        self._log_media(name, "image", lambda: snapshots.image_snapshot(image))

    def log_figure(self, name: str, figure: Any) -> None:
        """Log a figure of matplotlib, as `log_image`. It is drawn at once, in this thread: about 50 ms."""
        from gradstream.user_logging import snapshots

        self._log_media(name, "figure", lambda: snapshots.figure_snapshot(figure))

    def log_table(self, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Log a table, as `log_image`. Cells are text, numbers, bools or None; there are at most 64 columns and 1,000 rows."""
        from gradstream.user_logging import snapshots

        self._log_media(name, "table", lambda: snapshots.table_snapshot(columns, rows))

    def log_text(self, name: str, text: str) -> None:
        """Log a text of at most 64 KiB, as `log_image`."""
        from gradstream.user_logging import snapshots

        self._log_media(name, "text", lambda: snapshots.text_snapshot(text))

    def log_histogram(self, name: str, values: Any, *, bins: int = 64) -> None:
        """Log the distribution of a tensor or an array, as `log_image`. It is counted in equal bins between the smallest and the
        largest value; NaN and infinities are counted apart."""
        from gradstream.user_logging import snapshots

        self._log_media(name, "histogram", lambda: snapshots.histogram_snapshot(values, bins))

    def _log_media(self, name: str, kind: MediaKind, take: Callable[[], Snapshot]) -> None:
        (LoggedMedia() if self._media is None else self._media).add(name, kind, take)

    def collate_fn(self, examples: list[Any]) -> Any:
        """A batch of single examples, as a DataLoader's collate_fn. Not called for what gives whole batches (gradstream.data)."""
        from torch.utils.data import default_collate

        return default_collate(examples)

    def evaluate(self, model: nn.Module, batch: Any) -> dict[str, Any]:
        """Numbers that are means over one evaluation batch: they are averaged over the split, weighted by examples. With
        `summarize`, tensors and arrays too, such as scores and labels. Figures of the whole split, such as AUC, come by themselves
        from what is observed here or in `loss`."""
        from gradstream import accuracy

        values = {"loss": accuracy.scalar(self.loss(model, batch))}
        if self.classifies:
            values["accuracy"] = accuracy.share_correct(model, batch)
        return values

    def predictions(self, model: nn.Module, batch: Any) -> tuple[Tensor, Tensor]:
        """Outputs and labels of one evaluation batch, for `evaluate.metrics` of the job file; by default `model(batch[0])` and
        `batch[1]`. Outputs are class scores of shape (..., classes) with whole labels of shape (...), or one score or value for
        each label."""
        from gradstream.accuracy import default_predictions

        return default_predictions(model, batch)

    def summarize(self, outputs: list[dict[str, Any]]) -> dict[str, float]:
        """Metrics of the whole evaluation split: AUC, F1, R2, perplexity. `outputs`: what `evaluate` returned for each batch, in
        the order of the split, on the CPU. A metric of the same name as a mean of `evaluate` replaces it."""
        return {}

    def on_train_start(self, model: nn.Module) -> None:
        """Called in each worker before its first mini-batch, and after a resume. `model`: the worker's own; leave it as it is, here
        and in the other hooks."""

    def on_epoch(self, epoch: int) -> None:
        """Called in each worker before the first mini-batch of its pass number `epoch` (from 0), and after a resume inside it."""

    def on_epoch_end(self, model: nn.Module, epoch: int) -> None:
        """Called in each worker after the last mini-batch of its pass number `epoch`, before `on_epoch` of the next one; at the end
        of the last pass, before the step of that mini-batch."""

    def on_checkpoint(self, model: nn.Module, checkpoint: int) -> None:
        """Called in each worker when it has saved its part of a checkpoint."""

    def on_evaluation_end(self, model: nn.Module, metrics: dict[str, float]) -> None:
        """Called in the evaluator after each evaluation, with its metrics. `model`: the one that was evaluated."""

    def on_train_end(self) -> None:
        """Called in each worker when it trains no more: its data has ended, or the job stops it."""

    def combine(self, outputs: list[Any]) -> Any:
        """The output of an ensemble (`members` of the job), from what its members return for one input: their mean, tensor by
        tensor, also in tuples, lists and dicts of them."""
        return _mean(outputs)


def arguments(cls: type[Workload]) -> dict[str, Any]:
    """The arguments of a workload class with their types: its annotated attributes."""
    hints = typing.get_type_hints(cls)
    return {key: hint for key, hint in hints.items() if not key.startswith("_") and typing.get_origin(hint) is not ClassVar}


def _mean(outputs: list[Any]) -> Any:
    """Raises: InvalidWorkload, for what has no mean."""
    import torch

    first = outputs[0]
    if isinstance(first, torch.Tensor) and (first.is_floating_point() or first.is_complex()):
        return torch.stack(outputs).mean(0)
    if isinstance(first, dict):
        return {key: _mean([output[key] for output in outputs]) for key in first}
    if isinstance(first, tuple | list):
        parts = [_mean(list(part)) for part in zip(*outputs, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if first is None:
        return None
    what = f"a tensor of {first.dtype}" if isinstance(first, torch.Tensor) else f"a {type(first).__name__}"
    raise InvalidWorkload(f"the model returns {what}, which has no mean over the job's members; override Workload.combine")


def _checked(cls: type[Workload], args: dict[str, Any]) -> dict[str, Any]:
    """`args`, converted to the annotated types. Raises: InvalidWorkload, naming each key that is unknown or wrong."""
    known = arguments(cls)
    values, problems = check_arguments(cls.__name__, known, [key for key in known if not hasattr(cls, key)], args)
    if problems:
        raise InvalidWorkload("; ".join(f"{p.pointer}: {p.message}" for p in problems), problems)
    return values
