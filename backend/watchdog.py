"""A watchdog of the event loop. A blocked loop answers no request and raises no exception."""

from __future__ import annotations

import asyncio
import faulthandler
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

TIMEOUT = 60.0


@asynccontextmanager
async def watched(timeout: float = TIMEOUT) -> AsyncIterator[None]:
    """The process ends with code 1 when this loop has not run for `timeout` seconds, with the stacks of all threads on stderr.
    Its supervisor (`gradstream up`, Compose) starts it again. One at a time in a process; also the GIL may be held."""
    feeding = asyncio.create_task(_feed(timeout))
    try:
        yield
    finally:
        feeding.cancel()
        faulthandler.cancel_dump_traceback_later()


async def _feed(timeout: float) -> None:
    while True:
        faulthandler.dump_traceback_later(timeout, exit=True)
        await asyncio.sleep(timeout / 6)
