"""The pipe between two processes of a group that stand one behind another: in a pipeline, or in turns."""

from __future__ import annotations

import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from gradstream.input import tensor_pipe

Receive = Callable[[Connection], Any]


class NeighbourPipe:
    """The pipe to the process before or after. A thread sends, so that two neighbours that both send do not wait for each other."""

    def __init__(self, pipe: Connection, receive: Receive) -> None:
        """`receive`: as `tensor_pipe.receive`."""
        self._pipe, self._receive = pipe, receive
        self._to_send = SimpleQueue[tensor_pipe.Packed | None]()
        threading.Thread(target=_send_all, args=(pipe, self._to_send), name="neighbour pipe", daemon=True).start()

    def send(self, value: Any) -> None:
        """Send a nest of tensors, which must not change any more. Raises: as `tensor_pipe.pack`."""
        self._to_send.put(tensor_pipe.pack(value))

    def close(self) -> None:
        """End the thread, when it has sent all."""
        self._to_send.put(None)

    def has_come(self) -> bool:
        """Return whether `receive` has something to return at once."""
        return self._pipe.poll()

    def receive(self) -> Any:
        """Return what the neighbour sends next. Waits for it. Raises: what `receive` of the constructor does."""
        return self._receive(self._pipe)


def _send_all(pipe: Connection, to_send: SimpleQueue[tensor_pipe.Packed | None]) -> None:
    """Send what comes until None does."""
    while (packed := to_send.get()) is not None:
        try:
            tensor_pipe.write(pipe, packed)
        except OSError:
            return  # the neighbour is gone, which whoever receives from it finds out
