"""Ties the embedding tables of a model to the rows of a group. Models without tables never import the rest of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from gradstream.errors import InvalidWorkload
from gradstream.spec import JobSpec
from gradstream.spec.group_tables import obstacle_to_tables

if TYPE_CHECKING:
    from gradstream.group.rows.lead_rows import LeadRows
    from gradstream.model.rows.held_rows import HeldRows


def bind_rows(model: nn.Module, spec: JobSpec, held: HeldRows) -> LeadRows:
    """Bind the model's tables to rows of a group. Raises: InvalidWorkload: such a group cannot train tables."""
    from gradstream.group.mesh import PeerMesh
    from gradstream.group.rows.lead_rows import LeadRows
    from gradstream.group.rows.part_rows import PartRows  # needs numba, which models without tables never import

    if obstacle := obstacle_to_tables(spec.roles.worker.group):
        raise InvalidWorkload(obstacle)
    return LeadRows(PartRows(model, spec, held), PeerMesh.of(spec.roles.worker.group))
