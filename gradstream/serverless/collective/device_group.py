"""The process group of workers whose vectors lie on the GPU of each. NCCL adds and copies them there; all else goes by gloo.
If the device is the CPU, as in tests, gloo adds them up, too: see `gradstream.wire.gpu.gloo_twin`."""

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
from gradstream.serverless.collective.group import END_TIMEOUT, GlooGroup, MakeStore
from gradstream.serverless.collective.meeting import RedisStore
from gradstream.wire.gpu.connecting import Connecting, connect_vectors
from gradstream.wire.gpu.vector_group import VectorGroup, VectorGroupError


class DeviceGroup(GlooGroup):
    """A `GlooGroup`. The loss of a worker ends it, as NCCL does not survive that."""

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
        self._devices: VectorGroup | None = None
        """None: it has one worker, or is over."""
        super().__init__(redis, access, j, rank, ranks, look, end_timeout=end_timeout)

    def _connect(self, store: MakeStore, access: PlaneAccess, rank: int) -> Any:
        gloo = super()._connect(store, access, rank)
        try:
            self._devices = Connecting(lambda go_on: self._connect_devices(store(go_on))).take(self._look, LOOK_INTERVAL)
        except VectorGroupError as error:
            self._wait_for_end(self._end_timeout)
            raise UserError(
                f"roles.server.collective: NCCL could not connect the GPU of worker {rank} with the others; let their machines "
                f"connect to each other at any port, or set roles.server.collective: gloo ({error})"
            ) from None
        return gloo

    def _connect_devices(self, store: RedisStore) -> VectorGroup:
        return connect_vectors(store, self.rank, self.count, self._device)

    def _begin(self, begin: Callable[[Any], Work]) -> Work:
        assert self._devices is not None, "it has others, and is not over"
        try:
            return self._devices.begin(begin)
        except VectorGroupError as error:
            raise self._broken(error) from error

    def finish(self, work: Work) -> None:
        assert self._devices is not None, "it has others, and is not over"
        began = time.monotonic()
        try:
            self._devices.finish(work, self._look, LOOK_INTERVAL)
        except VectorGroupError as error:
            raise self._broken(error) from error
        self.seconds += time.monotonic() - began

    def abandon(self) -> None:
        devices, self._devices = self._devices, None
        if devices:
            devices.close()
        super().abandon()
