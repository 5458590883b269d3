"""Embedding tables in a worker that is a group: which axes can have them."""

from __future__ import annotations

from gradstream.spec.roles import WorkerGroup

_PLACE = "roles.worker.group"


def obstacle_to_tables(group: WorkerGroup) -> str | None:
    """Return why the processes of this group cannot train embedding tables, and a remedy; None: they can."""
    instead = f"take group: {{fsdp: {group.peers}}}"
    if group.stages > 1:
        return f"{_PLACE}.stages: each stage would look up the rows of all tables, also those that others train; {instead}"
    if group.tensor > 1:
        return f"{_PLACE}.tensor: each process computes the whole mini-batch, and would look up all of its rows; {instead}"
    if group.machines > 1:
        return f"{_PLACE}.machines: the lead gives rows to its own machine alone; remove machines, or raise roles.worker.count"
    return None
