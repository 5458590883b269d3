"""What a job will do, by formulas, before anything of it has run: rhythm, staleness, traffic and memory.

Cheap and without torch, so that the control plane can say it as one types. They are of workers of equal speed;
tests/unit/advise/test_forecast.py holds them against what `gradstream.advise.outlook` simulates, strategy by strategy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from gradstream.advise.limits import alternating
from gradstream.center.slices import slices
from gradstream.codecs.base import Codec
from gradstream.optim.spec import Sgd
from gradstream.spec import JobSpec

ITEM = 4
"""Bytes of a parameter, as nearly all models have them."""


class Size(BaseModel, frozen=True):
    """Of a model, as far as somebody knows it."""

    parameters: int = Field(ge=1, le=10**12, description="Trained parameters, of all members together", examples=[101_770])
    step: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="Seconds of a mini-batch of one worker", examples=[0.004]
    )


class Staleness(BaseModel, frozen=True):
    mean: float = Field(
        description="Changes of the center between a pull and the push that answers it, with workers of equal speed"
    )
    reason: str = Field(description="By which rule; a sentence")


class Traffic(BaseModel, frozen=True):
    """Of one worker."""

    push_bytes: int = Field(description="Of a push, as the codec sends it")
    pull_bytes: int = Field(description="Of a pull, as pull_codec sends it")
    pushes: float | None = Field(description="Per mini-batch; null where it depends on how many there are in an epoch")
    pulls: float | None = Field(description="Per mini-batch")
    sent_per_second: float | None = Field(description="Bytes that a worker pushes if it never waits; null: its speed is not known")
    received_per_second: float | None = Field(description="Bytes that it pulls")


class Memory(BaseModel, frozen=True):
    """Vectors as long as the model. Activations, mini-batches and some 300 MB of PyTorch for each process come on top."""

    worker: int = Field(description="Bytes of a worker")
    server: int = Field(description="Bytes of all shards together")
    evaluator: int


@dataclass(frozen=True, slots=True)
class Split:
    """Bytes of one process that computes on a GPU."""

    gpu: int
    host: int
    """Pinned: what travels, on its way."""


def staleness(spec: JobSpec) -> Staleness:
    n, gate, k = spec.roles.worker.count, spec.effective_gate, _settings(spec, "k")
    if gate.mode == "bsp":
        return Staleness(mean=0, reason="bsp: all pushes of a round are made from the center that they are applied to.")
    if gate.mode == "ssp" and gate.bound == 0:
        return Staleness(mean=(n - 1) / 2, reason=f"(n - 1) / 2: {n} workers pull at once and are applied one after another.")
    between = alternating(spec) - 1
    rule = _rule(spec, between)
    if spec.strategy.name == "delayed_diloco":
        gathered = k or n
        return Staleness(mean=between / gathered, reason=f"{rule[:-1]}, and the center changes once for {gathered} of them.")
    if (push := _settings(spec, "n_push")) and push != (fetch := _settings(spec, "n_fetch")):
        told = f"A center is kept for {fetch} mini-batches, and each of {n} workers pushes after every {push}."
        return Staleness(mean=_apart(n, push, fetch or 1), reason=told)
    return Staleness(mean=between, reason=rule)


def _rule(spec: JobSpec, between: int) -> str:
    n, limit = spec.roles.worker.count, spec.effective_gate.max_staleness
    if n == 1 and not between:
        return "One worker: nobody else changes the center."
    if between < n * (1 + spec.pipeline) - 1:
        return f"max_staleness: what is {limit} or more behind is dropped, and {n} workers would be {n * (1 + spec.pipeline) - 1}."
    if spec.pipeline:
        return "2 n - 1: rounds overlap, so every push is one of each worker's staler."
    return "n - 1: each other worker pushes once between a worker's pull and its push."


def _apart(n: int, push: int, fetch: int) -> float:
    """With separate windows: what others push since the last fetch, and what the worker itself did."""
    step = math.gcd(push, fetch)
    moments, every = fetch // step, push // step  # a push meets each age step, 2 step, ..., fetch as often
    whole, rest = divmod(moments, every)
    own = every * whole * (whole - 1) // 2 + whole * rest
    return (n - 1) * (fetch + step) / 2 / push + own / moments


def rhythm(spec: JobSpec) -> tuple[float, float] | None:
    """Pushes and pulls for each mini-batch of a worker; None where the job file does not say."""
    if "epochs" in type(spec.strategy).model_fields:
        return None
    if push := _settings(spec, "n_push"):
        return 1 / push, 1 / (_settings(spec, "n_fetch") or push)
    if "window" not in type(spec.strategy).model_fields:
        return 1.0, 1.0
    window = _settings(spec, "window")
    return None if window is None else (1 / window, 1 / window)


def traffic(spec: JobSpec, size: Size) -> Traffic:
    beat, riding = rhythm(spec), ITEM * size.parameters * _riding(spec)
    pushed, pulled = (_coded(spec, codec, size.parameters) + riding for codec in (spec.codec, spec.pull_codec))
    pushes, pulls = beat or (None, None)
    return Traffic(
        push_bytes=pushed, pull_bytes=pulled, pushes=pushes, pulls=pulls,
        sent_per_second=pushed * pushes / size.step if pushes and size.step else None,
        received_per_second=pulled * pulls / size.step if pulls and size.step else None,
    )  # fmt: skip


def memory(spec: JobSpec, size: Size) -> Memory:
    """By what the processes keep: theta, a gradient, what is pushed and what was pulled; and what belongs to the job's choices."""
    by_server, n = spec.strategy.descends == "server", spec.roles.worker.count
    bends = spec.optimizer if by_server else spec.server_optimizer
    residual = spec.codec.lossy and spec.strategy.pushes == "direction"
    worker = 4 + residual + spec.pipeline + (0 if by_server else _kept(spec.optimizer))
    server = 2 + _kept(bends) + (n if spec.strategy.keeps_base else 0) + (spec.strategy.name == "delayed_diloco")
    server += spec.evaluate.average is not None
    server += spec.effective_gate.mode != "bsp" and not (spec.strategy.answers or spec.strategy.keeps_base)  # what a sample is of
    vector = ITEM * size.parameters
    return Memory(worker=worker * vector, server=server * vector, evaluator=2 * vector)


def worker_on_gpu(spec: JobSpec, size: Size) -> Split:
    """Theta, gradients, what was pulled and the optimizer's state are on the GPU; what travels is coded on the host."""
    kept = 0 if spec.strategy.descends == "server" else _kept(spec.optimizer)
    residual = spec.codec.lossy and spec.strategy.pushes == "direction"
    vector = ITEM * size.parameters
    return Split((3 + kept) * vector, (2 + residual + spec.pipeline) * vector)


def shard_on_gpu(spec: JobSpec, size: Size) -> Split:
    """One of the job's shards. Beside what every shard keeps, the newest push of each worker is on the GPU."""
    n, shards = spec.roles.worker.count, spec.roles.server.shards
    answers = n if spec.strategy.answers and spec.effective_gate.mode == "bsp" else 1
    vector = ITEM * size.parameters
    return Split(math.ceil((memory(spec, size).server + n * vector) / shards), math.ceil(answers * vector / shards))


def _coded(spec: JobSpec, codec: Codec, parameters: int) -> int:
    return sum(codec.nbytes(part.stop - part.start, ITEM) for part in slices(parameters, spec.roles.server.shards))


def _riding(spec: JobSpec) -> int:
    """Vectors that travel beside the parameters."""
    return _kept(spec.optimizer) if spec.strategy.averages_optimizers else 0


def _kept(optimizer: Any) -> int:
    plain = isinstance(optimizer, Sgd) and not optimizer.momentum
    return 0 if plain else len(optimizer.state_vectors)


def _settings(spec: JobSpec, name: str) -> int | None:
    found: int | None = getattr(spec.strategy, name, None)
    return found
