"""How the API accepts connections: a few at a time, as many as the system allows, and few words when no file is left."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from typing import Any

import structlog
import uvicorn

from gradstream.programs.log_limit import LogLimit

log = structlog.get_logger(__name__)

_MAX_DESCRIPTORS = 65_536
"""More would only cost the kernel memory."""
_EVERY = LogLimit()


_AT_ONCE = 32
"""Connections that are accepted in one turn of the event loop: a crowd of them costs those that are open no more than this."""
_WAITING = 2048
"""Connections that the kernel keeps until their turn."""


class ApiServer(uvicorn.Server):
    """asyncio accepts as many connections in one turn as the kernel keeps, both being the backlog; here they differ."""

    def __init__(self, config: uvicorn.Config) -> None:
        config.backlog = _AT_ONCE
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for server in self.servers:
            for listening in server.sockets:
                with listening.dup() as one:
                    one.listen(_WAITING)


def raise_file_limit() -> int:
    """Allow this process as many open files as it may have; return how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MAX_DESCRIPTORS)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return _MAX_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


class _JunkLimit(logging.Filter):
    """uvicorn's lines about what is no request to this API, once a minute: whoever sends it decides how often."""

    _BOUNDED = ("Invalid HTTP request received.", "Unsupported upgrade request.")
    _DROPPED = "No supported WebSocket library detected."
    """It follows the line about an upgrade, and its remedy is none: the API has no WebSockets."""

    def filter(self, record: logging.LogRecord) -> bool:
        if str(record.msg).startswith(self._DROPPED):
            return False
        if record.msg not in self._BOUNDED:
            return True
        more = _EVERY.take(record.msg)
        if more:
            record.msg += f" {more} lines like this were held back."
        return more is not None


_JUNK_LIMIT = _JunkLimit()


def limit_log(loop: asyncio.AbstractEventLoop) -> None:
    """Say once a minute what asyncio and uvicorn say thousands of times a second: no file is left, or no such request is known."""
    logging.getLogger("uvicorn.error").addFilter(_JUNK_LIMIT)

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if "accept() out of system resource" not in context.get("message", ""):
            loop.default_exception_handler(context)
        elif (more := _EVERY.take("accept")) is not None:
            log.error("no open files are left for new connections; raise the limit of open files", held_back=more)

    loop.set_exception_handler(handle)
