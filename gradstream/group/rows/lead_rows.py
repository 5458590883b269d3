"""The rows of a group, as its lead has them: it looks them up for all peers, and puts together the gradients that they leave.

A thread answers the peers, so that none waits until the lead has computed its own part. A key that several of them need is looked
up once: the thread reads the rows that the lead holds, and looks up those that are not there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import connection
from multiprocessing.connection import Connection

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from gradstream.group.mesh import PeerMesh, shares_of
from gradstream.group.rows.part_rows import PartGradients, PartRows
from gradstream.group.rows.peer_rows import PeerRows
from gradstream.group.rows.row_pipes import RowPipes
from gradstream.input import tensor_pipe
from gradstream.model.parts import Minibatch

_ENDS_WITHIN = 5.0
"""Seconds that the thread may take to end when all peers have."""


class RowsNotFound(Exception):
    """On its way to a peer: the lead could not look its rows up, and raises the reason."""


class LeadRows:
    def __init__(self, rows: PartRows, mesh: PeerMesh) -> None:
        """Raises: OSError: too many files are open."""
        self.rows, self._mesh = rows, mesh
        self._pipes = RowPipes(len(mesh.places()) - 1)
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        """The first one of a lookup for a peer."""
        self._numbers: list[list[int]] = []
        self._parts: dict[int, PartGradients] = {}
        """Numbers of the parts of the mini-batch that each peer has, and the gradients of each part."""

    def of_peers(self) -> PeerRows:
        """Return the rows of the peers, for their forks."""
        return PeerRows(self.rows, self._pipes)

    def start(self) -> None:
        """Answer the peers from now on. Call it when they are forked."""
        pipes = self._pipes.become_lead()
        self._thread = threading.Thread(target=self._serve, args=(pipes,), name="rows of peers", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread. All peers have ended."""
        if self._thread:
            self._thread.join(_ENDS_WITHIN)

    @contextmanager
    def training(self, taken: Minibatch) -> Iterator[None]:
        """Inside, all peers train a mini-batch. The rows of all ids that the workload names for it are looked up before. If the
        lookup for a peer fails, its error is raised in place of the peer's. The gradients of all peers are added in the end."""
        self._numbers = [numbers for numbers, _ in shares_of(range(len(taken.shares)), self._mesh)]
        self._parts = {}
        if taken.named is not None:
            self.rows.use(taken.named)
        try:
            yield
        except Exception:
            if self._error:
                raise self._error from None
            raise
        self.note(0, self.rows.take_parts())
        self.rows.add(self._parts[number] for number in sorted(self._parts))

    def noting(self, backward: Callable[[Tensor], None], own: Minibatch) -> Callable[[Tensor], None]:
        """As `PartRows.noting`, for the lead's own parts of a mini-batch."""
        return self.rows.noting(backward, len(own.shares), own.examples)

    def note(self, number: int, parts: Sequence[PartGradients]) -> None:
        """Note the gradients that a peer has left of its parts."""
        self._parts.update(zip(self._numbers[number], parts, strict=True))

    def alone(self, wait: Callable[[], None]) -> Callable[[], None]:
        """Return this wait for a response of the servers, during which the thread looks nothing up."""

        def wait_alone() -> None:
            with self.rows.held.lock:
                wait()

        return wait_alone

    def _serve(self, pipes: list[Connection]) -> None:
        """Answer until all peers have ended."""
        while pipes:
            for pipe in connection.wait(pipes):
                assert isinstance(pipe, Connection)
                try:
                    self._answer(pipe, tensor_pipe.receive(pipe))
                except (EOFError, OSError):
                    pipes.remove(pipe)
                    pipe.close()

    def _answer(self, pipe: Connection, wanted: Mapping[str, NDArray[np.int64]]) -> None:
        try:
            found = {name: self.rows.held.rows_of(name, keys) for name, keys in wanted.items()}
        except BaseException as error:  # also one that ends the worker, which its main thread raises
            self._error = self._error or error
            tensor_pipe.send_error(pipe, RowsNotFound(f"{type(error).__name__}: {error}"))
        else:
            tensor_pipe.send(pipe, found)
