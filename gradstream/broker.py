"""How the programs reach the Celery broker: its URL, and the settings that sender and receiver must agree on.

Data only: what Celery carries are hints (see `tasknames`), so sending one may fail, and fails soon.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlsplit


def url(redis_url: str, password: str | None) -> str:
    """Celery's spelling of `redis://host:port/db`, `redis://user@host:port` or `unix:///path`, with the password in it."""
    where = urlsplit(redis_url)
    user, _, host = where.netloc.rpartition("@")
    secret = f"{user}:{quote(password, safe='')}@" if password else ""
    if where.scheme == "unix":
        return f"redis+socket://{secret}{where.path}?virtual_host=0"
    return f"{where.scheme}://{secret}{host}{where.path}"


SETTINGS: dict[str, Any] = {
    "task_serializer": "json", "accept_content": ["json"], "task_ignore_result": True, "task_acks_late": True,
    "worker_prefetch_multiplier": 1, "worker_enable_remote_control": False, "worker_redirect_stdouts": False,
    "worker_hijack_root_logger": False, "worker_cancel_long_running_tasks_on_connection_loss": False,
    "broker_connection_retry_on_startup": True, "broker_connection_max_retries": None, "broker_connection_timeout": 2,
    "broker_transport_options": {
        "visibility_timeout": 60, "socket_timeout": 2, "socket_connect_timeout": 2, "health_check_interval": 5,
    },
    "task_publish_retry_policy": {"max_retries": 2, "interval_start": 0, "interval_step": 0.2, "interval_max": 0.5},
}  # fmt: skip
"""With Celery's own, a send to a broker that does not answer was not back after 60 s."""
