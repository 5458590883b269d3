"""Forecasts of a job by formulas, before it runs: rhythm, staleness, traffic and memory.

They are cheap and need no torch, so the control plane can show them while the user types. They assume workers of equal speed;
tests/unit/advise/test_forecast.py compares them with the simulations of `gradstream.advise.outlook`, strategy by strategy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gradstream.advise.group.activations import activations, evaluation_activations, filled_parameters
from gradstream.advise.group.memory import gradient_memory
from gradstream.advise.limits import alternating
from gradstream.advise.server_memory import kept_by, responses, server_vectors
from gradstream.api.plan import Memory, Size, Staleness, Traffic
from gradstream.center.parameters.slices import slices
from gradstream.codecs.base import Codec
from gradstream.spec import JobSpec
from gradstream.spec.values import GPU_TICKS

ITEM = 4
"""Bytes of a parameter in nearly all models."""


@dataclass(frozen=True, slots=True)
class Split:
    """Bytes of a worker or a shard that computes on GPUs."""

    gpu: int
    """Bytes of each process, on its GPU."""
    host: int
    """Bytes of all its processes together: vectors on their way, and what a group shares."""
    machine: int = 0
    """Bytes of a group's processes on each machine beside the first one."""


def staleness(spec: JobSpec) -> Staleness:
    n, gate, strategy = spec.roles.worker.count, spec.effective_gate, spec.strategy
    if gate.mode == "bsp":
        return Staleness(mean=0, reason="bsp: all pushes of a round are made from the center that they are applied to.")
    if (threads := spec.roles.worker.hogwild) > 1 and strategy.hogwild == "gradients":
        told = f"n h - (h + 1) / 2: a worker pushes {threads} gradients of one center, as each of {n} workers does meanwhile."
        return Staleness(mean=n * threads - (threads + 1) / 2, reason=told)
    if gate.mode == "ssp" and gate.bound == 0:
        return Staleness(mean=(n - 1) / 2, reason=f"(n - 1) / 2: {n} workers pull at once and are applied one after another.")
    between = alternating(spec) - 1
    rule = _rule(spec, between)
    if gathered := strategy.gathers(n):
        return Staleness(mean=between / gathered, reason=f"{rule[:-1]}, and the center changes once for {gathered} of them.")
    push, fetch = strategy.steps_per_push(), strategy.steps_per_pull()
    if push and fetch and push != fetch:
        told = f"A center is kept for {fetch} mini-batches, and each of {n} workers pushes after every {push}."
        return Staleness(mean=_apart(n, push, fetch), reason=told)
    return Staleness(mean=between, reason=rule)


def _rule(spec: JobSpec, between: int) -> str:
    n, limit = spec.roles.worker.count, spec.effective_gate.max_staleness
    if n == 1 and not between:
        return "One worker: no other worker changes the center."
    if between < n * (1 + spec.pipeline) - 1:
        return f"max_staleness: what is {limit} or more behind is dropped, and {n} workers would be {n * (1 + spec.pipeline) - 1}."
    if spec.pipeline:
        return "2 n - 1: rounds overlap, so every push is one of each worker's staler."
    return "n - 1: each other worker pushes once between a worker's pull and its push."


def _apart(n: int, push: int, fetch: int) -> float:
    """Return the mean staleness with separate windows: the others' pushes since the last fetch, and the worker's own."""
    step = math.gcd(push, fetch)
    moments, every = fetch // step, push // step  # a push meets each age step, 2 step, ..., fetch as often
    whole, rest = divmod(moments, every)
    own = every * whole * (whole - 1) // 2 + whole * rest
    return (n - 1) * (fetch + step) / 2 / push + own / moments


def rhythm(spec: JobSpec) -> tuple[float, float] | None:
    """Return the pushes and pulls for each mini-batch of a worker; None where the job file does not say."""
    push, pull = spec.strategy.steps_per_push(), spec.strategy.steps_per_pull()
    return None if push is None or pull is None else (1 / push, 1 / pull)


def traffic(spec: JobSpec, size: Size) -> Traffic:
    beat, piggyback = rhythm(spec), ITEM * size.parameters * _piggyback(spec)
    pushed, pulled = (_coded(spec, codec, size.parameters) + piggyback for codec in (spec.codec, spec.pull_codec))
    if spec.roles.serverless and not spec.shares_memory:
        pushed = pulled = _allreduced(spec, size.parameters) + piggyback * (spec.roles.worker.count - 1)
    pushes, pulls = beat or (None, None)
    step = size.step and size.step / spec.parallelism
    return Traffic(
        push_bytes=pushed,
        pull_bytes=pulled,
        pushes=pushes,
        pulls=pulls,
        sent_per_second=pushed * pushes / step if pushes and step else None,
        received_per_second=pulled * pulls / step if pulls and step else None,
        machine_bytes=ITEM * size.parameters if spec.roles.worker.group.machines > 1 else None,
    )


def memory(spec: JobSpec, size: Size) -> Memory:
    """At most: theta, a gradient, what is pushed and what was pulled; what a round makes, and what belongs to the job's choices."""
    by_server, role = spec.strategy.descends == "server", spec.roles.worker
    residual = spec.codec.lossy and spec.strategy.pushes == "direction"
    kept, more_threads, group = 0 if by_server else kept_by(spec.optimizer), role.hogwild - 1, role.group.on_one_machine
    gradients = gradient_memory(group, size, spec.accumulate)
    travel = 2 + residual + spec.pipeline
    threads = more_threads * (1 + kept)  # each has gradients of its own
    vector = ITEM * size.parameters
    narrow = _narrow(spec, vector)
    each_narrow = math.ceil(gradients.computed * narrow)
    rounds = spec.strategy.round_vectors
    worker = (1 + travel + rounds + kept + threads) * vector + _nbytes(gradients.all(group.peers) * vector)
    worker += more_threads * narrow + group.peers * each_narrow
    worker += _without_servers(spec, vector)
    lead = peer = machine = None
    if role.group.machines > 1:
        worker += (role.group.machines - 1) * vector  # the gradients of the other machines
        own_sum = group.peers == group.replicate  # a lead would sum where its pushes are sent from
        machine = _nbytes((1 + own_sum + gradients.all(group.peers)) * vector) + group.peers * each_narrow
    if role.group.peers > 1:
        own, of_optimizer = gradients.each * vector + each_narrow, kept * vector / (group.peers if group.fsdp > 1 else 1)
        lead = _nbytes(own + of_optimizer + (travel + rounds) * vector)
        peer = _nbytes(own + (of_optimizer if group.fsdp > 1 else 0))
    return Memory(
        worker=worker,
        lead=lead,
        peer=peer,
        machine=machine,
        server=0 if spec.roles.serverless else server_vectors(spec) * vector,
        evaluator=_evaluator_vectors(spec) * vector + spec.evaluate.processes * narrow + evaluation_activations(spec, size),
        activations=activations(spec, size),
    )


def _without_servers(spec: JobSpec, vector: int) -> int:
    """Return the bytes of what a worker holds in place of servers, less those of vectors that all share; of worker 0, where it
    holds the only shard."""
    if not spec.roles.serverless:
        return 0
    shard = math.ceil((1 + server_vectors(spec)) * vector / spec.shards)  # and the mean of all pushes
    if spec.one_holder:
        return shard
    if spec.shares_memory:  # what was pulled is one center for all, in which a process may train
        return shard - vector + math.ceil(vector / spec.roles.worker.count)
    # the sum of all pushes, beside the worker's own; and the last one, where others may lack it
    return shard + vector * (2 if spec.effective_on_worker_loss == "continue" else 1)


def _evaluator_vectors(spec: JobSpec) -> int:
    """Return the centers that arrive, in one of which theta is: by time, the last one comes beside another. Several processes share
    a theta beside them."""
    return 1 + spec.evaluate.cadence.by_time + (spec.evaluate.processes > 1)


def _nbytes(exact: float) -> int:
    """Round up, but for errors of floats."""
    return math.ceil(round(exact, 3))


def remote_memory(spec: JobSpec, size: Size, workers: int) -> int:
    """Return the bytes of all shards for so many workers on other machines: the newest pushes of each, as they arrive and decoded,
    and its last response if that cannot be made anew."""
    vector = ITEM * size.parameters
    push = _coded(spec, spec.codec, size.parameters) + spec.codec.lossy * vector
    sent = _coded(spec, spec.pull_codec, size.parameters) if workers and spec.pull_codec.lossy else 0
    return workers * ((2 + spec.pipeline) * push + spec.strategy.responds * vector) + sent


def worker_on_gpu(spec: JobSpec, size: Size) -> Split:
    """Theta, gradients, what was pulled and the optimizer's state are on the GPU; what travels is coded on the host. With NCCL,
    none does. Those of a group have theta and gradients alone there: see `_group_on_gpus`."""
    kept = 0 if spec.strategy.descends == "server" else kept_by(spec.optimizer)
    residual = spec.codec.lossy and spec.strategy.pushes == "direction"
    rounds, vector = spec.strategy.round_vectors, ITEM * size.parameters
    travels = (2 + residual + spec.pipeline) * vector + _without_servers(spec, vector)
    if spec.roles.worker.group.peers > 1:
        found = _group_on_gpus(spec, size, vector)
        return Split(found.gpu, found.host + travels + (rounds + kept) * vector, found.machine)
    if spec.settled_collective == "nccl":  # theta, its gradient, the push and the sum; and the whole shard
        return Split((4 + rounds + kept + server_vectors(spec, on_gpu=True)) * vector + _narrow(spec, vector), vector)
    return Split((3 + rounds + kept) * vector + _narrow(spec, vector), travels)


def _group_on_gpus(spec: JobSpec, size: Size, vector: int) -> Split:
    """Each process has a copy of the parameters that it computes with, and their gradients; with fsdp, of two blocks at a time
    (docs/adr/0164). Theta, the sums of gradients and the optimizer are in the memory of the host (docs/adr/0153). The caller adds
    the optimizer and vectors on their way."""
    group = spec.roles.worker.group
    here = group.on_one_machine
    gradients = gradient_memory(here, size, spec.accumulate)
    gathers = here.peers == here.replicate  # into one vector, on the GPU and on the host of the lead
    theta = filled_parameters(spec, size)
    kept = min(theta, gradients.computed) if spec.recompute == "blocks" else gradients.computed  # else until backward is over
    gpu = (theta + gradients.each + gathers) * vector + kept * _narrow(spec, vector)
    waiting = here.peers * gradients.each if group.fsdp > 1 and group.tensor == 1 else 0.0  # buckets in pinned memory
    host = 1 + gradients.shared + waiting + gathers
    machine = _nbytes(host * vector) if group.machines > 1 else 0
    return Split(_nbytes(gpu), _nbytes((host + group.machines - 1) * vector), machine)


def shard_on_gpu(spec: JobSpec, size: Size) -> Split:
    """One of the job's shards. Beside what every shard keeps, the newest push of each worker is on the GPU, and the centers
    for workers that share it (docs/adr/0155-a-worker-and-its-shard-share-memory-of-one-gpu.md)."""
    n, shards = spec.roles.worker.count, spec.shards
    vector = ITEM * size.parameters
    there = n + _workers_beside(spec) * (1 + spec.pipeline)
    return Split(
        math.ceil((server_vectors(spec, on_gpu=True) + there) * vector / shards),
        math.ceil(max(1, responses(spec)) * vector / shards),
    )


def _workers_beside(spec: JobSpec) -> int:
    """Return how many workers at most exchange vectors with the shard in the memory of its GPU."""
    worker, share = spec.roles.worker, spec.roles.shard_gpu_share
    if spec.shards > 1 or spec.codec.lossy or spec.pull_codec.lossy or worker.effective_device == "cpu" or worker.group.peers > 1:
        return 0
    return min(worker.count, (GPU_TICKS - GPU_TICKS // share) * worker.gpu_share // GPU_TICKS)


def _allreduced(spec: JobSpec, parameters: int) -> int:
    """Return the bytes that each worker sends, and receives, in an allreduce over a ring."""
    n = spec.roles.worker.count
    return math.ceil(2 * (n - 1) / n * ITEM * parameters)


def _coded(spec: JobSpec, codec: Codec, parameters: int) -> int:
    return sum(codec.nbytes(part.stop - part.start, ITEM) for part in slices(parameters, spec.shards))


def _piggyback(spec: JobSpec) -> int:
    """Vectors that travel beside the parameters."""
    return kept_by(spec.optimizer) if spec.strategy.averages_optimizers else 0


def _narrow(spec: JobSpec, vector: int) -> int:
    """Autocast keeps a copy of the weights in 16 bits until backward is over, at most of all."""
    return vector // 2 if spec.precision != "fp32" else 0
