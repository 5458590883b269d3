"""The pipes on which peers ask their lead for rows. Made before the peers are forked."""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection


class RowPipes:
    def __init__(self, peers: int) -> None:
        """`peers`: those beside the lead, from number 1. Raises: OSError: too many files are open."""
        self._pipes = {number: multiprocessing.Pipe() for number in range(1, peers + 1)}

    def become(self, number: int) -> Connection:
        """Return the end of a peer, and close all others, so that the end of the lead shows."""
        for other, (of_lead, of_peer) in self._pipes.items():
            of_lead.close()
            if other != number:
                of_peer.close()
        return self._pipes[number][1]

    def become_lead(self) -> list[Connection]:
        """Return the ends of the lead, one for each peer, and close all others."""
        for _, of_peer in self._pipes.values():
            of_peer.close()
        return [of_lead for of_lead, _ in self._pipes.values()]
