"""Mini-batches that the servers have dealt to this worker, fetched by a thread while the model computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from typing import Any

import torch

from gradstream.input.copied import ReadyBatch, copied, usable
from gradstream.input.fetchers import FetcherLost

_TIMEOUT = 600.0
"""Seconds that a data set may take to return a mini-batch."""


class DealtAhead:
    """Fetches the mini-batches that were granted before their turn, in the order of the grants."""

    def __init__(self, fetch: Callable[[int], tuple[Any, int]], ahead: int, device: torch.device) -> None:
        """`ahead`: mini-batches that are fetched before their turn, at most."""
        self._fetch, self._ahead, self._device = fetch, ahead, device
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        self._thread = ThreadPoolExecutor(1, "prefetch")
        self._under_way: dict[int, Future[ReadyBatch]] = {}

    def take(self, number: int, upcoming: Sequence[int]) -> tuple[Any, int]:
        """Return this mini-batch, and begin to fetch those that come next. Raises: FetcherLost; whatever the data set raises."""
        mine = self._begin(number)
        for one in [one for one in upcoming if one != number][: self._ahead]:
            self._begin(one)
        del self._under_way[number]
        try:
            return usable(mine.result(_TIMEOUT), self._device)
        except TimeoutError:
            raise FetcherLost(f"the data set has not returned mini-batch {number} within {_TIMEOUT:.0f} s") from None

    def close(self) -> None:
        """End the thread, after the mini-batch that it fetches now."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _begin(self, number: int) -> Future[ReadyBatch]:
        if number not in self._under_way:
            self._under_way[number] = self._thread.submit(self._fetched, number)
        return self._under_way[number]

    def _fetched(self, number: int) -> ReadyBatch:
        return copied(*self._fetch(number), self._device, self._stream)
