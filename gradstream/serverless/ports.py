"""The port of a worker in a job without servers, by where the workers are, and what follows from the loss of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from gradstream.process.exits import UserError
from gradstream.process.order import ProcessOrder
from gradstream.serverless.collective.port import CollectivePort
from gradstream.serverless.collective.surviving_port import SurvivingPort
from gradstream.serverless.holder.client_port import ClientPort
from gradstream.serverless.holder.port import HolderPort
from gradstream.serverless.port import ServerlessPort
from gradstream.shard_server.settings import ServerSettings
from gradstream.wire.transport.layout import Layout

AnyServerlessPort = ServerlessPort | HolderPort | ClientPort | CollectivePort


def make_port(
    order: ProcessOrder, folder: Path, layout: Layout, on_wait: Callable[[float], None], device: torch.device
) -> AnyServerlessPort:
    """`device`: that of the worker's theta.

    Raises: UserError: the node has no shared memory for it, or no GPU for NCCL, or the others cannot reach it. PlaneLost: the
    attempt is over."""
    if order.spec.roles.server.collective == "nccl":
        if device.type != "cuda":
            raise UserError(
                "roles.server.collective: nccl adds vectors on GPUs, and this worker computes on the CPU; set "
                "roles.worker.device: cuda, or take gloo"
            )
        return CollectivePort(order, folder, layout, ServerSettings(), on_wait, device)
    if order.spec.roles.server.collective == "gloo":
        port = SurvivingPort if order.spec.effective_on_worker_loss == "continue" else CollectivePort
        return port(order, folder, layout, ServerSettings(), on_wait)
    if not order.spec.one_holder:
        return ServerlessPort(order, folder, layout, ServerSettings(), on_wait)
    if order.rank == 0:
        return HolderPort(order, folder, layout, ServerSettings(), on_wait)
    return ClientPort(order, layout, on_wait)
