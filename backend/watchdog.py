"""A watchdog of the event loop. A loop that does not come round answers nobody, and no exception tells of it."""

from __future__ import annotations

import asyncio
import faulthandler
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

PATIENCE = 60.0


@asynccontextmanager
async def watched(patience: float = PATIENCE) -> AsyncIterator[None]:
    """The process ends with code 1 when this loop has not run for `patience` seconds, with the stacks of all threads on stderr.
    Whoever supervises it (`gradstream up`, Compose) starts it again. One at a time in a process; also the GIL may be held."""
    feeding = asyncio.create_task(_feed(patience))
    try:
        yield
    finally:
        feeding.cancel()
        faulthandler.cancel_dump_traceback_later()


async def _feed(patience: float) -> None:
    while True:
        faulthandler.dump_traceback_later(patience, exit=True)
        await asyncio.sleep(patience / 6)
