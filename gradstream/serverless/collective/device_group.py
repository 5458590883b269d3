"""The process group of workers whose vectors lie on the GPU of each. NCCL adds and copies them there; all else goes by gloo."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from redis import Redis
from torch._C._distributed_c10d import Work

from gradstream.process.exits import UserError
from gradstream.process.order import PlaneAccess
from gradstream.serverless.barrier import LOOK_INTERVAL
from gradstream.serverless.collective.group import END_TIMEOUT, Connecting, GlooGroup, MakeStore
from gradstream.serverless.collective.meeting import RedisStore
from gradstream.wire.gpu.nccl import NcclError, NcclGroup


class DeviceGroup(GlooGroup):
    """A `GlooGroup`. A lost worker ends it: NCCL connects no other workers meanwhile."""

    def __init__(
        self,
        redis: Redis,
        access: PlaneAccess,
        j: str,
        rank: int,
        ranks: Sequence[int],
        look: Callable[[float], None],
        device: torch.device,
        end_timeout: float = END_TIMEOUT,
    ) -> None:
        """Wait until every worker is there. `device`: that of the vectors. See `GlooGroup`.

        Raises: UserError: the others cannot reach this machine, or NCCL cannot connect their GPUs."""
        self._device = device
        self._nccl: NcclGroup | None = None
        """None: it has one worker, or is over."""
        super().__init__(redis, access, j, rank, ranks, look, end_timeout=end_timeout)

    def _connect(self, store: MakeStore, access: PlaneAccess, rank: int) -> Any:
        gloo = super()._connect(store, access, rank)
        try:
            self._nccl = Connecting(store, self._connect_nccl).take(self._look)
        except NcclError as error:
            self._wait_for_end(self._end_timeout)
            raise UserError(
                f"roles.server.collective: NCCL could not connect the GPU of worker {rank} with the others; let their machines "
                f"connect to each other at any port, or set roles.server.collective: gloo ({error})"
            ) from None
        return gloo

    def _connect_nccl(self, store: RedisStore) -> NcclGroup:
        return NcclGroup(store, self.rank, self.count, self._device)

    def _begin(self, begin: Callable[[Any], Work]) -> Work:
        assert self._nccl is not None, "it has others, and is not over"
        try:
            return self._nccl.begin(begin)
        except NcclError as error:
            raise self._broken(error) from error

    def finish(self, work: Work) -> None:
        assert self._nccl is not None, "it has others, and is not over"
        began = time.monotonic()
        try:
            self._nccl.finish(work, self._look, LOOK_INTERVAL)
        except NcclError as error:
            raise self._broken(error) from error
        self.seconds += time.monotonic() - began

    def abandon(self) -> None:
        nccl, self._nccl = self._nccl, None
        if nccl:
            nccl.close()
        super().abandon()
