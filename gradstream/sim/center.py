"""All shards of the simulated center as one: each entry goes to every shard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from msgspec.structs import replace
from torch import Tensor

from gradstream.center.entries import Entry, Init, Payload, Response, moved_in_all
from gradstream.center.ledger import Decision
from gradstream.center.parameters.hosting import TableHosting
from gradstream.center.parameters.slices import slices_for
from gradstream.center.shard import Shard
from gradstream.center.tables.payload import FoundRows, RowKeys, joined_shards, shard_part
from gradstream.observations.passes import ClosedPass
from gradstream.optim.parameters import ParameterShape, pieces
from gradstream.spec import Checkpointing, JobSpec


class ShardsDisagree(Exception):
    """Shards with the same entries answered differently: a bug in the shard machine, or a strategy that is no formula."""


@dataclass
class Settled:
    """The result of one entry on all shards."""

    responses: list[Response]
    decisions: list[Decision]
    passes: list[ClosedPass]
    checkpoint: tuple[int, list[int], list[dict[str, Any]]] | None
    """Number, ranks, and the state of each shard."""


def _watched(spec: JobSpec) -> JobSpec:
    """Return the job without evaluations and checkpoints by samples: the simulator reads the center itself."""
    by_time = {"evaluate": spec.evaluate.model_copy(update={"every": 2.0}), "checkpoint": Checkpointing()}
    return spec.model_copy(update=by_time)


class ShardedCenter:
    def __init__(self, spec: JobSpec, size: int, align: int, parameters: tuple[ParameterShape, ...]) -> None:
        """`align`: where slices may begin; 1 splits even the tiny vectors of the toys."""
        self.shards = [Shard(_watched(spec), hosting=TableHosting(spec, k)) for k in range(spec.shards)]
        self._pull_codec = spec.pull_codec
        self._parameters, sees = parameters, spec.optimizer_at_servers.sees
        self._slices = slices_for(sees, parameters, size, len(self.shards), max(align, spec.codec.block))

    def handle(self, entry: Entry, payload: Payload | None) -> Settled:
        """Raises: ShardsDisagree."""
        if isinstance(entry, Init) and payload:
            payload = payload._replace(parameters=self._parameters)
        first, *others = (shard.handle(entry, self._part(k, payload)) for k, shard in enumerate(self.shards))
        for output in others:
            same_responses = list(map(Response.shared, output.responses)) == list(map(Response.shared, first.responses))
            if (
                not same_responses
                or output.decisions != first.decisions
                or output.export != first.export
                or _number_and_ranks(output.checkpoint) != _number_and_ranks(first.checkpoint)
            ):
                raise ShardsDisagree(f"after {entry}: {first} and {output}")
        outputs = [first, *others]
        made: dict[tuple[int, ...], Payload] = {}
        responses = [self._joined(parts, made) for parts in zip(*(output.responses for output in outputs), strict=True)]
        states = [output.checkpoint[2] for output in outputs if output.checkpoint and output.checkpoint[2]]
        return Settled(responses, first.decisions, first.passes, (*first.checkpoint[:2], states) if first.checkpoint else None)

    @property
    def samples(self) -> int:
        return self.shards[0].center.samples if self.shards[0].center else 0

    @property
    def version(self) -> int:
        return self.shards[0].center.version if self.shards[0].center else 0

    def theta(self) -> Tensor:
        return torch.cat([shard.center.theta for shard in self.shards if shard.center])

    def for_evaluation(self) -> Payload:
        """Return a copy of the payload that an evaluator would get."""
        parts = [shard.center.read_for_evaluation() for shard in self.shards if shard.center]
        return Payload(torch.cat([part.x for part in parts]), parts[0].buffers)

    def look_up(self, keys: Mapping[str, RowKeys]) -> Mapping[str, FoundRows]:
        """Return the rows as they are now, for an evaluation."""
        centers = [shard.center for shard in self.shards if shard.center]
        return joined_shards(
            [center.tables.look_up(shard_part(keys, k, len(centers))) for k, center in enumerate(centers) if center.tables]
        )

    def figures(self) -> dict[str, float]:
        """Return the figures of what the workers have observed; empty: nothing."""
        return self.shards[0].observed.counted.figures()

    def load(self, states: list[dict[str, Any]]) -> None:
        for k, (shard, state) in enumerate(zip(self.shards, states, strict=True)):
            shard.load(state, parameters=self._pieces(k))

    def state(self) -> list[dict[str, Any]]:
        return [shard.state() for shard in self.shards]

    def _part(self, k: int, payload: Payload | None) -> Payload | None:
        if payload is None:
            return None
        x = payload.x[self._slices[k]] if payload.x.numel() else payload.x
        rows = payload.rows and shard_part(payload.rows, k, len(self.shards))
        asks = payload.asks and shard_part(payload.asks, k, len(self.shards))
        parameters = self._pieces(k) if payload.parameters else ()
        if k == 0:
            return payload._replace(x=x, rows=rows, asks=asks, parameters=parameters)
        return Payload(x, None, rows, asks=asks, passes_over=payload.passes_over, parameters=parameters)

    def _pieces(self, k: int) -> tuple[ParameterShape, ...]:
        return pieces(self._parameters, self._slices[k])

    def _joined(self, parts: tuple[Response, ...], made: dict[tuple[int, ...], Payload]) -> Response:
        """Join the shards' responses. `made`: payloads of other responses to the same entry, so that a center that several workers
        get is copied once; they only read it."""
        payloads = [part.payload for part in parts if part.payload]
        response = replace(parts[0], moved=moved_in_all(parts)) if parts[0].moved is not None else parts[0]
        if not payloads:
            return response
        rows = None if payloads[0].rows is None else joined_shards([payload.rows or {} for payload in payloads])
        if response.brings == "rows":
            return replace(response, payload=Payload(payloads[0].x, rows=rows))
        key = tuple(id(payload.x) for payload in payloads)
        if key not in made:
            x = self._pull_codec.arrives(torch.cat([payload.x for payload in payloads]))
            made[key] = Payload(x, payloads[0].buffers)
        return replace(response, payload=made[key]._replace(rows=rows))


def _number_and_ranks(checkpoint: tuple[int, list[int], Any] | None) -> tuple[int, list[int]] | None:
    return checkpoint and checkpoint[:2]
