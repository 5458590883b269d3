"""How the programs reach the Celery broker: its URL, and the settings that sender and receiver must agree on.

Data only: what Celery carries are hints (see `tasknames`), so sending one may fail, and fails soon.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlsplit


def url(redis_url: str, password: str | None, user: str | None = None) -> str:
    """Celery's spelling of `redis://host:port/db`, `redis://user@host:port` or `unix:///path`, with the password in it. `user`
    comes before the one in the URL."""
    where = urlsplit(redis_url)
    named, _, host = where.netloc.rpartition("@")
    user = user or named
    secret = f"{user}:{quote(password, safe='')}@" if password else ""
    if where.scheme == "unix":
        return f"redis+socket://{secret}{where.path}?virtual_host=0"
    return f"{where.scheme}://{secret}{host}{where.path}"


SETTINGS: dict[str, Any] = {
    "task_serializer": "json",
    "accept_content": ["json"],
    "task_ignore_result": True,
    "task_acks_late": True,
    "worker_prefetch_multiplier": 1,
    "worker_enable_remote_control": False,
    "worker_redirect_stdouts": False,
    "worker_hijack_root_logger": False,
    "worker_cancel_long_running_tasks_on_connection_loss": False,
    "broker_connection_retry_on_startup": True,
    "broker_connection_max_retries": None,
    "broker_connection_timeout": 2,
    "broker_transport_options": {
        "visibility_timeout": 60,
        "socket_timeout": 2,
        "socket_connect_timeout": 2,
        "health_check_interval": 5,
    },
    "task_publish_retry_policy": {"max_retries": 2, "interval_start": 0, "interval_step": 0.2, "interval_max": 0.5},
}
"""With Celery's own, a send to a broker that does not answer was not back after 60 s."""


_UNACKED = {"unacked_key": "unacked", "unacked_index_key": "unacked_index", "unacked_mutex_key": "unacked_mutex"}

_BINDINGS = ("_kombu.binding", "_kombu.binding_permanent")


def receiver_settings(queue: str) -> dict[str, Any]:
    """For the one receiver of a queue: what Celery keeps beside it is named after it, not shared with all other receivers."""
    keys = {option: f"{queue}.{name}" for option, name in _UNACKED.items()}
    own = {"broker_transport_options": SETTINGS["broker_transport_options"] | keys}
    return SETTINGS | own | {"task_default_queue": queue, "task_default_exchange": queue}


def queue_keys(queue: str) -> list[str]:
    """The keys of a queue and of its receiver, as patterns: the last is that of priorities, which we do not send."""
    return [
        queue,
        *(f"{queue}.{name}" for name in _UNACKED.values()),
        *(f"{kind}.{queue}" for kind in _BINDINGS),
        f"{queue}\x06\x16*",
    ]
