"""The process group of a job's workers over gloo, as the turns of a job without servers need it."""

from __future__ import annotations

import ctypes
import struct
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

import torch
from redis import Redis
from torch import Tensor
from torch._C._distributed_c10d import ProcessGroupGloo, Work

from gradstream.errors import PlaneLost
from gradstream.process.exits import UserError
from gradstream.process.order import PlaneAccess
from gradstream.serverless.barrier import LOOK_INTERVAL
from gradstream.serverless.collective.meeting import RedisStore, meet
from gradstream.wire.gpu.connecting import Connecting

_CONNECT_TIMEOUT = timedelta(seconds=12)
"""Time for connecting workers, all of which are there. Gloo waits five times as long for one that does not connect: 60 s."""
_LONGEST_WAIT = timedelta(days=30)
"""Gloo's own bound of a wait for another worker, whose mini-batch may take as long. `look` ends the wait with the attempt."""
END_TIMEOUT = 30.0
"""See `GlooGroup`, where a lost worker ends the attempt."""
_SHORT = 4096
"""Bytes of a message that one collective brings; longer ones take another."""
_Gloo: Any = ProcessGroupGloo
"""Torch's stubs lack much of it."""
_LENGTH = struct.Struct("<Q")


MakeStore = Callable[[Callable[[float], None]], RedisStore]
"""Makes a store by its `look`."""


class GroupBroken(PlaneLost):
    """The connection to another worker broke."""


class GlooGroup:
    """All workers call its methods in the same order. A method that waits raises what `look` raises, and GroupBroken when another
    worker is gone."""

    def __init__(
        self,
        redis: Redis,
        access: PlaneAccess,
        j: str,
        rank: int,
        ranks: Sequence[int],
        look: Callable[[float], None],
        prefix: str = "",
        end_timeout: float = END_TIMEOUT,
    ) -> None:
        """Wait until every worker is there. `access`: to the Redis with the attempt's log. `ranks`: the workers of this group, by
        their ranks in the job; `rank`: this one. `look` and `prefix`: see `RedisStore`. `end_timeout`: seconds for which a worker
        whose connection broke waits for the end of the attempt, so that its cause is the one that counts.

        Raises: UserError: the others cannot reach this machine, or this one them."""
        self.rank, self.count = ranks.index(rank), len(ranks)
        """Its place in this group, and the number of workers there."""
        self._look, self._end_timeout = look, end_timeout
        self.nbytes = 0
        """Bytes of vectors and buffers that this worker has sent, as much as it has received."""
        self.seconds = 0.0
        """Seconds spent here, waiting for others included."""
        self._gloo: Any = None
        """None: it has one worker, or is over."""
        if self.count > 1:
            self._gloo = self._connect(lambda look: RedisStore(redis, j, look, prefix), access, rank)

    def _connect(self, store: MakeStore, access: PlaneAccess, rank: int) -> Any:
        address = meet(store(self._look), access, self.rank, self.count)
        try:
            gloo = Connecting(lambda go_on: self._connect_gloo(store(go_on), address)).take(self._look, LOOK_INTERVAL)
        except RuntimeError as error:
            self._wait_for_end(self._end_timeout)
            raise UserError(
                f"roles.server.collective: gloo could not connect worker {rank} at {address} with the others; let their machines "
                f"connect to each other at any port, or set roles.server.count: 1 ({error})"
            ) from None
        gloo._set_default_timeout(_LONGEST_WAIT)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(gloo))  # freed here, it would wait for collectives that may never end
        return gloo

    def _connect_gloo(self, store: RedisStore, address: str) -> Any:
        options = _Gloo._Options()
        options._timeout = _CONNECT_TIMEOUT
        options._devices = [_Gloo.create_device(hostname=address)]
        return _Gloo(store, self.rank, self.count, options)

    def gather(self, message: bytes) -> list[bytes]:
        """Return the message of every worker, in rank order."""
        if self.count == 1:
            return [message]
        space = _SHORT - _LENGTH.size
        rows = self._gather_rows(_LENGTH.pack(len(message)) + message[:space], _SHORT)
        lengths = [_LENGTH.unpack_from(row)[0] for row in rows]
        found = [row[_LENGTH.size : _LENGTH.size + length] for row, length in zip(rows, lengths, strict=True)]
        if (longest := max(lengths)) > space:
            rest = self._gather_rows(message[space:], longest - space)  # of buffers
            self.nbytes += (longest - space) * (self.count - 1)
            found = [(head + tail)[:length] for head, tail, length in zip(found, rest, lengths, strict=True)]
        return found

    def _gather_rows(self, data: bytes, nbytes: int) -> list[bytes]:
        assert self._gloo is not None, "it is not over"
        mine = torch.frombuffer(bytearray(data.ljust(nbytes, b"\0")), dtype=torch.uint8)
        rows = [torch.empty_like(mine) for _ in range(self.count)]
        self._wait(self._gloo.allgather([rows], [mine]))
        return [row.numpy().tobytes() for row in rows]

    def begin_sum(self, x: Tensor) -> Work:
        """Begin to replace `x` by the sum over all workers, with the same bits for each. `finish` ends it."""
        self.nbytes += 2 * x.nbytes * (self.count - 1) // self.count
        return self._begin(lambda group: group.allreduce([x]))

    def _begin(self, begin: Callable[[Any], Work]) -> Work:
        """`begin` gets the process group that has the vectors."""
        assert self._gloo is not None, "it has others, and is not over"
        try:
            return begin(self._gloo)
        except RuntimeError as error:
            raise self._broken(error) from error

    def finish(self, work: Work) -> None:
        self._wait(work)

    def broadcast(self, x: Tensor, root: int) -> None:
        """Replace `x` by that of the worker `root`."""
        if self.count > 1:
            self.finish(self._begin(lambda group: group.broadcast(x, root)))
            self.nbytes += x.nbytes

    def close(self) -> None:
        """Disconnect once every worker has come here, or is gone: one that is slower may still read from a connection."""
        with suppress(PlaneLost):
            self.part()

    def part(self) -> None:
        """Disconnect once every worker has come here."""
        if self._gloo is not None:
            self._wait(self._gloo.barrier(), end_timeout=0.0)
            self.abandon()

    def abandon(self) -> None:
        """Use this group no more, though others may wait in it. Vectors that it has begun to change may change later. It
        disconnects when its collectives have ended, as those do whose other workers are gone or disconnect."""
        if self._gloo is not None:
            held, self._gloo = [self._gloo], None
            threading.Thread(target=_free, args=(held,), name="disconnecting", daemon=True).start()

    def _wait(self, work: Work, end_timeout: float | None = None) -> None:
        began = time.monotonic()
        while True:
            over = work.is_completed()
            try:
                work.wait(timedelta(seconds=LOOK_INTERVAL))
                self.seconds += time.monotonic() - began
                return
            except RuntimeError as error:  # too long, or its own
                if over:
                    raise self._broken(error, end_timeout) from error
            self._look(time.monotonic() - began)

    def _broken(self, error: RuntimeError, end_timeout: float | None = None) -> GroupBroken:
        self._wait_for_end(self._end_timeout if end_timeout is None else end_timeout)
        return GroupBroken(f"the connection to another worker broke: {error}")

    def _wait_for_end(self, timeout: float) -> None:
        """Wait for the end of the attempt, which a lost worker brings. Raises: what `look` raises then."""
        began = time.monotonic()
        while (waited := time.monotonic() - began) < timeout:
            self._look(waited)
            time.sleep(LOOK_INTERVAL)


def _free(held: list[Any]) -> None:
    """Free the process group that `held` alone holds. Gloo waits for its collectives then."""
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(held[0]))
    held.clear()
