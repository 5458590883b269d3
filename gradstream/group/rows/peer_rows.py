"""The rows of a group, as a peer beside the lead has them: it asks the lead for those that it lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection

from torch import Tensor

from gradstream.center.tables.payload import FoundRows, RowKeys
from gradstream.group.neighbour_pipe import Receive
from gradstream.group.requests import Train
from gradstream.group.rows.part_rows import PartRows
from gradstream.group.rows.row_pipes import RowPipes
from gradstream.input import tensor_pipe


class PeerRows:
    _pipe: Connection
    """To the lead."""
    _receive: Receive

    def __init__(self, rows: PartRows, pipes: RowPipes) -> None:
        """`rows`: of the lead, which each peer has a copy of when it is forked."""
        self.rows, self._pipes = rows, pipes

    def become(self, number: int, receive: Receive) -> None:
        """Be the rows of this peer from now on. `receive`: as `tensor_pipe.receive`."""
        self._pipe, self._receive = self._pipes.become(number), receive
        self.rows.held.look_up = self._ask_lead

    def begin(self, request: Train, backward: Callable[[Tensor], None]) -> Callable[[Tensor], None]:
        """Begin the parts of a mini-batch: return this backward, as `PartRows.noting`."""
        held = self.rows.held
        if held.generation != request.rows:
            held.forget()
            held.generation = request.rows
        return self.rows.noting(backward, len(request.shares), request.examples)

    def _ask_lead(self, wanted: Mapping[str, RowKeys]) -> Mapping[str, FoundRows]:
        """Raises: RowsNotFound."""
        tensor_pipe.send(self._pipe, {name: of_table.keys for name, of_table in wanted.items()})
        found: Mapping[str, FoundRows] = self._receive(self._pipe)
        return found
