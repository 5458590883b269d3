"""The lead's connection to another machine of its group, with a thread that sends requests and receives answers.

So theta is on its way to all machines at once, while the lead computes, and their gradients come when each is ready. A loop over
sockets that do not block would need the lead's thread, which is in user code meanwhile.
"""

from __future__ import annotations

import multiprocessing
import os
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

import torch
from torch import Tensor

from gradstream.group.requests import EndMachine, Request
from gradstream.input import tensor_pipe
from gradstream.input.tensor_pipe import WaitForPipe

_PIECE = 1 << 20
"""Elements of a gradient that are added while the next ones come."""
_ENDS_WITHIN = 5.0
"""Seconds that the thread may take to end."""


def describe_break(error: Exception) -> str:
    """Say how a connection between machines has ended, which raised this error."""
    return "broke" if isinstance(error, EOFError | ConnectionError) else f"was silent for too long ({error})"


class MachineLink:
    def __init__(self, pipe: Connection, name: str, wait: WaitForPipe) -> None:
        """`name`: of the thread. `wait`: for a machine that takes no byte more of a request, or sends none of an answer that it has
        begun; it raises an error after too long."""
        os.set_blocking(pipe.fileno(), False)
        self._pipe, self._wait = pipe, wait
        with self._socket() as connected:
            self.address = connected.getpeername()[0] if connected.family != socket.AF_UNIX else ""
            """Address of the machine; empty: it is this one."""
        self._requests = SimpleQueue[tuple[Request, Tensor | None]]()
        self._came = SimpleQueue[Any]()
        """An answer, then the pieces of the gradient that follows it; or an error in place of one of them."""
        self._gradient = torch.empty(0)
        self._is_idle = True
        """Each request has been answered."""
        self.ready, self._answered = multiprocessing.Pipe(duplex=False)
        """The first end can be read when an answer, or an error in its place, is there."""
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def ask(self, request: Request, theta: Tensor | None) -> None:
        """Let a request be sent. `theta`: follows it, and must not change before the answer, which a gradient follows."""
        if theta is not None and not len(self._gradient):
            self._gradient = torch.empty_like(theta)
        self._is_idle = False
        self._requests.put((request, theta))

    def take_answer(self) -> Any:
        """Return the answer to the last request, once `ready` can be read. Raises: what the machine has sent; what `wait` raises;
        EOFError or OSError, when the connection broke."""
        self.ready.recv_bytes()
        self._is_idle = True
        return self._take()

    def take_pieces(self) -> Iterator[tuple[slice, Tensor]]:
        """Yield the gradient that follows an answer, piece by piece as it comes. Raises: as `take_answer`."""
        end = 0
        while end < len(self._gradient):
            piece = self._take()
            yield piece, self._gradient[piece]
            end = piece.stop

    def _take(self) -> Any:
        came = self._came.get()
        if isinstance(came, BaseException):
            raise came
        return came

    def _serve(self) -> None:
        """The course of the thread."""
        while True:
            request, theta = self._requests.get()
            if isinstance(request, EndMachine):
                with suppress(OSError):
                    tensor_pipe.send(self._pipe, request, self._wait)
                return
            self._exchange(request, theta)

    def _exchange(self, request: Request, theta: Tensor | None) -> None:
        try:
            tensor_pipe.send(self._pipe, request, self._wait)
            if theta is not None:
                tensor_pipe.send_vector(self._pipe, theta, self._wait)
            self._wait_for_answer()
            self._came.put(tensor_pipe.receive(self._pipe, self._wait))
        except BaseException as error:  # the lead raises it
            self._came.put(error)
            return
        finally:
            self._answered.send_bytes(b"")
        if theta is not None:
            self._receive_gradient()

    def _wait_for_answer(self) -> None:
        """Wait as long as the machine computes. If it is lost, so is the connection."""
        begun = select.poll()
        begun.register(self._pipe.fileno(), select.POLLIN)
        begun.poll()

    def _receive_gradient(self) -> None:
        try:
            for begin in range(0, len(self._gradient), _PIECE):
                piece = slice(begin, min(begin + _PIECE, len(self._gradient)))
                tensor_pipe.receive_vector(self._pipe, self._gradient[piece], self._wait)
                self._came.put(piece)
        except BaseException as error:  # the lead raises it
            self._came.put(error)

    def close(self) -> None:
        """End the thread and the connection. A machine that has answered ends; another one will find that its lead is gone."""
        self._requests.put((EndMachine(), None))
        if self._is_idle:
            self._thread.join(_ENDS_WITHIN)
        with suppress(OSError), self._socket() as connected:
            connected.shutdown(socket.SHUT_RDWR)  # which ends its waits
        self._thread.join(_ENDS_WITHIN)
        for end in (self._pipe, self.ready, self._answered):
            end.close()

    def _socket(self) -> socket.socket:
        return socket.socket(fileno=os.dup(self._pipe.fileno()))
