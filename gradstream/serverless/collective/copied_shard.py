"""The center of a worker other than worker 0: it makes the same steps, and stores and reports nothing."""

from __future__ import annotations

from pathlib import Path

import torch

from gradstream.center.entries import Init, Lookup, Output, Payload, Pull, Push
from gradstream.center.shard import Destination, Shard
from gradstream.process.order import ProcessOrder
from gradstream.process.store import open_store
from gradstream.serverless.collective.vectors import TurnVectors
from gradstream.shard_server.saving.resumed_shard import resumed_shard
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.messages import Header


class CopiedShard:
    def __init__(
        self,
        order: ProcessOrder,
        folder: Path,
        layout: Layout,
        vectors: TurnVectors,
        destination: Destination,
        device: torch.device | None = None,
    ) -> None:
        """`folder` gets copies of the files that this attempt resumes from. `destination`: see `Shard.handle`; `device`: see
        `Shard`."""
        self._layout, self._vectors, self._destination = layout, vectors, destination
        self.shard = Shard(order.spec, device)
        self.shard.checkpoint_making.schedule.waits_for_commits = not order.store.is_folder
        if resumed := resumed_shard(open_store(order.store, order), order.spec.shards, 0, folder):
            self.shard.load(resumed.state, parameters=resumed.layout.pieces(0))

    def handle_entry(self, position: str, header: Header) -> Output:
        """Handle the next entry of the log. Raises: PlaneLost: another worker is gone. ProtocolError."""
        payload = payload_of(header, self.shard, self._vectors, self._layout)
        return self.shard.handle(header.entry, payload, self._destination)


def payload_of(header: Header, shard: Shard, vectors: TurnVectors, layout: Layout) -> Payload | None:
    """Return the payload with which a shard that stores nothing handles an entry."""
    entry, payload = header.entry, None
    if isinstance(entry, Init | Push) and shard.is_news(entry):
        payload = vectors.payload_of(entry)._replace(passes_over=header.passes_over)
    if isinstance(entry, Init) and payload:
        payload = payload._replace(parameters=layout.pieces(0))
    return Payload(vectors.out[:0]) if isinstance(entry, Pull | Lookup) else payload
