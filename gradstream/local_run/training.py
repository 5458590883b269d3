"""The loop of `run --local`."""

from __future__ import annotations

import itertools
import math
import sys
import time
from collections.abc import Iterator, Sized
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, RandomSampler

from gradstream.data.followed import FollowedFolder
from gradstream.data.source import Source, Stream, length_of
from gradstream.errors import InvalidJob, InvalidWorkload
from gradstream.evaluation.judge import Judge, StopReason
from gradstream.evaluation.scoring import Scorer
from gradstream.input import randomness
from gradstream.input.data import never_empty, to_device
from gradstream.input.gather import Batching
from gradstream.input.overlap import find_overlap
from gradstream.input.shuffled import batches_of
from gradstream.local_run.clock import EvaluationClock
from gradstream.local_run.media import LocalMedia
from gradstream.local_run.rows import local_rows
from gradstream.local_run.updates import LocalUpdates
from gradstream.model import parts
from gradstream.model.buffers import plain_name
from gradstream.model.computing.precision import loss_scale
from gradstream.model.ensemble import train_step
from gradstream.model.flat_model import trained_dtype
from gradstream.model.guard import ParameterGuard, watched
from gradstream.model.hooks import WorkloadHooks
from gradstream.model.problem import backward
from gradstream.model.usercode import UserCode, blaming
from gradstream.model.weights.start import model_without_platform
from gradstream.observations.histograms import Observations
from gradstream.observations.recording import recording
from gradstream.observations.sliding import SlidingObservations
from gradstream.progress import log_dropped
from gradstream.progress.evaluation_alerts import not_finite_sentence, overlap_sentence
from gradstream.spec import JobSpec
from gradstream.training.replica import LossNotFinite
from gradstream.user_logging.names import EVALUATION, GROUP


@dataclass(frozen=True, slots=True)
class LocalProgress:
    step: int
    samples: int
    total_samples: int
    seconds: float
    """Seconds of training alone, without evaluation."""
    loss: float
    """Mean over the steps since the last report."""
    evaluation: dict[str, float]
    observed: dict[str, float]
    """Figures of the last examples that the workload observed; empty: none."""
    logged: dict[str, float]
    """Numbers that it has logged since the last report, by `user/NAME`, and in this evaluation."""
    finished: bool
    stopped_by: StopReason | None
    alerts: tuple[str, ...] = ()
    """New alerts since the last report."""


def train(spec: JobSpec, folder: Path, media: LocalMedia | None = None) -> Iterator[LocalProgress]:
    """Train, reporting at every evaluation; the last report is `finished`. `folder`: where the user's modules are. `media`: takes
    media that they log; None: these are dropped.

    Raises: UserError: the workload raised, or does what would not train elsewhere. LossNotFinite. InvalidWorkload. InvalidJob."""
    if spec.stop.never:
        raise InvalidJob("the job never ends by itself, and run --local does; write --set 'stop={steps: 1000}'")
    torch.set_num_threads(spec.roles.worker.threads)
    device = _device(spec)
    if str(folder.resolve()) not in sys.path:
        sys.path.insert(0, str(folder.resolve()))
    code = UserCode(spec)
    model = model_without_platform(code, spec, folder).to(device)
    with blaming("model()"):
        trained_dtype(model)  # what the platform refuses is refused here
    data, held_out = code.dataset("train"), code.dataset("eval")
    with blaming("dataset('eval')"):
        never_empty(held_out)
    scorer = Scorer(code, model, held_out, spec.evaluate.batch_size, device)
    randomness.seed(spec.seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(spec.seed)
    with blaming("dataset('eval')"):
        overlap = find_overlap(data, held_out)
    told = [overlap_sentence(overlap.shared, overlap.compared)] if overlap else []
    known = set[str]()
    for report in _Training(spec, code, model, data, scorer, device, media).reports():
        odd = [name for name, value in report.evaluation.items() if not math.isfinite(value) and name not in known]
        known.update(odd)
        dropped = {"log": (code.logged.dropped, log_dropped.sentence), "media": (code.media.dropped, log_dropped.media_sentence)}
        told += [sentence("run --local") for key, (count, sentence) in dropped.items() if count and key not in known]
        known.update(key for key, (count, _) in dropped.items() if count)
        told += [not_finite_sentence(f"eval/{name}", report.samples) for name in odd]
        yield replace(report, alerts=tuple(told))
        told = []


class _Training:
    """The loop that one would write by hand."""

    def __init__(
        self,
        spec: JobSpec,
        code: UserCode,
        model: torch.nn.Module,
        data: Any,
        scorer: Scorer,
        device: torch.device,
        media: LocalMedia | None,
    ) -> None:
        self._spec, self._code, self._model, self._device = spec, code, model, device
        self._scorer, self._guard, self._media = scorer, ParameterGuard(model), media
        empty = torch.nn.Parameter(torch.empty(0))  # stands in where the model is tables alone
        dense = [(plain_name(name), p) for name, p in model.named_parameters()] or [("", empty)]
        self._optimizer = spec.optimizer.build(dense, lr=spec.strategy.lr)
        self._trained = [p for _, p in dense if p.requires_grad]
        trains = [(name, p) for name, p in dense if p.requires_grad]
        measures = media is not None and spec.update_histograms is not None
        self._updates = LocalUpdates(spec, trains, lambda: media.run_folder) if media and measures else None
        self._full_rate = [group["lr"] for group in self._optimizer.param_groups]
        self._data, length = data, _length(data, spec)
        self._steps = _steps(spec, length, code.batching.drop_last)
        self._schedule = spec.schedule.for_run(_total_samples(self._steps, length, spec, code.batching.drop_last))
        self._clock, self._judge = EvaluationClock(spec, length), Judge(spec)
        self._scale = loss_scale(spec)
        per_epoch = batches_of(length, spec.batch_size, code.batching.drop_last) if length else None
        self._hooks = WorkloadHooks(code, model, self._guard.watching, per_epoch)
        self._rows, self._observed = local_rows(model, spec, code, length), SlidingObservations()

    def reports(self) -> Iterator[LocalProgress]:
        spec, losses = self._spec, list[float]()
        samples, seconds = 0, 0.0
        self._hooks.start()
        for step, (batch, examples) in zip(range(1, self._steps + 1), self._batches(), strict=False):
            began = time.perf_counter()
            losses.append(self._step(step, to_device(batch, self._device), examples, samples))
            samples += examples
            seconds += time.perf_counter() - began
            self._write_media(step, samples)
            if self._clock.is_due(seconds, samples) or step == self._steps:
                values = self._scorer.score()
                self._scorer.end(values)
                self._write_media(step, samples)
                self._model.train()
                stopped_by = self._judge.judge(values, samples=samples, version=step).stop
                finished = bool(stopped_by) or step == self._steps
                mean, total = sum(losses) / len(losses), samples + (self._steps - step) * spec.batch_size
                observed = self._observed.figures()
                if finished:
                    self._hooks.end_epoch_before(step)
                    self._hooks.end()
                    self._write_media(step, samples)
                yield LocalProgress(step, samples, total, seconds, mean, values, observed, self._logged(), finished, stopped_by)
                losses = []
                if finished:
                    return

    def _step(self, step: int, batch: Any, examples: int, samples: int) -> float:
        """One step of the optimizer. Returns the loss."""
        spec, optimizer = self._spec, self._optimizer
        optimizer.zero_grad()
        with blaming("dataset('train')"):
            shares = parts.of(batch, examples, spec.at_once)
        if self._rows:
            self._rows.begin(batch)
        scaled = self._scale.scaling(backward) if self._scale else backward
        loss = watched(self._guard, None, lambda: train_step(self._model, shares, self._loss, scaled))
        if self._scale and not self._scale.unscale(self._trained) and math.isfinite(loss):
            return loss
        self._fill_gradients()
        if self._updates:
            self._updates.look(step=step, samples=samples + examples)
        if math.isfinite(loss):
            if spec.optimizer.clip_norm is not None:
                torch.nn.utils.clip_grad_norm_(self._model.parameters(), spec.optimizer.clip_norm)
            if spec.optimizer.clip_parameter_norm is not None:
                for p in self._trained:
                    torch.nn.utils.clip_grad_norm_(p, spec.optimizer.clip_parameter_norm)
            for group, rate in zip(optimizer.param_groups, self._full_rate, strict=True):
                group["lr"] = rate * self._schedule.factor(samples)
            optimizer.step()
            if self._rows:
                self._rows.step(samples, examples, self._schedule.factor(samples))
        elif spec.on_nan == "fail":
            raise LossNotFinite(f"the loss of mini-batch {step - 1} is {loss}")
        return loss

    def _fill_gradients(self) -> None:
        for p in self._trained:
            if p.grad is None:  # the loss left it out: a worker pushes zeros for it
                p.grad = torch.zeros_like(p)

    def _loss(self, model: torch.nn.Module, batch: Any) -> torch.Tensor:
        if self._rows:
            self._rows.use_clicks(batch)
        observed = Observations()
        with recording(observed):
            loss = self._code.loss(model, batch)
        self._observed.add(observed)
        return loss

    def _batches(self) -> Iterator[tuple[Any, int]]:
        """Mini-batches with how many examples each has, pass after pass."""
        loader = _loader(self._data, self._spec.batch_size, self._code.batching, torch.Generator().manual_seed(self._spec.seed))
        for epoch in itertools.count():
            self._hooks.enter_epoch(epoch)
            passed = self._one_pass(loader)
            first = next(passed, None)
            if first is None:
                raise InvalidWorkload("dataset('train') gave no example in a whole pass")
            yield first
            yield from passed
            self._hooks.end_epoch(epoch)

    def _logged(self) -> dict[str, float]:
        """Take what the workload has logged in training and in the last evaluation."""
        of_groups = {GROUP: self._code.logged, EVALUATION: self._scorer.logged}
        return {f"{group}{name}": value for group, logged in of_groups.items() for name, value in logged.take().items()}

    def _write_media(self, step: int, samples: int) -> None:
        for rank, logged in ((0, self._code.media), (-1, self._scorer.media)):
            if self._media:
                self._media.write(logged, rank=rank, step=step, samples=samples)
            else:
                logged.give_away()

    def _one_pass(self, loader: DataLoader[Any]) -> Iterator[tuple[Any, int]]:
        batches = iter(loader)
        while True:
            with blaming("dataset('train')"):
                batch, examples = next(batches, (None, 0))
            if not examples:
                return
            if examples == self._spec.batch_size or not self._code.batching.drop_last:
                yield batch, examples


def _length(data: Any, spec: JobSpec) -> int | None:
    """Return the examples of one pass; None: not known. Raises: InvalidWorkload: not known, but the job counts passes."""
    if isinstance(data, IterableDataset) and spec.data.pass_examples and not isinstance(data, FollowedFolder):
        return spec.data.pass_examples
    if isinstance(data, Sized):
        return len(data)
    if spec.stop.epochs is not None:
        raise InvalidWorkload("stop.epochs: the length of dataset('train') is not known; set data.length, or stop.steps alone")
    return None


def _device(spec: JobSpec) -> torch.device:
    wanted = spec.roles.worker.device
    if wanted == "cuda" and not torch.cuda.is_available():
        raise InvalidJob("roles.worker.device is cuda, but torch finds no GPU here")
    return torch.device("cpu" if wanted == "cpu" or not torch.cuda.is_available() else "cuda")


def _steps(spec: JobSpec, examples: int | None, drop_last: bool) -> int:
    """Raises: UserError: there is not one mini-batch."""
    if examples is None:
        return spec.stop.steps or 0
    per_epoch = batches_of(examples, spec.batch_size, drop_last)
    with blaming("dataset('train')"):
        if not per_epoch:
            raise InvalidWorkload(f"it has {examples} examples, which do not fill a mini-batch")
    by_epochs = math.inf if spec.stop.epochs is None else math.ceil(spec.stop.epochs * per_epoch)
    return int(min(by_epochs, math.inf if spec.stop.steps is None else spec.stop.steps))


def _loader(data: Any, batch_size: int, batching: Batching, generator: torch.Generator) -> DataLoader[Any]:
    """Gives (batch, examples), in a random order if the data has none of its own. A `Source` gives whole batches by itself."""
    if isinstance(data, Source | Stream):
        batching.never_for(data)
    if isinstance(data, Source):
        sampler = BatchSampler(RandomSampler(data, generator=generator), batch_size, drop_last=False)
        return DataLoader(data, sampler=sampler, batch_size=None, generator=generator, collate_fn=lambda b: (b, length_of(b)))
    order: dict[str, Any] = {} if isinstance(data, IterableDataset) else {"shuffle": True, "generator": generator}
    return DataLoader(data, batch_size, collate_fn=lambda examples: (batching.join(examples), len(examples)), **order)


def _total_samples(steps: int, length: int | None, spec: JobSpec, drop_last: bool) -> int:
    """As on the platform: the last mini-batch of a pass may be smaller, or is left out."""
    if length is None or drop_last:
        return steps * spec.batch_size
    passes, rest = divmod(steps, math.ceil(length / spec.batch_size))
    return passes * length + min(rest * spec.batch_size, length)
