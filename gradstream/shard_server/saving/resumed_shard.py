"""The shard that an attempt resumes from. A checkpoint with another number of shards is joined, and split anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from gradstream.errors import Invalid
from gradstream.process.saving.checkpoint_names import shard_part
from gradstream.process.saving.part import resumed_part, resumed_state
from gradstream.process.saving.part_list import EarlierFile
from gradstream.process.store import Store
from gradstream.shard_server.saving.resharding import join_states, split_state
from gradstream.wire.transport.layout import Layout


class ResumedShard(NamedTuple):
    layout: Layout
    state: dict[str, Any]
    """See `gradstream.center.shard.Shard.state`."""
    further: list[tuple[EarlierFile, Path]]
    """Files with rows of embedding tables."""


def resumed_shard(store: Store, count: int, shard: int, folder: Path) -> ResumedShard | None:
    """Return this one of `count` shards as the checkpoint has it. `folder` gets copies of its files. None: the attempt begins at
    the beginning. Raises: Invalid: the checkpoint has embedding tables, and another number of shards. Unavailable."""
    found = resumed_part(store, shard_part(shard), folder) or resumed_part(store, shard_part(0), folder)
    if found is None:
        return None
    state, further = found
    layout = Layout.load(state["layout"])
    if layout.servers == count:
        return ResumedShard(layout, state["shard"], further)
    if "tables" in state["shard"]["center"]:
        raise Invalid(f"The checkpoint has embedding tables of {layout.servers} servers, and the job has {count} now.")
    parts: list[Any] = [resumed_state(store, shard_part(k), folder) for k in range(layout.servers)]
    whole, now = join_states([part["shard"] for part in parts], layout), replace(layout, servers=count)
    return ResumedShard(now, split_state(whole, now, shard), [])
