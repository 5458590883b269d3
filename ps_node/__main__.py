"""The parameter-server process: one shard of one job."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import torch

from gradstream.process import exits
from gradstream.process.gpus.mps import finish_kernels
from gradstream.process.gpus.use import check_gpus
from gradstream.process.order import ProcessOrder
from gradstream.shard_server.settings import ServerSettings
from gradstream.wire.gpu.memory import CudaMemory
from gradstream.wire.telemetry.reporter import Reporter
from ps_node.server import Server

_LAST, _GOODBYE = 10.0, 3.0
"""Seconds for the last metrics: at the end, and when the node ends this process, which it gives 5 s for that."""


def main(order: ProcessOrder, folder: Path) -> int:
    """Serve until the job is over. Returns the exit code, and leaves the reason in `folder`."""
    server = None
    with exits.explained(folder) as ending:
        torch.set_num_threads(1)  # a shard's vectors are slices already; and one thread gives the same bits everywhere
        reporter = Reporter(order.plane, order.plane_id, order.full_label)
        try:
            device = _device(order)
            server = Server(order, folder, reporter, ServerSettings(), device, CudaMemory(order.gpu_share) if device else None)
            signal.signal(signal.SIGTERM, lambda *_: server.leave())
            server.run()
        finally:
            reporter.close(_GOODBYE if server and server.leaving else _LAST)
    if server and server.leaving and not server.shard.ended:
        finish_kernels()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)  # it has not done its work: whoever waits for it has to see that
    return ending.code


def _device(order: ProcessOrder) -> torch.device | None:
    if not order.gpus:
        return None
    check_gpus(order)
    return torch.device("cuda:0")
