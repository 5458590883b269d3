"""Combinations in a job file that cannot work, or that would silently ignore an option: each is refused with its remedy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradstream.optim.schedule import Cosine
from gradstream.optim.spec import Sgd
from gradstream.spec.allreduce import gloo_obstacle, nccl_obstacle
from gradstream.spec.group_tables import obstacle_to_tables
from gradstream.spec.values import MAX_SHARDS

if TYPE_CHECKING:
    from gradstream.spec.job import JobSpec
    from gradstream.spec.roles import WorkerRole

_RESERVED_ENV = re.compile(r"^(GRADSTREAM_|LD_|DYLD_|PYTHON)|^(PATH|HOME|USER|SHELL|CUDA_VISIBLE_DEVICES)$")


def check(spec: JobSpec) -> None:
    """Raises: ValueError, whose sentence begins with the key that it is about."""
    name, gate, workers = spec.strategy.name, spec.effective_gate, spec.roles.worker.count
    if gate.mode not in spec.strategy.gates:
        raise ValueError(f"gate: the strategy '{name}' works under {', '.join(sorted(spec.strategy.gates))}, not '{gate.mode}'")
    if gate.quorum is not None and gate.quorum > workers:
        raise ValueError(f"gate.quorum: {gate.quorum} of {workers} workers cannot be had; lower it or raise roles.worker.count")
    if spec.strategy.workers not in (None, workers):
        raise ValueError(f"roles.worker.count: the strategy '{name}' runs with {spec.strategy.workers}, not {workers}")
    if spec.strategy.pushes == "parameters" and not spec.codec.dense:
        raise ValueError(f"codec: '{name}' pushes parameters, and '{spec.codec.name}' leaves most out; take bf16, fp16 or int8")
    if spec.accumulate > spec.batch_size:
        raise ValueError(f"accumulate: a batch_size of {spec.batch_size} has no {spec.accumulate} parts; lower it")
    if spec.roles.server.device == "cuda" and spec.roles.server.count == "auto":
        raise ValueError("roles.server.count: auto goes by cores; with roles.server.device: cuda, say how many GPUs to take")
    if spec.stop.patience is not None and spec.best is None:
        raise ValueError("stop.patience: say what has to become better, e.g. best: {metric: eval/loss}")
    if spec.evaluate.processes > 1 and spec.tables:
        raise ValueError("evaluate.processes: rows of embedding tables come to one process; set it to 1, or remove tables")
    _check_serverless(spec)
    _check_endless(spec)
    _check_optimizers(spec)
    _check_layers(spec)
    _check_pipeline(spec)
    _check_deal(spec)
    _check_hogwild(spec)
    _check_group(spec)
    _check_gpu(spec)
    _check_arithmetic(spec)
    for key in spec.env:
        if _RESERVED_ENV.search(key) or not re.fullmatch(r"[A-Za-z_]\w*", key):
            raise ValueError(f"env.{key}: this name is reserved or not a variable's name")


def _check_serverless(spec: JobSpec) -> None:
    """Refuse what only servers can do."""
    server = spec.roles.server
    if not spec.roles.serverless:
        if server.collective != "auto":
            raise ValueError("roles.server.collective: only workers without servers combine pushes; set count: 0, or remove it")
        return
    gate, remedy = spec.effective_gate, "or set roles.server.count: 1"
    if gate.mode != "bsp":
        raise ValueError(f"roles.server.count: without servers all workers take turns, not {gate.mode}; set gate: bsp, {remedy}")
    if gate.quorum is not None:
        raise ValueError(f"gate.quorum: without servers each turn waits for all workers; remove it, {remedy}")
    if spec.roles.server.device != "cpu":
        raise ValueError(f"roles.server.device: without servers the workers hold the shards; remove it, {remedy}")
    if spec.tables:
        raise ValueError(f"tables: embedding tables need servers; remove them, {remedy}")
    if spec.roles.worker.hogwild > 1:
        raise ValueError(f"roles.worker.hogwild: all workers train in one center, which threads would move; remove it, {remedy}")
    if spec.roles.worker.count > MAX_SHARDS:
        raise ValueError(f"roles.worker.count: without servers at most {MAX_SHARDS} workers can be had; lower it, {remedy}")
    if server.collective == "gloo" and (obstacle := gloo_obstacle(spec)):
        raise ValueError(f"roles.server.collective: {obstacle}, set roles.server.collective: shared (one machine), {remedy}")
    if server.collective == "nccl":
        _check_nccl(spec)


def _check_nccl(spec: JobSpec) -> None:
    obstacle, device = nccl_obstacle(spec), spec.roles.worker.device
    if device != "cuda":
        obstacle = f"nccl adds vectors on GPUs, and roles.worker.device is {device}; set roles.worker.device: cuda"
    if obstacle:
        raise ValueError(f"roles.server.collective: {obstacle}, or take roles.server.collective: auto")


def _check_endless(spec: JobSpec) -> None:
    """Refuse what counts from the end of a job that has none."""
    if not spec.stop.never:
        return
    if isinstance(spec.schedule, Cosine) and spec.schedule.over is None:
        raise ValueError("schedule.over: stop.never has no end for the cosine to reach; say over how many samples it falls")
    if isinstance(spec.schedule.warmup, float):
        raise ValueError("schedule.warmup: stop.never has no end to take a share of; give a number of samples")


def _check_pipeline(spec: JobSpec) -> None:
    name, gate = spec.strategy.name, spec.effective_gate
    if not spec.pipeline:
        return
    if not spec.strategy.pulls_every_round:
        raise ValueError(f"pipeline: '{name}' pulls when it wants to, so its next round cannot begin early; remove it")
    if not gate.never_holds:
        raise ValueError(f"pipeline: under the gate '{gate.mode}' a worker waits for others; take asp without warm_start")
    if gate.max_staleness is not None and gate.max_staleness <= spec.pipeline:
        raise ValueError("gate.max_staleness: with pipeline 1 every push is at least 1 behind, so 1 drops all; take 2 or more")


def _check_deal(spec: JobSpec) -> None:
    """Refuse what mini-batches dealt on demand cannot have."""
    if spec.data.deal == "shares":
        return
    remedy = "or set data.deal: shares"
    if spec.effective_gate.mode == "bsp":
        raise ValueError(f"data.deal: under bsp each round takes as much from every worker; take gate: asp or ssp, {remedy}")
    if spec.roles.worker.hogwild > 1:
        raise ValueError(f"data.deal: hogwild threads share out a worker's own mini-batches; remove roles.worker.hogwild, {remedy}")
    if spec.tables:
        raise ValueError(f"data.deal: rows of embedding tables are asked for by a worker's own order; remove tables, {remedy}")
    if spec.counts_passes:
        raise ValueError(f"data.deal: no worker knows when a pass over dealt data is over; give export no passes, {remedy}")
    if spec.data.processes:
        raise ValueError(f"data.deal: dealt mini-batches are fetched by a thread; set data.processes: 0, {remedy}")
    if spec.data.length is not None:
        raise ValueError(f"data.deal: data.length is for iterable data, which has no numbers to deal; remove data.length, {remedy}")


def _check_hogwild(spec: JobSpec) -> None:
    """Refuse threads that would share nothing, or what they cannot share."""
    name, threads, place = spec.strategy.name, spec.roles.worker.hogwild, "roles.worker.hogwild"
    if threads == 1:
        return
    if spec.strategy.hogwild is None:
        raise ValueError(f"{place}: a round of '{name}' has no steps that threads could share; raise roles.worker.count instead")
    if spec.roles.worker.device == "cuda":
        raise ValueError(f"{place}: threads share the parameters in the memory of CPUs; set roles.worker.device: cpu, or remove it")
    if spec.strategy.averages_optimizers:
        raise ValueError(f"{place}: each thread has its own optimizer, and a push averages one of each worker; take inner: keep")
    window = spec.strategy.steps_per_push()
    if spec.strategy.hogwild == "steps" and window is not None and window < threads:
        raise ValueError(f"{place}: a push after {window} steps leaves some of {threads} threads idle; raise strategy.window")


def _check_group(spec: JobSpec) -> None:
    """Refuse what the processes of a group cannot do together."""
    peers, place = spec.roles.worker.group.peers, "roles.worker.group"
    _check_machines(spec, f"{place}.machines")
    if spec.roles.worker.group.collective == "nccl":
        _check_group_by_nccl(spec.roles.worker, f"{place}.collective")
    if peers == 1:
        return
    if spec.roles.worker.hogwild > 1:
        raise ValueError(f"{place}: hogwild threads take whole mini-batches, and peers take parts of each; remove one of the two")
    if spec.tables and (obstacle := obstacle_to_tables(spec.roles.worker.group)):
        raise ValueError(obstacle)
    group, stages = spec.roles.worker.group, spec.roles.worker.group.stages
    parts = spec.accumulate * group.parts
    if parts > spec.batch_size:
        raise ValueError(
            f"{place}: a batch_size of {spec.batch_size} has no {parts} parts; raise batch_size to {parts}, or lower accumulate or "
            "the group"
        )
    if group.tensor > 1 and spec.compile:
        raise ValueError(f"{place}.tensor: torch compiles a module as a whole, and tensor splits it; remove compile")
    if stages > 1:
        _check_stages(spec, stages, f"{place}.stages")


def _check_group_by_nccl(worker: WorkerRole, place: str) -> None:
    """Refuse processes that NCCL cannot connect, or that have nothing to add up."""
    group, remedy = worker.group, f"or set {place}: shared"
    if group.on_one_machine.replicate == 1:
        raise ValueError(
            f"{place}: nccl adds up the gradients of replicates on a machine, and it has one; raise replicate, {remedy}"
        )
    if (group.fsdp, group.stages, group.tensor) != (1, 1, 1):
        raise ValueError(f"{place}: nccl adds up replicates of one process each; remove fsdp, stages and tensor, {remedy}")
    if worker.device != "cuda":
        raise ValueError(
            f"{place}: nccl adds up on GPUs, and roles.worker.device is {worker.device}; set roles.worker.device: cuda, {remedy}"
        )
    if worker.gpu_share > 1:
        raise ValueError(f"{place}: nccl refuses two processes on one GPU; set roles.worker.gpu: 1, {remedy}")


def _check_gpu(spec: JobSpec) -> None:
    """Refuse a share of a GPU for processes that take none."""
    worker, server = spec.roles.worker, spec.roles.server
    if server.gpu is not None and server.device == "cpu":
        raise ValueError("roles.server.gpu: these shards are on CPUs; set roles.server.device: cuda or auto, or remove gpu")
    if worker.gpu_share > 1 and worker.effective_device == "cpu":
        remedy = "remove gpu, or hogwild" if worker.hogwild > 1 else "set roles.worker.device: cuda or auto, or remove gpu"
        raise ValueError(f"roles.worker.gpu: these workers compute on CPUs; {remedy}")


def _check_machines(spec: JobSpec, place: str) -> None:
    group = spec.roles.worker.group
    if group.replicate % group.machines:
        raise ValueError(
            f"{place}: {group.machines} machines need as many whole replicates each, and replicate is {group.replicate}; set "
            f"roles.worker.group.replicate: {group.machines * -(-group.replicate // group.machines)}"
        )
    if group.machines > 1 and spec.roles.serverless:
        raise ValueError(f"{place}: workers without servers are on one machine each; set roles.server.count: 1, or remove machines")
    if group.machines > 1 and spec.network == "platform":
        raise ValueError(f"{place}: network: platform keeps machines from each other; set network: internet, or remove machines")


def _check_stages(spec: JobSpec, stages: int, place: str) -> None:
    if spec.accumulate < stages:
        parts = spec.roles.worker.group.parts
        most = min(4 * stages, spec.batch_size // parts)
        remedy = (
            f"set accumulate: {most}" if most >= stages else f"raise batch_size to {stages * parts}, and set accumulate: {stages}"
        )
        raise ValueError(f"{place}: {stages} stages need as many parts of a mini-batch, or some idle; {remedy}")
    if spec.members > 1:
        raise ValueError(f"{place}: the blocks of an ensemble are several chains; remove members, or take group: {stages}")
    if spec.compile:
        raise ValueError(f"{place}: torch compiles a model as a whole, and stages take it apart; remove compile")


def _check_arithmetic(spec: JobSpec) -> None:
    if spec.precision == "fp16" and spec.tables:
        raise ValueError("precision: fp16 scales the loss, and with it the gradients of embedding rows; take bf16")
    if spec.roles.worker.hogwild == 1:
        return
    if spec.precision == "fp16":
        raise ValueError("precision: fp16 has one loss scale for a worker, and hogwild threads would each need one; take bf16")
    if spec.recompute != "none":
        raise ValueError("recompute: hogwild threads share random numbers, so dropout could not be repeated; remove it, or hogwild")
    if spec.compile:
        raise ValueError("compile: hogwild threads would compile at once, for which torch is not made; remove it, or hogwild")


def _check_optimizers(spec: JobSpec) -> None:
    name, by_server = spec.strategy.name, spec.strategy.descends == "server"
    if by_server and spec.roles.server.optimizer is not None:
        raise ValueError(f"roles.server.optimizer: '{name}' pushes gradients, so 'optimizer' is the server's; remove one")
    if "server" not in spec.strategy.optimizers and spec.roles.server.optimizer is not None:
        raise ValueError(f"roles.server.optimizer: with '{name}' the server follows the strategy's own rule; remove it")
    if not spec.strategy.optimizers and spec.optimizer != Sgd():
        raise ValueError(f"optimizer: '{name}' makes its steps by itself, with the strategy's lr; remove it")
    if spec.optimizer.lr is not None and not spec.strategy.uses_lr_beside_optimizer and _lr_is_set(spec):
        raise ValueError("optimizer.lr: it would be used instead of strategy.lr; give one of them")
    for place, optimizer, on_server in (
        ("optimizer", spec.optimizer, by_server),
        ("roles.server.optimizer", spec.roles.server.optimizer, True),
    ):
        if isinstance(optimizer, Sgd):
            _check_sgd(spec, place, optimizer, on_server)
        if optimizer and optimizer.clip_norm is not None and optimizer.clip_parameter_norm is not None:
            raise ValueError(f"{place}.clip_parameter_norm: it would clip what clip_norm has clipped already; give one of them")
        if optimizer and optimizer.clip_norm is not None and spec.members > 1:
            raise ValueError(f"{place}.clip_norm: a norm is taken of all members together, which would couple them; remove it")
        if optimizer and optimizer.clip_norm is not None and on_server and spec.roles.server.count != 1:
            raise ValueError(f"{place}.clip_norm: a norm is taken of the whole mean, so it needs roles.server.count: 1")


def _check_layers(spec: JobSpec) -> None:
    """Refuse settings of groups that a rule ignores, and codecs whose blocks the cuts between parameters would split."""
    for place, optimizer in (("optimizer", spec.optimizer), ("roles.server.optimizer", spec.roles.server.optimizer)):
        for number, group in enumerate(optimizer.groups if optimizer else ()):
            if optimizer and not group.adapt and optimizer.name not in ("lars", "lamb"):
                raise ValueError(f"{place}.groups.{number}.adapt: only lars and lamb scale steps by norms; remove it")
    rule, codec = spec.optimizer_at_servers, spec.codec
    if rule.sees != "element" and codec.block > 1 and spec.roles.server.count != 1:
        raise ValueError(
            f"codec: '{codec.name}' codes blocks of {codec.block} elements, and the servers' optimizer has the vector cut between "
            "parameters; take raw or bf16, or roles.server.count: 1"
        )


def _check_sgd(spec: JobSpec, place: str, sgd: Sgd, on_server: bool) -> None:
    if sgd.nesterov and not sgd.momentum:
        raise ValueError(f"{place}.nesterov: needs a momentum above 0")
    if not sgd.momentum_correction:
        return
    if not on_server or spec.effective_gate.mode != "asp":
        raise ValueError(f"{place}.momentum_correction: only a server under the gate asp gains momentum by itself; remove it")
    if sgd.nesterov:
        raise ValueError(f"{place}.momentum_correction: it may turn the momentum negative, which nesterov cannot have")


def _lr_is_set(spec: JobSpec) -> bool:
    return bool(spec.strategy.lr != type(spec.strategy).model_fields["lr"].default)
