"""The record of the environment that a job ran in, made beside the training by a thread of worker 0."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from gradstream.process.environment import ENVIRONMENT, collect_environment
from gradstream.process.order import ProcessOrder
from gradstream.process.store import Uploads

log = logging.getLogger(__name__)

_TIMEOUT = 10.0
"""Seconds that the end of a very short training waits for the record."""


@contextmanager
def environment_recorded(order: ProcessOrder, uploads: Uploads) -> Iterator[None]:
    """Store the environment while the body runs. A failure to do so is logged and fails nothing."""
    if order.rank != 0 or order.incarnation != 0:
        yield
        return
    thread = threading.Thread(target=_record, args=(order.gpu, uploads), name="environment", daemon=True)
    thread.start()
    yield
    thread.join(_TIMEOUT)


def _record(gpu: int | None, uploads: Uploads) -> None:
    try:
        uploads.add(ENVIRONMENT, collect_environment(gpu).model_dump_json(indent=1), needed=False)
    except Exception as error:  # a broken package's metadata can raise anything
        log.warning("the environment is not recorded: %s: %s", type(error).__name__, error)
