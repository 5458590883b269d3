"""The handing over of a turn, or of the whole shard, to workers of a new group that lack it. All of the group take part.

Vectors go by gloo, and all that is unpacked goes through Redis, into which this attempt alone writes."""

from __future__ import annotations

import msgspec
import torch
from torch import Tensor

from gradstream.center.shard import Shard
from gradstream.serverless.collective.group import GlooGroup
from gradstream.serverless.collective.machine_copy import PackedShard, pack_shard
from gradstream.serverless.collective.roster import Meetings


class Turn(msgspec.Struct, frozen=True, array_like=True):
    """All that a worker needs to handle a turn, but for its vectors."""

    number: int
    entries: list[bytes]
    """Packed headers."""
    handled: int = 0
    """Entries that the turn handles; the others begin the next turn."""
    buffers: dict[int, bytes] = {}
    """The packed buffers that each worker has handed over."""
    brings: str = ""
    """The kind of its vectors: `theta_0`, the `mean` of a round, or `pending` pushes that wait for their round."""
    pending: list[int] = []
    """The ranks of these pushes, if each is new to the others."""


class _PackedTurn(msgspec.Struct, frozen=True, array_like=True):
    turn: Turn
    vectors: list[tuple[str, list[int]]]


class _PackedState(msgspec.Struct, frozen=True, array_like=True):
    turn: Turn
    machine: bytes
    center: bytes
    first_of_center: int
    vectors: list[tuple[str, list[int]]]
    """Their types and shapes."""


_encode = msgspec.msgpack.Encoder().encode
_turn, _state = msgspec.msgpack.Decoder(_PackedTurn).decode, msgspec.msgpack.Decoder(_PackedState).decode


class Handover:
    """In the group of meeting `number`, from the worker at place `giver` of it."""

    def __init__(self, meetings: Meetings, group: GlooGroup, number: int, giver: int) -> None:
        self._meetings, self._group, self._number, self._giver = meetings, group, number, giver
        self._gives = group.rank == giver

    def turn(self, turn: Turn, vectors: list[Tensor]) -> tuple[Turn, list[Tensor]]:
        """Return the turn that the giver has as `turn`. Raises: what `GlooGroup` raises."""
        if self._gives:
            self._meetings.put(f"turn-{self._number}", _encode(_PackedTurn(turn, _kinds(vectors))))
            return turn, self._vectors(_kinds(vectors), vectors)
        packed = _turn(self._meetings.get(f"turn-{self._number}"))
        return packed.turn, self._vectors(packed.vectors)

    def shard(self, turn: Turn, shard: Shard) -> tuple[Turn, PackedShard]:
        """Return the last turn and the shard that the giver has as `turn` and `shard`. Raises: what `GlooGroup` raises."""
        if self._gives:
            mine = pack_shard(shard)
            kinds = _kinds(mine.vectors)
            state = _PackedState(turn, mine.machine, mine.center, mine.first_of_center, kinds)
            self._meetings.put(f"state-{self._number}", _encode(state))
            self._vectors(kinds, mine.vectors)
            return turn, mine
        packed = _state(self._meetings.get(f"state-{self._number}"))
        return packed.turn, PackedShard(packed.machine, packed.center, self._vectors(packed.vectors), packed.first_of_center)

    def _vectors(self, kinds: list[tuple[str, list[int]]], mine: list[Tensor] | None = None) -> list[Tensor]:
        found = mine or [torch.empty(shape, dtype=getattr(torch, kind)) for kind, shape in kinds]
        for x in found:
            if x.numel():
                self._group.broadcast(x.detach().contiguous().view(-1).view(torch.uint8), self._giver)
        return found


def _kinds(vectors: list[Tensor]) -> list[tuple[str, list[int]]]:
    return [(str(x.dtype).removeprefix("torch."), list(x.shape)) for x in vectors]
