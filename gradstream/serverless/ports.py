"""The port of a worker in a job without servers, by where the workers are, and what follows from the loss of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from gradstream.process.exits import UserError
from gradstream.process.order import ProcessOrder
from gradstream.serverless.awaited import ReportAwaited
from gradstream.serverless.collective.port import CollectivePort
from gradstream.serverless.collective.surviving_port import SurvivingPort
from gradstream.serverless.holder.client_port import ClientPort
from gradstream.serverless.holder.port import HolderPort
from gradstream.serverless.port import ServerlessPort
from gradstream.shard_server.settings import ServerSettings
from gradstream.wire.transport.layout import Layout

AnyServerlessPort = ServerlessPort | HolderPort | ClientPort | CollectivePort


def make_port(
    order: ProcessOrder,
    folder: Path,
    layout: Layout,
    on_wait: Callable[[float], None],
    on_awaited: ReportAwaited,
    device: torch.device,
) -> AnyServerlessPort:
    """`device`: that of the worker's theta.

    Raises: UserError: the node has no shared memory for it, or no GPU for NCCL, or the others cannot reach it. PlaneLost: the
    attempt is over."""
    collective, goes_on = order.spec.roles.server.collective, order.spec.effective_on_worker_loss == "continue"
    given = order, folder, layout, ServerSettings(), on_wait
    if collective == "nccl":
        if device.type != "cuda":
            raise UserError(
                "roles.server.collective: nccl adds vectors on GPUs, and this worker computes on the CPU; set "
                "roles.worker.device: cuda, or take gloo"
            )
        return CollectivePort(*given, on_awaited, device)
    if collective == "gloo":
        return SurvivingPort(*given, on_awaited) if goes_on else CollectivePort(*given, on_awaited)
    if not order.spec.one_holder:
        return ServerlessPort(*given, on_awaited)
    if order.rank == 0:
        return HolderPort(*given)
    return ClientPort(order, layout, on_wait)
