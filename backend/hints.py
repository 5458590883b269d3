"""Hints to nodes through Celery: `agent.sync`, "fetch your desired set now". A lost one costs a heartbeat's time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import structlog
from celery import Celery
from kombu.exceptions import OperationalError

from backend.settings import BackendSettings, secret
from gradstream.programs import broker, tasknames

log = structlog.get_logger(__name__)

EXPIRES = 30
"""Seconds after which a hint is worth nothing: heartbeats have said it since."""


class Hints:
    """Sends from a thread of its own, so that a frozen broker delays no caller; at most one hint per node waits."""

    def __init__(self, settings: BackendSettings) -> None:
        url = broker.url(settings.live_redis_url, secret(settings.live_redis_password_file))
        self._app = Celery("gradstream", broker=url, set_as_current=False)
        self._app.conf.update(broker.SETTINGS, broker_connection_max_retries=0)
        self._sender = ThreadPoolExecutor(1, thread_name_prefix="hints")
        self._waiting: set[UUID] = set()
        self._lock = threading.Lock()

    def send(self, node_id: UUID) -> None:
        """Returns at once."""
        with self._lock:
            if node_id in self._waiting:
                return
            self._waiting.add(node_id)
        self._sender.submit(self._send, node_id)

    def _send(self, node_id: UUID) -> None:
        with self._lock:
            self._waiting.discard(node_id)
        try:
            self._app.send_task(tasknames.SYNC, queue=tasknames.node_queue(node_id), expires=EXPIRES, retry=False)
        except OperationalError as error:
            log.warning("could not send a hint; the node learns by its heartbeat", node=str(node_id), error=str(error))

    def close(self) -> None:
        self._sender.shutdown(cancel_futures=True)
        self._app.close()
