"""The sum of the gradients of replicates, on the device of each. A replicate is one process, with a whole GPU of its own.

    after backward      each process has its gradients in one vector on its device, and begins a sum that the lead gets
    all have answered   the lead waits for the sum, and copies it to where it is pushed from

So no process waits here for another one that may fail before: the lead has the answers of all, and the others do not wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import torch
from torch import Tensor
from torch._C._distributed_c10d import FileStore, Work

from gradstream.group.mesh import PeerMesh
from gradstream.process.exits import UserError
from gradstream.spec.roles import WorkerGroup
from gradstream.wire.gpu.connecting import Connecting, connect_vectors
from gradstream.wire.gpu.vector_group import LONGEST_WAIT, VectorGroup, VectorGroupError

LOOK_INTERVAL = 0.5
"""Seconds between two looks for processes that have failed."""


def adds_on_devices(group: WorkerGroup, devices: Sequence[torch.device], gpu_share: int) -> bool:
    """Return whether the processes on this machine add up their gradients on `devices`, of which each process has one; empty: they
    have none. `gpu_share`: k, as in an order. Raises: UserError: the job says so, and they cannot."""
    if group.collective == "nccl" and not devices:
        raise UserError(
            "roles.worker.group.collective: nccl adds gradients on GPUs, and this worker computes on the CPU; set "
            "roles.worker.device: cuda, or take shared"
        )
    here = group.on_one_machine
    if group.collective == "shared" or not devices or not PeerMesh.of(here).only_replicates or here.replicate == 1:
        return False
    have_one_each = gpu_share == 1 and devices[0].type == "cuda" and len(set(devices)) == len(devices)
    return group.collective == "nccl" or have_one_each


def open_meeting(meeting: Path, count: int) -> FileStore:
    """Return the store in this file, in which processes find each other. One may come as late as its first mini-batch takes."""
    store = FileStore(str(meeting), count)
    store.set_timeout(LONGEST_WAIT)  # torch's own is five minutes, after which NCCL fails
    return store


class ReplicateSum:
    def __init__(
        self,
        meeting: Path,
        number: int,
        count: int,
        device: torch.device,
        look: Callable[[float], None],
        waiting: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """`meeting`: a file in which the processes find each other. `number`, `count`: of this replicate, of all on the machine.
        `look`: called now and then in a wait; it raises if another process has failed. `waiting`: a wait takes place inside."""
        self._meeting, self._number, self._count, self._device = meeting, number, count, device
        self._look, self._inside_wait = look, waiting
        self._group: VectorGroup | None = None
        """None: it is connected with the first sum, as until then a process may fail that the others would wait for."""
        self._begun: Work | None = None

    def begin(self, gradient: Tensor) -> None:
        """Begin to add up this vector, which must not change until `finish`. Raises: UserError; and all that `look` raises."""
        try:
            if self._group is None:
                self._group = self._connect()
            self._begun = self._group.begin(lambda group: group.reduce(gradient, 0))
        except VectorGroupError as error:
            raise self._failed(error) from error

    def finish(self) -> None:
        """Wait until the last sum is there: in the lead's vector. Raises: likewise."""
        begun, self._begun = self._begun, None
        if begun is None or self._group is None:
            return
        try:
            with self._inside_wait():
                self._group.finish(begun, self._look, LOOK_INTERVAL)
        except VectorGroupError as error:
            raise self._failed(error) from error

    def close(self) -> None:
        group, self._group = self._group, None
        if group:
            group.close()

    def _connect(self) -> VectorGroup:
        store = open_meeting(self._meeting, self._count)
        connecting = Connecting(lambda go_on: connect_vectors(store, self._number, self._count, self._device))
        with self._inside_wait():
            return connecting.take(self._look, LOOK_INTERVAL)

    def _failed(self, error: VectorGroupError) -> UserError:
        return UserError(
            f"roles.worker.group.collective: NCCL could not add up the gradients of {self._count} processes: {error}; set "
            "roles.worker.group.collective: shared"
        )
