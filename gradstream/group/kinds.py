"""The step of each process of a group, of the parts that its axes need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import NamedTuple

import torch
from torch import Tensor, nn

from gradstream.errors import InvalidWorkload
from gradstream.group.devices.replicate_sum import ReplicateSum
from gradstream.group.devices.to_host import ToHost
from gradstream.group.fsdp.buckets import BucketChain, buckets_of, buckets_of_members
from gradstream.group.fsdp.sum_turn import SumTurn
from gradstream.group.memory import GroupMemory
from gradstream.group.mesh import PeerMesh, PeerPlace
from gradstream.group.neighbour_pipe import NeighbourPipe, Receive
from gradstream.group.pipes import GroupPipes, PlacePipes
from gradstream.group.stages.bounds import stage_bounds
from gradstream.group.stages.homes import buffer_owners, homes_of, parameters_elsewhere
from gradstream.group.stages.pipeline import PipelineStage
from gradstream.group.stages.stage import Stage
from gradstream.group.step import ChainStep, ProcessStep, ReplicateStep, WholeStep
from gradstream.group.tensor.exchange import PeerExchange
from gradstream.group.tensor.plan import planned_modules
from gradstream.group.tensor.split_model import SplitModel
from gradstream.group.tensor.step import TensorStep
from gradstream.input import randomness
from gradstream.model.flat_model import FlatModel
from gradstream.model.usercode import UserCode, blaming
from gradstream.process.begin import seed_of
from gradstream.process.gpus.use import limit_gpu_memory
from gradstream.wire.gpu.registered import RegisteredMemory


class PeerWaits(NamedTuple):
    """How a process waits for others. Both raise if one of them has ended or failed."""

    receive_from: Callable[[int], Receive]
    """Returns what receives from the peer with this number."""
    wait_for: Callable[[int], None]
    """PeerWaits until something can be read from this file, in which other peers write."""
    look: Callable[[float], None]
    """Raises if one of the others has ended or failed; else it only says how long a wait takes."""
    waiting: Callable[[], AbstractContextManager[None]]
    """A wait takes place inside."""


class GroupModel:
    """The model as all processes of a group know it, and the memory that they share. Made before they are forked."""

    def __init__(
        self,
        code: UserCode,
        flat: FlatModel,
        mesh: PeerMesh,
        first_replicate: int = 0,
        devices: Sequence[torch.device] = (),
        gpu_share: int = 1,
        *,
        adds_on_devices: bool = False,
    ) -> None:
        """`mesh`: of the processes on this machine. `first_replicate`: number of their first replicate in the whole group.
        `devices`: of each process, which copies theta there; empty: they compute in the memory that they share. `gpu_share`: k,
        as in an order. `adds_on_devices`: see `ReplicateSum`.

        Raises: UserError, InvalidWorkload: a group cannot train this model."""
        assert len(devices) in (0, len(mesh.places())), "an order names a GPU for each process"
        self.flat, self.mesh, self.first_replicate, self._code = flat, mesh, first_replicate, code
        self._devices, self._gpu_share, self._adds_on_devices = devices, gpu_share, adds_on_devices
        self._meeting: Path | None = None
        """A folder in which processes find each other that add up on their devices."""
        self.first_peer = mesh.number_of(PeerPlace(first_replicate, 0, 0, 0))
        """Number of the first process here in the whole group."""
        self.blocks = code.blocks(flat.model) if mesh.stages > 1 else []
        with blaming("blocks()"):
            sizes = [sum(p.numel() for p in block.parameters()) for block in self.blocks]
            bounds = stage_bounds(sizes, mesh.stages) if mesh.stages > 1 else [0, 0]
        self._of_stages = [self.blocks[start:end] for start, end in pairwise(bounds)]
        self.homes = homes_of(flat, self._of_stages)
        self.owners = buffer_owners(flat, self._of_stages) if mesh.stages > 1 else None
        self.memory = GroupMemory(flat, mesh, self.homes)
        self.planned = planned_modules(code, flat, mesh.tensor) if mesh.tensor > 1 else []
        self.to_host: ToHost | None = None
        """Brings gradients of this process to the host's memory; None: they are there."""

    def make_meeting(self, folder: Path | None) -> None:
        """Call it before the fork. `folder`: of the worker. Raises: OSError."""
        if self._adds_on_devices:
            self._meeting = Path(mkdtemp(prefix="replicates-", dir=folder))

    def sum_on_devices(self, place: PeerPlace, waits: PeerWaits) -> ReplicateSum | None:
        """Return what adds up gradients on the devices; None: they add up in the host's memory."""
        if self._meeting is None:
            return None
        number, device = place.replicate, self.flat.computes_on
        return ReplicateSum(self._meeting / "meeting", number, self.mesh.replicate, device, waits.look, waits.waiting)

    def close(self) -> None:
        if self._meeting:
            rmtree(self._meeting, ignore_errors=True)

    def take_device(self, place: PeerPlace, slots: Sequence[Tensor], seed: int) -> None:
        """Compute on the device of the process at this place from now on. This comes after the fork, which no CUDA survives.
        `slots`: those that it writes in an exchange. `seed`: of random numbers there. Raises: UserError: there is no such
        device, or the workload has used CUDA before."""
        if not self._devices:
            return
        device = self._devices[self.mesh.number_of(place)]
        with blaming("model()"):
            if device.type == "cuda":
                check_fork()
            randomness.use(device, seed)
            if device.type == "cuda":
                limit_gpu_memory(self._gpu_share, device.index)
            elsewhere = parameters_elsewhere(self.flat.model, self._of_stages, place.stage)
            self.flat.compute_on(device, elsewhere, self._freed_blocks(place))
            self.to_host = ToHost(device)
        if device.type == "cuda":
            for vector in (self.memory.theta, self.memory.sums[place.replicate], *slots):
                RegisteredMemory(vector)  # until the process ends

    def _freed_blocks(self, place: PeerPlace) -> list[list[nn.Module]]:
        """Return the blocks that have memory on the device only while they compute, for each member of the model. `tensor` splits
        parameters where they lie."""
        if self.mesh.fsdp == 1 or self.mesh.tensor > 1:
            return []
        return [self._of_stages[place.stage]] if self.mesh.stages > 1 else self._code.separate_blocks(self.flat.model)


def check_fork() -> None:
    """Raises: InvalidWorkload: CUDA was in use before the fork."""
    if torch.cuda._is_in_bad_fork():
        raise InvalidWorkload(
            "roles.worker.group: the workload used CUDA before the worker had forked its processes, which cannot use a GPU then; "
            "let its module, dataset() and model() make tensors on the CPU: each process moves the model to its GPU"
        )


def become(model: GroupModel, pipes: GroupPipes, place: PeerPlace, seed: int, waits: PeerWaits) -> ProcessStep:
    """Become the process at this place. `seed`: the same in all, for the micro-batches of stages."""
    mesh, flat, ends = model.mesh, model.flat, pipes.become(place)
    places = model.memory.places_at(place)
    model.take_device(place, ends.slots.slots[place.tensor] if ends.slots else [], seed)
    exchange = PeerExchange(ends.slots, place.tensor, waits.wait_for) if ends.slots else None
    # layers are split before stages change the blocks: a block may itself be a split layer
    split = SplitModel(flat, model.planned, exchange) if exchange else None
    pipeline = _pipeline(model, ends, place, seed, waits) if mesh.stages > 1 else None
    receive_turn = waits.receive_from(mesh.number_of(place._replace(fsdp=(place.fsdp or mesh.fsdp) - 1)))
    if split and exchange:
        turn = SumTurn(place.fsdp, mesh.fsdp, ends.turn, ends.next_turns, receive_turn)
        return TensorStep(flat, places, pipeline, split, exchange, turn)
    if ends.turn:
        before, after = NeighbourPipe(ends.turn, receive_turn), NeighbourPipe(ends.next_turns[0], receive_turn)
        at_home = [index for index, home in enumerate(model.homes) if home == place.stage]
        away = [index for index, home in enumerate(model.homes) if home != place.stage]
        of_members = [[*buckets_of(flat, at_home), *([away] if away else [])]] if pipeline else buckets_of_members(flat)
        chain = BucketChain(flat.trained, places, of_members, before, after, model.to_host)
        return ChainStep(flat, places, pipeline, chain, place.fsdp, mesh.fsdp)
    if sums := model.sum_on_devices(place, waits):
        return ReplicateStep(flat, places, sums)
    return ProcessStep(flat, places, pipeline) if pipeline else WholeStep(flat, places, None)


def _pipeline(model: GroupModel, ends: PlacePipes, place: PeerPlace, seed: int, waits: PeerWaits) -> PipelineStage:
    mesh = model.mesh
    neighbours = [
        NeighbourPipe(end, waits.receive_from(mesh.number_of(place._replace(stage=stage)))) if end else None
        for end, stage in ((ends.before, place.stage - 1), (ends.after, place.stage + 1))
    ]
    own_seed = seed_of(seed, "pipeline", (model.first_replicate + place.replicate) * mesh.fsdp + place.fsdp)
    stage = Stage(model.blocks, place.stage, mesh.stages, model.flat.filled)
    return PipelineStage(stage, place.stage, mesh.stages, neighbours[0], neighbours[1], own_seed, model.flat.computes_on)
