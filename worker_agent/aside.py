"""Work that may take as long as it likes, beside the agent's loop: what asks a driver or a disk may hang for ever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


def begin(work: Callable[[], T], name: str) -> asyncio.Future[T]:
    """Its result or error, from a thread of its own that holds up no end of the program, unlike those of `asyncio.to_thread`.

    Wait for it with `asyncio.wait` and a bound: to cancel it would not end the thread."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result: T | None = None
        error: BaseException | None = None
        try:
            result = work()
        except Exception as raised:
            error = raised
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(tell, result, error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future
