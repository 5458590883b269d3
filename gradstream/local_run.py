"""`gradstream run job.yaml --local`: the job's workload trained in this process by plain torch, as one would by hand.

It is the baseline that a distributed run is compared with, so nothing of the platform takes part: a DataLoader, the job's
optimizer at the strategy's learning rate, `batch_size` examples per step. The number of workers, the gate and the rest of
the strategy have no meaning here; `stop.steps` counts the steps of this one process.
"""

from __future__ import annotations

import importlib
import math
import random
import sys
import time
from collections.abc import Iterator, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, SequentialSampler

from gradstream.data.source import Source
from gradstream.errors import InvalidWorkload
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec
from gradstream.spec.cadence import is_due
from gradstream.worker import ensemble, parts
from gradstream.worker.data import to_device
from gradstream.worker.judge import Judge, StopReason
from gradstream.workload import Split, Workload


@dataclass(frozen=True, slots=True)
class Progress:
    step: int
    samples: int
    total_samples: int
    seconds: float
    """Of training alone; evaluation is not counted."""
    loss: float
    """Mean over the steps since the last report."""
    evaluation: dict[str, float]
    finished: bool
    stopped_by: StopReason | None


def train(spec: JobSpec, folder: Path) -> Iterator[Progress]:
    """Train, reporting at every evaluation; the last report is `finished`.

    Raises: InvalidWorkload, and whatever the user's code raises.
    """
    torch.set_num_threads(spec.roles.worker.threads)
    device = _device(spec)
    workload = _workload(spec, folder)
    model = ensemble.build(workload, spec).to(device)
    data, held_out = _dataset(workload, spec, "train"), _dataset(workload, spec, "eval")
    optimizer = spec.optimizer.build(list(model.parameters()), lr=spec.strategy.lr)
    full_rate = [group["lr"] for group in optimizer.param_groups]
    length = _length(data, spec)
    steps = _steps(spec, length)
    schedule = spec.schedule.for_run(_total_samples(steps, length, spec))
    clock, judge = _EvaluationClock(spec, length), Judge(spec)
    losses: list[float] = []
    samples, seconds = 0, 0.0
    for step, batch in zip(range(1, steps + 1), _batches(data, spec), strict=False):
        began = time.perf_counter()
        optimizer.zero_grad()
        shares = parts.of(to_device(batch, device), _examples(batch), spec.at_once)
        losses.append(ensemble.train_step(model, shares, workload.loss, torch.Tensor.backward))
        if math.isfinite(losses[-1]):
            if spec.optimizer.clip_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), spec.optimizer.clip_norm)
            for group, rate in zip(optimizer.param_groups, full_rate, strict=True):
                group["lr"] = rate * schedule.factor(samples)
            optimizer.step()
        elif spec.on_nan == "fail":
            raise InvalidWorkload(f"the loss of mini-batch {step - 1} is {losses[-1]}; a smaller strategy.lr may help")
        samples += _examples(batch)
        seconds += time.perf_counter() - began
        if clock.is_due(seconds, samples) or step == steps:
            values = _evaluate(workload, model, held_out, spec, device)
            stopped_by = _judge(judge, values, samples, step)
            finished = bool(stopped_by) or step == steps
            mean = sum(losses) / len(losses)
            yield Progress(step, samples, samples + (steps - step) * spec.batch_size, seconds, mean, values, finished, stopped_by)
            losses = []
            if finished:
                return


def _workload(spec: JobSpec, folder: Path) -> Workload:
    """Raises: InvalidWorkload: no such module or class, or it is no Workload."""
    module, _, name = spec.workload.entrypoint.partition(":")
    sys.path.insert(0, str(folder.resolve()))
    _seed(spec)
    try:
        cls = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise InvalidWorkload(f"there is no module '{module}' in {folder}") from error
    if not (isinstance(cls, type) and issubclass(cls, Workload)):
        raise InvalidWorkload(f"'{name}' in {module} is {'missing' if cls is None else 'no subclass of gradstream.Workload'}")
    _seed(spec)
    return cls(**spec.workload.args)


def _seed(spec: JobSpec) -> None:
    """Before each call that makes something, as on the platform: splits that are drawn at random then belong together."""
    random.seed(spec.seed)
    numpy.random.seed(spec.seed)
    torch.manual_seed(spec.seed)


def _dataset(workload: Workload, spec: JobSpec, split: Split) -> Any:
    _seed(spec)
    data = workload.dataset(split)
    if not isinstance(data, IterableDataset) and not len(data):  # type: ignore[arg-type]
        raise InvalidWorkload(f"dataset('{split}') is empty")
    return data


def _length(data: Any, spec: JobSpec) -> int | None:
    """Of one pass. Raises: InvalidWorkload: the job counts passes, and nobody knows it."""
    if isinstance(data, IterableDataset) and spec.data.length:
        return spec.data.length
    if isinstance(data, Sized):
        return len(data)
    if spec.stop.epochs is not None:
        raise InvalidWorkload("stop.epochs: nobody knows the length of dataset('train'); set data.length, or stop.steps alone")
    return None


def _device(spec: JobSpec) -> torch.device:
    wanted = spec.roles.worker.device
    if wanted == "cuda" and not torch.cuda.is_available():
        raise InvalidWorkload("roles.worker.device is cuda, but torch finds no GPU here")
    return torch.device("cpu" if wanted == "cpu" or not torch.cuda.is_available() else "cuda")


def _steps(spec: JobSpec, examples: int | None) -> int:
    by_epochs = math.inf
    if spec.stop.epochs is not None and examples is not None:
        by_epochs = math.ceil(spec.stop.epochs * math.ceil(examples / spec.batch_size))
    return int(min(by_epochs, math.inf if spec.stop.steps is None else spec.stop.steps))


def _batches(data: Dataset[Any], spec: JobSpec) -> Iterator[Any]:
    loader = _loader(data, spec.batch_size, torch.Generator().manual_seed(spec.seed))
    while True:
        batch = None
        for batch in loader:
            yield batch
        if batch is None:
            raise InvalidWorkload("dataset('train') gave no example in a whole pass")


def _loader(data: Any, batch_size: int, generator: torch.Generator | None = None) -> DataLoader[Any]:
    """In a random order, if there is a generator and the data has an order of ours. A `Source` gives whole batches by itself."""
    if isinstance(data, IterableDataset):
        return DataLoader(data, batch_size)
    if isinstance(data, Source):
        sampler = SequentialSampler(data) if generator is None else RandomSampler(data, generator=generator)
        return DataLoader(data, sampler=BatchSampler(sampler, batch_size, drop_last=False), batch_size=None, generator=generator)
    return DataLoader(data, batch_size, shuffle=generator is not None, generator=generator)


def _examples(batch: Any) -> int:
    """The length of the first tensor in a batch, which is what a DataLoader stacks along, or of its first list of texts."""
    while not isinstance(batch, torch.Tensor):
        first = next(iter(batch.values() if isinstance(batch, dict) else batch))
        if isinstance(first, str | bytes):
            break
        batch = first
    return len(batch)


def _evaluate(workload: Workload, model: torch.nn.Module, data: Any, spec: JobSpec, device: torch.device) -> dict[str, float]:
    totals: dict[str, float] = {}
    examples = 0
    model.eval()
    with torch.no_grad():
        for batch in _loader(data, spec.evaluate.batch_size):
            for name, value in ensemble.evaluate(model, to_device(batch, device), workload.evaluate).items():
                totals[name] = totals.get(name, 0.0) + value * _examples(batch)
            examples += _examples(batch)
    model.train()
    if not examples:
        raise InvalidWorkload("dataset('eval') gave no example; the model is scored on it")
    return {name: total / examples for name, total in totals.items()}


class _EvaluationClock:
    """Says when the next evaluation is due."""

    def __init__(self, spec: JobSpec, length: int | None) -> None:
        """`length`: examples of one pass. Raises: InvalidWorkload."""
        cadence = spec.evaluate.cadence
        self._seconds, self._every = cadence.seconds, cadence.in_samples(length)
        if cadence.epochs is not None and self._every is None:
            raise InvalidWorkload("evaluate.every: nobody knows the length of dataset('train'); set data.length, or write samples")
        self._at_seconds, self._at_samples = 0.0, 0

    def is_due(self, seconds: float, samples: int) -> bool:
        if self._every is not None:
            before, self._at_samples = self._at_samples, samples
            return is_due(before, samples, self._every)
        due = self._seconds is not None and seconds - self._at_seconds >= self._seconds
        if due:
            self._at_seconds = seconds
        return due


def _judge(judge: Judge, values: dict[str, float], samples: int, step: int) -> StopReason | None:
    """Raises: InvalidWorkload."""
    try:
        return judge.judge(values, samples=samples, version=step).stop
    except UserError as error:
        raise InvalidWorkload(str(error)) from error


def _total_samples(steps: int, length: int | None, spec: JobSpec) -> int:
    """As on the platform: the last mini-batch of a pass may be smaller."""
    if length is None:
        return steps * spec.batch_size
    passes, rest = divmod(steps, math.ceil(length / spec.batch_size))
    return passes * length + min(rest * spec.batch_size, length)
