"""The user's code inside a job process: a job imports it, calls it, and names the failing part when it raises."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from types import TracebackType
from typing import Any, Literal

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from gradstream.accuracy import checked_loss, described, is_number
from gradstream.data.ragged import Ragged
from gradstream.errors import InvalidWorkload, PlaneLost, ProcessLost
from gradstream.input import randomness
from gradstream.input.gather import Batching
from gradstream.metrics.named import metric_key
from gradstream.model import ensemble
from gradstream.model.computing.blocks import check_blocks, recompute
from gradstream.model.computing.compiled import check_compiler, compile_forward
from gradstream.model.computing.precision import check_precision, narrowed
from gradstream.model.flat_model import parameter_shapes, trained_dtype
from gradstream.model.weights.files import load_given_weights
from gradstream.process.begin import seed_of
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec
from gradstream.user_logging.media import LoggedMedia
from gradstream.user_logging.scalars import LoggedScalars
from gradstream.workload import Split, Workload

log = logging.getLogger(__name__)

_LONGEST_METRIC = 100


class blaming:
    """Turns an exception inside, also sys.exit(), into UserError("... <part>"), except for PlaneLost, ProcessLost and the types in
    `but`.

    With nested parts it blames the inner one. It is a class, since each mini-batch passes three of these and a generator takes
    twice as long."""

    def __init__(self, part: str, but: type[Exception] | tuple[()] = ()) -> None:
        self._part, self._but = part, but

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        passes = isinstance(error, (UserError, PlaneLost, ProcessLost, self._but))
        if isinstance(error, Exception | SystemExit) and not passes:
            raise UserError(f"the workload failed in {self._part}") from error


Hook = Literal["on_train_start", "on_epoch", "on_epoch_end", "on_checkpoint", "on_evaluation_end", "on_train_end"]
_NAMED = 8
"""Names of parameters in a message."""


class UserCode:
    """A workload whose errors are raised as the user's: see `blaming`."""

    def __init__(self, spec: JobSpec) -> None:
        """Import the entrypoint; the import draws the same random numbers in every process of the job. Raises: UserError."""
        self._spec = spec
        module, _, name = spec.workload.entrypoint.partition(":")
        with blaming(f"import {module}"), randomness.seeded(spec.seed):
            imported = importlib.import_module(module)
            found = getattr(imported, name, None)
            if not (isinstance(found, type) and issubclass(found, Workload)):
                where = getattr(imported, "__file__", None) or "Python itself"
                raise InvalidWorkload(
                    f"{spec.workload.entrypoint} is not a subclass of gradstream.Workload; the module '{module}' came from {where}"
                )
        with blaming("workload.args"), randomness.seeded(spec.seed):
            self._workload = found(**spec.workload.args)
        self.logged = LoggedScalars()
        """The values that it logs in training."""
        self.media = LoggedMedia()
        """The images, tables and others that it logs in training."""
        self._workload._scalars, self._workload._media = self.logged, self.media
        self._is_exact = False

    @contextmanager
    def logging_into(self, scalars: LoggedScalars, media: LoggedMedia) -> Iterator[None]:
        """Inside, what the workload logs goes there."""
        workload = self._workload
        before, workload._scalars, workload._media = (workload._scalars, workload._media), scalars, media
        try:
            yield
        finally:
            workload._scalars, workload._media = before

    @contextmanager
    def exact(self) -> Iterator[None]:
        """Inside, `loss` computes in the parameters' own dtype, whatever `precision` says."""
        self._is_exact = True
        try:
            yield
        finally:
            self._is_exact = False

    def model(self) -> nn.Module:
        """Build the model, the same in every process of the job."""
        with blaming("model()"):
            model = ensemble.build(self._workload, self._spec)
            _check_rules(self._spec, model)
            check_precision(self._spec, model)
            self._workload.check_job(self._spec, model)
            if self._spec.compile:
                check_compiler(self._spec)
        self._load_weights(model)
        for member in ensemble.members(model):
            self._choose_computing(member)
        return model

    def _load_weights(self, model: nn.Module) -> None:
        """`start_from` goes first. A field of the workload may have this name: it is no method then, and none of ours."""
        if self._spec.start_from or self._workload.model_reads_weights or not callable(self._workload.weights):
            return
        with blaming("weights()"):
            given = self._workload.weights()
            if given is not None and self._spec.members > 1:
                raise InvalidWorkload("members: weights() would start all members alike; remove one of the two")
            if given is not None:
                load_given_weights(model, given)

    def _choose_computing(self, model: nn.Module) -> None:
        """Under `recompute: blocks`, blocks are what is compiled: torch's own checkpoint stands around compiled code."""
        blocks = self.blocks(model) if self._spec.recompute == "blocks" else []
        for block in dict.fromkeys(blocks or [model]):
            if self._spec.compile:
                compile_forward(block)
            if blocks:
                recompute(block)

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        """Return the blocks of the model, in the order of their calls. Raises: UserError."""
        with blaming("blocks()"):
            blocks = list(self._workload.blocks(model))
            check_blocks(blocks, model)
            return blocks

    def separate_blocks(self, model: nn.Module) -> list[list[nn.Module]]:
        """Return the blocks of each member of the model; empty if it has none that stand alone, which is logged, or if torch
        compiles it."""
        try:
            return [] if self._spec.compile else [self.blocks(member) for member in ensemble.members(model)]
        except UserError as error:
            log.warning("with fsdp, each GPU has all parameters, as the model has no blocks: %s", error.__cause__ or error)
            return []

    def tensor_plan(self) -> Mapping[str, str] | None:
        """Return the modules that the workload lets `tensor` of a group split. Raises: UserError."""
        with blaming("tensor_plan()"):
            return self._workload.tensor_plan()

    def dataset(self, split: Split) -> Dataset[Any]:
        """Build the data set, the same in every process of the job, also if it is split at random."""
        with blaming(f"dataset({split!r})"), randomness.seeded(self._spec.seed):
            found = self._workload.dataset(split)
            if isinstance(found, DataLoader):
                raise InvalidWorkload(
                    f"dataset({split!r}) returned a DataLoader; return the Dataset that it reads. The job makes the mini-batches: "
                    "see batch_size in the job file, and collate_fn and drop_last of a Workload"
                )
            if found is None or isinstance(found, tuple):
                raise InvalidWorkload(
                    f"dataset({split!r}) must return a Dataset, such as TensorDataset(x, y), not {described(found)}"
                )
            return found

    @property
    def batching(self) -> Batching:
        """The rule by which examples become mini-batches."""
        collate = None if self._inherits("collate_fn") else self._workload.collate_fn
        return Batching(collate, bool(self._workload.drop_last))

    def loss(self, model: nn.Module, batch: Any) -> torch.Tensor:
        with blaming("loss()"), nullcontext() if self._is_exact else narrowed(self._spec, model):
            try:
                return checked_loss(self._workload.loss(model, batch))
            except ValueError as error:
                if "more than 1 value per channel" in str(error):  # what BatchNorm says
                    raise InvalidWorkload(
                        f"{error}. The last mini-batch of a pass has one example, and BatchNorm needs two: set drop_last = True "
                        "in the workload, or choose another batch_size"
                    ) from error
                raise

    def evaluate(self, model: nn.Module, batch: Any) -> dict[str, Any]:
        with blaming("evaluate()"), narrowed(self._spec, model):
            values = self._workload.evaluate(model, batch)
            if not isinstance(values, dict):
                raise InvalidWorkload(f"evaluate() must return a dict of numbers, not {described(values)}")
            return {_metric(key): value for key, value in values.items()}

    @property
    def metric_keys(self) -> list[str]:
        """The keys of `evaluate.metrics`, each once."""
        return list(dict.fromkeys(map(metric_key, self._spec.evaluate.metrics)))

    def predictions(self, model: nn.Module, batch: Any) -> tuple[Any, Any]:
        with blaming("predictions()"), narrowed(self._spec, model):
            found = self._workload.predictions(model, batch)
            if not isinstance(found, tuple) or len(found) != 2:
                raise InvalidWorkload(f"predictions() must return outputs and labels, not {described(found)}")
            return found

    @property
    def summarize(self) -> Callable[[list[dict[str, Any]]], dict[str, float]] | None:
        """None: the workload has none of its own."""
        return None if self._inherits("summarize") else self._summarize

    def _summarize(self, outputs: list[dict[str, Any]]) -> dict[str, float]:
        with blaming("summarize()"):
            values = self._workload.summarize(outputs)
            if not isinstance(values, dict) or not all(map(is_number, values.values())):
                raise InvalidWorkload(f"summarize() must return a dict of numbers, not {described(values)}")
            return {_metric(key): float(value) for key, value in values.items()}

    @property
    def ids(self) -> Callable[[Any], dict[str, torch.Tensor]] | None:
        """None: the workload has none of its own."""
        return None if self._inherits("ids") else self._ids

    def _ids(self, batch: Any) -> dict[str, torch.Tensor]:
        with blaming("ids()"):
            found = self._workload.ids(batch)
            if not isinstance(found, dict):
                raise InvalidWorkload(f"ids() must return a dict of tensors by table, not {described(found)}")
            return {name: _flat_ids(name, of_table) for name, of_table in found.items()}

    @property
    def clicks(self) -> Callable[[Any], torch.Tensor] | None:
        """None: the workload has none of its own."""
        return None if self._inherits("clicks") else self._clicks

    def _clicks(self, batch: Any) -> torch.Tensor:
        with blaming("clicks()"):
            found = self._workload.clicks(batch)
            if not isinstance(found, torch.Tensor):
                raise InvalidWorkload(f"clicks() must return a tensor with a number for each example, not {described(found)}")
            return found

    def has_hook(self, hook: Hook) -> bool:
        """Return whether the workload has one of its own."""
        return not self._inherits(hook)

    def call_hook(self, hook: Hook, *args: Any, number: int = 0) -> None:
        """Call a hook of the workload. Its random numbers change no others: they begin from `number`. Raises: UserError."""
        with blaming(f"{hook}()"), randomness.seeded(seed_of(self._spec.seed, hook, number), gpus=False):
            getattr(self._workload, hook)(*args)

    def _inherits(self, method: str) -> bool:
        return getattr(type(self._workload), method) is getattr(Workload, method) and method not in vars(self._workload)


def _flat_ids(table: str, found: Any) -> torch.Tensor:
    """Return ids as a plain tensor. Raises: InvalidWorkload."""
    if isinstance(found, Ragged):
        return found.ids
    if not isinstance(found, torch.Tensor):
        raise InvalidWorkload(f"table '{table}': ids() must return a tensor of ids for it, not {described(found)}")
    return found.values() if found.is_nested else found


def _metric(key: object) -> str:
    """`key`, if it can be the name of a metric: in a URL, a legend, a column. Raises: InvalidWorkload."""
    if isinstance(key, str) and key.isprintable() and 1 <= len(key) <= _LONGEST_METRIC:
        if key.startswith("eval/"):
            raise InvalidWorkload(
                f"evaluate() names a metric '{key}', which would become 'eval/{key}': the platform puts 'eval/' before every name, "
                "so leave it out"
            )
        return key
    raise InvalidWorkload(f"evaluate() must name its metrics by 1 to {_LONGEST_METRIC} printable characters, not {repr(key)[:60]}")


def _check_rules(spec: JobSpec, model: nn.Module) -> None:
    """Raises: InvalidWorkload: a setting of an optimizer is about parameters that the model does not have."""
    for place, rule in (("optimizer", spec.optimizer), ("roles.server.optimizer", spec.roles.server.optimizer)):
        if rule is None or rule.sees == "element":
            continue
        trained_dtype(model)  # refuses parameters without a shape
        parameters = parameter_shapes(model)
        for key, lack in rule.unused(parameters):
            some = ", ".join(parameter.name for parameter in parameters[:_NAMED])
            raise InvalidWorkload(f"{place}.{key}: {lack}; the model's {len(parameters)} parameters begin with {some}")
