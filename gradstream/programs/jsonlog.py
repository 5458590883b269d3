"""The log of the platform's own programs: one JSON object per line. Each has the values bound to the context (job, pass)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TextIO

import structlog
from structlog.typing import Processor

_SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]


def configure(stream: TextIO, *, quiet: Sequence[str]) -> None:
    """`quiet`: loggers of libraries that tell every little thing; their warnings stay."""
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_SHARED,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, structlog.processors.JSONRenderer()],
        )
    )
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
    for name in quiet:
        logging.getLogger(name).setLevel(logging.WARNING)
