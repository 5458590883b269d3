"""The shared memory in which the workers of a job without servers meet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gradstream.errors import PlaneLost
from gradstream.process.exits import UserError
from gradstream.process.order import ProcessOrder
from gradstream.wire.transport.shm import SharedMemoryError

_REMEDY = "without servers the workers meet there: set roles.server.count: 1"


def shared_folder(order: ProcessOrder) -> Path:
    """Raises: UserError: the node has none."""
    if order.shared is None:
        raise UserError(f"roles.server.count: the node offers no shared memory (/dev/shm); {_REMEDY}")
    return Path(order.shared.folder)


@contextmanager
def shared_memory_named() -> Iterator[None]:
    """Name errors in the making of shared memory. Raises: UserError: there is too little. PlaneLost: its folder is gone."""
    try:
        yield
    except SharedMemoryError as error:
        raise UserError(f"roles.server.count: {error}; {_REMEDY}, or use a smaller model") from None
    except OSError as error:
        raise PlaneLost(f"the shared memory of a job without servers: {error}") from error
