"""Streams end with their caller: one whose token was revoked, or whose session was ended, hears nothing more."""

from __future__ import annotations

import time
from contextlib import aclosing

import structlog
from starlette.concurrency import run_in_threadpool

from backend.away import MAY_PASS, first_line
from backend.platform import Platform
from backend.stream.pulse import Events
from backend.users import service as users
from backend.users.service import Caller
from gradstream.errors import NotSignedIn

log = structlog.get_logger(__name__)

POLL_INTERVAL = 30.0
"""Seconds."""


async def while_signed_in(events: Events, platform: Platform, caller: Caller) -> Events:
    """The events until the caller's token or session ends. `events` must go on with a pulse: each one may be the time to look."""
    looked = time.monotonic()
    async with aclosing(events):
        async for event in events:
            if time.monotonic() - looked >= POLL_INTERVAL:
                if not await run_in_threadpool(_is_signed_in, platform, caller):
                    return
                looked = time.monotonic()
            yield event


def _is_signed_in(platform: Platform, caller: Caller) -> bool:
    try:
        with platform.database.transaction() as session:
            users.check_still_signed_in(session, caller)
    except NotSignedIn:
        return False
    except MAY_PASS as error:
        log.warning("a stream cannot look whether its caller is signed in", error=first_line(error))
    return True
