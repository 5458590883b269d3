"""Whether the API could hear the nodes. A node's silence counts only while it could: else an API or a database that was
away for ten seconds would look like the loss of every machine."""

from __future__ import annotations

import threading

import structlog

from backend.away import MAY_PASS, first_line
from backend.db import Database
from backend.nodes import repository

log = structlog.get_logger(__name__)

EVERY = 1.0
"""Seconds between two stamps of each API process."""


class Presence:
    """The thread that stamps, as long as the API runs."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stopped.set()
        self._thread.join(10)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                with self._database.transaction() as session:
                    repository.stamp(session)
            except MAY_PASS as error:
                log.warning("the database cannot note that the API is there", error=first_line(error))
            except Exception:  # without this thread, no node would ever count as lost
                log.exception("it cannot be noted that the API is there; it is tried again")
            self._stopped.wait(EVERY)
