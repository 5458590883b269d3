"""DistributedDataParallel over gloo: gradients are averaged in every step, while backward still runs.

Default buckets of 25 MB; `gradient_as_bucket_view`, which its documentation advises to save a copy and memory. The rate is that of
one worker times their number, as gradients are averaged. Processes meet through a file. Gloo uses the loopback interface, unless
GLOO_SOCKET_IFNAME names another one."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from benchmarks.peers import system, work
from benchmarks.peers.system import Told


def train(rank: int, told: Told) -> None:
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    from torch.optim import SGD

    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    meeting = (Path(told.folder) / "meeting").as_uri()
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=told.workers, timeout=timedelta(seconds=60))
    model = DistributedDataParallel(work.model(told.item).to(told.device), gradient_as_bucket_view=True)
    optimizer = SGD(model.parameters(), lr=told.lr * told.workers)

    def step() -> None:
        optimizer.step()
        optimizer.zero_grad()

    system.train(told, rank, told.workers, model, step)


def main(told: Told) -> None:
    system.only_dense(told)
    system.run_ranks(train, told.workers, told)
