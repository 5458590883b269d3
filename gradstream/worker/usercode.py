"""The user's code, inside a job process: found, called, and blamed by name when it raises."""

from __future__ import annotations

import importlib
from types import TracebackType
from typing import Any

import torch
from torch import nn
from torch.utils.data import Dataset

from gradstream.errors import InvalidWorkload
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec
from gradstream.worker import ensemble, randomness
from gradstream.workload import Split, Workload

_LONGEST_METRIC = 100


class blaming:
    """What is raised inside (`but` this) is the workload's fault: UserError("<part>"). It may even call sys.exit().

    A part inside of another one is the one that is blamed. A class, since each mini-batch passes three of these and a generator
    takes twice as long."""

    def __init__(self, part: str, but: type[Exception] | tuple[()] = ()) -> None:
        self._part, self._but = part, but

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, Exception | SystemExit) and not isinstance(error, UserError) and not isinstance(error, self._but):
            raise UserError(f"the workload failed in {self._part}") from error


class UserCode:
    """A workload of which every call is blamed on its author if it raises."""

    def __init__(self, spec: JobSpec) -> None:
        """Imports the entrypoint: what it draws at import is the same in every process of the job. Raises: UserError."""
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

    def model(self) -> nn.Module:
        """The same model in every process of the job."""
        with blaming("model()"):
            return ensemble.build(self._workload, self._spec)

    def dataset(self, split: Split) -> Dataset[Any]:
        """The same data set in every process of the job, also if it is split at random."""
        with blaming(f"dataset({split!r})"), randomness.seeded(self._spec.seed):
            return self._workload.dataset(split)

    def loss(self, model: nn.Module, batch: Any) -> torch.Tensor:
        with blaming("loss()"):
            loss = self._workload.loss(model, batch)
            if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
                raise InvalidWorkload(f"loss() must return a scalar tensor, not {_described(loss)}")
        return loss

    def evaluate(self, model: nn.Module, batch: Any) -> dict[str, float]:
        return ensemble.evaluate(model, batch, self._scores)

    def _scores(self, model: nn.Module, batch: Any) -> dict[str, float]:
        with blaming("evaluate()"):
            values = self._workload.evaluate(model, batch)
            if not isinstance(values, dict):
                raise InvalidWorkload(f"evaluate() must return a dict of numbers, not {_described(values)}")
            return {_metric(key): float(value) for key, value in values.items()}


def _metric(key: object) -> str:
    """`key`, if it can be the name of a metric: in a URL, a legend, a column. Raises: InvalidWorkload."""
    if isinstance(key, str) and key.isprintable() and 1 <= len(key) <= _LONGEST_METRIC:
        return key
    raise InvalidWorkload(f"evaluate() must name its metrics by 1 to {_LONGEST_METRIC} printable characters, not {repr(key)[:60]}")


def _described(value: object) -> str:
    return f"a tensor of shape {tuple(value.shape)}" if isinstance(value, torch.Tensor) else f"a {type(value).__name__}"
