"""The setup of workers and evaluators: the device, the user's model as a flat vector, the port to the center."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from gradstream.center.entries import EVALUATOR, Buffers
from gradstream.group.memory import shared_vector
from gradstream.group.problem import GroupProblem
from gradstream.hogwild.problem import HogwildProblem
from gradstream.input.prefetch import Prefetched
from gradstream.model.computing.scaled import problem_of
from gradstream.model.flat_model import FlatModel
from gradstream.model.problem import ModelProblem
from gradstream.model.usercode import UserCode, blaming
from gradstream.model.weights.start import load_start
from gradstream.process.gpus.use import check_gpus
from gradstream.process.order import ProcessOrder
from gradstream.serverless.awaited import ReportAwaited
from gradstream.serverless.ports import AnyServerlessPort, make_port
from gradstream.spec import JobSpec
from gradstream.training.worker_model import piggyback
from gradstream.wire.gpu.memory import CudaMemory
from gradstream.wire.port import RedisPort
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.retransmissions import Retransmissions
from gradstream.wire.transport.shm import count_centers
from worker_node.settings import WorkerSettings

if TYPE_CHECKING:
    from gradstream.model.rows.working_rows import WorkingRows

log = logging.getLogger(__name__)

DATASET, MODEL, FIRST_BATCH = "dataset()", "model()", "the first mini-batch"
"""Phases of the start, as a watchdog reports them."""


def import_phase(spec: JobSpec) -> str:
    """Return the name of the phase that imports the module of user code."""
    return f"import {spec.workload.entrypoint.partition(':')[0]}"


def device_of(order: ProcessOrder) -> torch.device:
    """Return the one GPU that this process can see, or the CPU. A group begins on the CPU: see `devices_of`. Raises: RuntimeError:
    torch cannot use the GPUs that the order names."""
    check_gpus(order)
    return torch.device("cuda:0" if order.gpus and not _is_group(order) else "cpu")


def _is_group(order: ProcessOrder) -> bool:
    return order.role in ("worker", "peers") and order.spec.roles.worker.group.peers > 1


def devices_of(order: ProcessOrder) -> list[torch.device]:
    """Return the GPU of each process of the group on this machine; empty: they compute on the CPU."""
    return [torch.device("cuda", order.visible_gpus.index(gpu)) for gpu in order.gpus]


def prepare_for_peers(count: int) -> None:
    """Keep torch from all that forked peers could not use: threads, and CUDA, which `torch.cuda.is_available()` of user code would
    initialize unless it asks the driver's library. `count`: processes, with this one."""
    if count > 1:
        torch.set_num_threads(1)
        os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"


def flat_model(code: UserCode, order: ProcessOrder, folder: Path, beside: FlatModel | None = None) -> FlatModel:
    """Build the user's model as a flat vector, perhaps that of another one. Raises: UserError, also if the job starts from weights
    of another model."""
    device, model = device_of(order), code.model()
    if start := order.spec.start_from:
        load_start(model, order, start, folder)
    with blaming("model()"):
        make_theta = shared_vector if _is_group(order) or order.role == "evaluator" else None  # its memory goes when it moves
        return FlatModel(model, device, beside, make_theta)


def flat_models(code: UserCode, order: ProcessOrder, folder: Path) -> list[FlatModel]:
    """Build a model for each thread that trains in a worker; all train the theta of the first. Raises: as `flat_model`."""
    first = flat_model(code, order, folder)
    return [first, *(flat_model(code, order, folder, first) for _ in range(1, order.spec.roles.worker.hogwild))]


def problem(
    code: UserCode, flats: list[FlatModel], batches: Prefetched, order: ProcessOrder, rows: WorkingRows | None
) -> ModelProblem:
    """Build the problem of a worker. Raises: InvalidWorkload: its threads or peers cannot share the model or the data."""
    spec = order.spec
    if spec.roles.worker.group.peers > 1:
        return GroupProblem(code, flats[0], batches, spec, rows, devices=devices_of(order), gpu_share=order.gpu_share)
    if len(flats) == 1:
        return problem_of(code, flats[0], batches, spec, rows)
    return HogwildProblem(code, flats, batches, spec, rows)


def port(order: ProcessOrder, flat: FlatModel, retransmissions: Retransmissions, settings: WorkerSettings) -> RedisPort:
    """Build the port to the center. It logs every `say_every` seconds how long it has waited for its next response."""
    codecs = order.spec.codec, order.spec.pull_codec
    return RedisPort(
        order.plane,
        order.plane_id,
        order.rank,
        order.incarnation,
        _layout(order, flat),
        *codecs,
        _log_waits(settings, "the center", "the gate is closed, or no server answers"),
        retransmissions=retransmissions,
        shared=order.shared,
        centers=count_centers(order.spec, order.rank),
        device=CudaMemory() if flat.device.type == "cuda" else None,
        into=flat.theta if order.rank == EVALUATOR else None,  # which computes while no center arrives
    )


def serverless_port(
    order: ProcessOrder, flat: FlatModel, folder: Path, settings: WorkerSettings, on_awaited: ReportAwaited
) -> AnyServerlessPort:
    """Build the port of a worker in a job without servers. It waits for the other workers, and logs how long, as `port` does."""
    on_wait = _log_waits(settings, "the other workers", "one of them is not in this turn yet")
    return make_port(order, folder, _layout(order, flat), on_wait, on_awaited, flat.device)


def _layout(order: ProcessOrder, flat: FlatModel) -> Layout:
    spec = order.spec
    return Layout.of(flat.theta, _travelling(flat, spec), spec.shards, flat.parameters, spec.optimizer_at_servers.sees)


def _log_waits(settings: WorkerSettings, what: str, why: str) -> Callable[[float], None]:
    said = 0.0

    def on_wait(seconds: float) -> None:
        nonlocal said
        said = said if seconds > said else 0.0  # less than then: it is another response that is waited for
        if seconds > said + settings.say_every:
            said = seconds
            log.warning("waiting for %s for %.0f s: %s", what, seconds, why)

    return on_wait


def _travelling(flat: FlatModel, spec: JobSpec) -> Buffers | None:
    """Return buffers of the size of those that a worker's pushes bring."""
    vectors = len(spec.optimizer.state_vectors) if spec.strategy.averages_optimizers else 0
    return piggyback(flat.buffers(), [flat.theta] * vectors)
