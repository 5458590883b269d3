"""The threads of a hogwild worker."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait


class HogwildThreads:
    """Runs one function in several threads at once: the caller's, which has the number 0, and others, which stay."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._others = ThreadPoolExecutor(max(1, count - 1), thread_name_prefix="hogwild")

    def run(self, work: Callable[[int], None]) -> None:
        """Call `work(number)` in each thread, and return when all have returned. Raises: the first error, by number."""
        others = [self._others.submit(work, number) for number in range(1, self.count)]
        try:
            work(0)
        finally:
            wait(others)  # as long as their user code takes: none of them may step on theta after this
        for other in others:
            other.result()
