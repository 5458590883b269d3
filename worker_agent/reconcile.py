"""The steps that make this node run the desired processes, and nothing else. Pure: sets in, sets out."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

State = Literal["starting", "running", "exited"]


@dataclass(frozen=True, slots=True)
class Corrections:
    start: frozenset[UUID]
    """Desired and never seen. One that was seen and has exited is the control plane's to replace, under a new id."""
    kill: frozenset[UUID]
    forget: frozenset[UUID]
    """Ended, and no longer desired: the control plane has taken note of the end."""


def steps(desired: Set[UUID], known: Mapping[UUID, State]) -> Corrections:
    unwanted = known.keys() - desired
    ended = {id for id, state in known.items() if state == "exited"}
    return Corrections(
        start=frozenset(desired - known.keys()), kill=frozenset(unwanted - ended), forget=frozenset(unwanted & ended)
    )
