"""Mini-batches fetched while the model computes. They are the same as without: each is a function of its position alone.

By a thread, where the data set draws from no generator of the process; else by processes, whose generators are their own
(docs/adr/0027-how-fetching-ahead-stays-deterministic.md).
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

from gradstream.errors import InvalidWorkload
from gradstream.input.copied import ReadyBatch, copied, usable
from gradstream.input.data import Batches
from gradstream.input.dealt import DealtAhead
from gradstream.input.fetchers import FetcherLost, Fetchers
from gradstream.spec import JobSpec
from gradstream.spec.input import FETCHED_AHEAD
from gradstream.training.granted import GrantedBatches

log = logging.getLogger(__name__)

_CHECK_EVERY = 16
"""Mini-batches between two looks at what fetching costs."""
_SLOW = 1e-3
_SLOW_SHARE = 0.1
"""Fetching is slow if it takes this long (seconds), and this share of a worker's time: below, a thread costs more than it gives."""
_NOT_FAST = 1e-2
"""Seconds after which fetching while a worker waits is given up, and looked at again."""
_STEP = 1.0
"""Seconds after which a wait between the two threads looks whether the other one is still there."""
_TIMEOUT = 60.0
"""Seconds that a data set may take to return a mini-batch that is no longer needed."""


class Prefetched:
    """`Batches`, fetched ahead as `data` of the job says."""

    def __init__(self, batches: Batches, spec: JobSpec) -> None:
        """Raises: InvalidWorkload, if several processes are to read what has one order."""
        self._batches, self._data = batches, spec.data
        if batches.streams and (spec.data.processes or 0) > 1:
            raise InvalidWorkload("data.processes: an iterable data set is read in its own order, by one process; set it to 1")
        if spec.data.processes == 0 and not batches.thread_safe:
            raise InvalidWorkload(
                "data.processes: 0 means a thread, which shares the model's random numbers with what dataset('train') draws; "
                "set it to 1, or derive the data set from gradstream.data.Source or Stream"
            )
        if batches.planned and spec.data.prefetch and not batches.thread_safe:
            raise InvalidWorkload(
                "data.prefetch: a process would fetch ahead what dataset('train') draws, and dealt mini-batches are fetched by a "
                "thread; remove it, set data.deal: shares, or derive the data set from gradstream.data.Source"
            )
        self.total, self.per_epoch, self.total_samples = batches.total, batches.per_epoch, batches.total_samples
        self.epoch_samples = batches.epoch_samples
        self.followed, self.planned = batches.followed, batches.planned
        self.granted: GrantedBatches | None = None
        """The numbers of the mini-batches that come next; None: one after the other."""
        self._watch = _Watch()
        self._ahead: _Ahead | None = None
        self._dealt: DealtAhead | None = None
        self._next = -1
        self._prepared: tuple[int, tuple[Any, int]] | None = None
        """The position of the next mini-batch, and the source of mini-batches from there."""

    def prepare(self, position: int, device: torch.device) -> None:
        """Fetch this mini-batch now, while the worker waits for an answer, if that is fast and `take` would have to do it.
        An error shows when the worker takes the mini-batch."""
        alone = self._batches.thread_safe and not self._batches.streams and self._data.prefetch is None and self._ahead is None
        alone = alone and self._dealt is None
        if not alone or not self._watch.fast or self._prepared or position >= self.total or self._wanted(device):
            return
        began = time.perf_counter()
        with contextlib.suppress(Exception, SystemExit):
            self._prepared = position, self._batches.take(position, device)
        if time.perf_counter() - began >= _NOT_FAST:  # what it waits for may have needed this core for some of that
            self._watch.fast = False

    def take(self, position: int, device: torch.device) -> tuple[Any, int]:
        """Mini-batch number `position` (from 0) of this rank, on `device`, and how many examples it has.

        Raises: FetcherLost; whatever the data set raises."""
        prepared, self._prepared = self._prepared, None
        if prepared and prepared[0] == position:
            return prepared[1]
        if self._ahead is None and not self._wanted(device):
            began = time.perf_counter()
            taken = self._batches.take(position, device)
            self._watch.saw(began, time.perf_counter())
            return taken
        if self.planned:
            self._dealt = self._dealt or DealtAhead(self._batches.fetch, self._depth, device)
            return self._dealt.take(position, self.granted.ahead(self._depth + 1) if self.granted else ())
        if self._ahead is None or position != self._next:  # the first time, or a worker that goes on somewhere else
            self.close()
            self._ahead = self._started(position, device)
        self._next = position + 1
        return self._ahead.get()

    def close(self) -> None:
        """End the thread and the processes. Raises: FetcherLost: the thread does not end."""
        if self._ahead:
            self._ahead.close()
            self._ahead = None
        if self._dealt:
            self._dealt.close()
            self._dealt = None

    def _wanted(self, device: torch.device) -> bool:
        """Return whether to fetch ahead: as the job says, else if fetching is slow. Processes are used only if the job asks."""
        if self.followed:
            return False
        if self._data.prefetch is not None:
            return self._data.prefetch > 0
        if self._data.processes or (device.type == "cuda" and self._batches.thread_safe):
            return True
        if not self._watch.slow:
            return False
        if not self._batches.thread_safe and not self._watch.told:
            self._watch.told = True
            log.warning("waiting for data takes a good part of the time; 'data: {processes: 1}' in the job file fetches ahead")
        return self._batches.thread_safe

    @property
    def _depth(self) -> int:
        return self._data.prefetch or FETCHED_AHEAD

    def _started(self, position: int, device: torch.device) -> _Ahead:
        ahead, processes = self._depth, self._data.processes
        if processes is None:
            processes = 0 if self._batches.thread_safe else 1
        if processes:
            fetchers = Fetchers(self._batches.fetch, position, self.total, processes)
            return _Ahead(fetchers.fetch, position, self.total, ahead, device, fetchers.close)
        return _Ahead(self._batches.fetch, position, self.total, ahead, device, lambda: None)


class _Watch:
    """Measures the cost of fetching."""

    def __init__(self) -> None:
        self._took: list[float] = []
        self._began = 0.0
        self._slow_before = False
        self.slow = False
        """Slow in two measurements in a row: one may only show the first reading of files."""
        self.fast = False
        """Not slow in the last measurement."""
        self.told = False

    def saw(self, began: float, ended: float) -> None:
        if not self._took:
            self._began = began
        self._took.append(ended - began)
        if len(self._took) < _CHECK_EVERY:
            return
        usual = median(self._took)
        slow = usual >= _SLOW and usual * _CHECK_EVERY >= _SLOW_SHARE * (ended - self._began)
        self.slow, self.fast = slow and self._slow_before, not slow
        self._slow_before = slow
        self._took.clear()


class _Ahead:
    """A thread that fetches up to `ahead` mini-batches before they are asked for, in their order."""

    def __init__(
        self,
        fetch: Callable[[int], tuple[Any, int]],
        start: int,
        total: int,
        ahead: int,
        device: torch.device,
        on_close: Callable[[], None],
    ) -> None:
        self._fetch, self._device, self._on_close = fetch, device, on_close
        self._ready: queue.Queue[ReadyBatch | BaseException] = queue.Queue(max(1, ahead - 1))  # one more is in the thread's hand
        self._closed = False
        self._thread = threading.Thread(target=self._work, args=(start, total), name="prefetch", daemon=True)
        self._thread.start()

    def get(self) -> tuple[Any, int]:
        """The next one. Waits as long as the data set takes. Raises what it raised."""
        while True:
            try:
                ready = self._ready.get(timeout=_STEP)
                break
            except queue.Empty:
                if not self._thread.is_alive():
                    raise FetcherLost("the thread that fetches mini-batches has ended") from None
        if isinstance(ready, BaseException):
            raise ready
        return usable(ready, self._device)

    def close(self) -> None:
        """Waits for the mini-batch that is being fetched. Raises: FetcherLost: it does not come."""
        self._closed = True
        self._on_close()
        deadline = time.monotonic() + _TIMEOUT
        while self._thread.is_alive():
            if time.monotonic() > deadline:
                raise FetcherLost(f"the data set has not returned a mini-batch within {_TIMEOUT:.0f} s")
            try:
                self._ready.get(timeout=0.01)  # it may be waiting for a free place
            except queue.Empty:
                pass
            self._thread.join(0.01)

    def _work(self, start: int, total: int) -> None:
        stream = torch.cuda.Stream(self._device) if self._device.type == "cuda" else None  # type: ignore[no-untyped-call]
        for position in range(start, total):
            try:
                batch, examples = self._fetch(position)
                ready: ReadyBatch | BaseException = copied(batch, examples, self._device, stream)
            except BaseException as error:  # user code may raise anything; the worker raises it where it waits
                ready = error
            self._put(ready)
            if self._closed or isinstance(ready, BaseException):
                return

    def _put(self, ready: ReadyBatch | BaseException) -> None:
        while not self._closed:
            try:
                return self._ready.put(ready, timeout=_STEP)
            except queue.Full:
                continue  # the model computes
