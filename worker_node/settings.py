"""The tuning settings of workers and evaluators; all facts about their job are in their order."""

from __future__ import annotations

from pydantic_settings import BaseSettings


class WorkerSettings(BaseSettings, frozen=True, env_prefix="GRADSTREAM_WORKER_"):
    on_core_every: float = 1.0
    """Seconds between two reports of the time on a core, which changes slowly."""
    peers_every: float = 1.0
    """Seconds between two reports of the processes of a group."""
    say_every: float = 10.0
    """Seconds between two log lines about one wait for the center."""
    environment_timeout: float = 10.0
    """Seconds that the end of a very short training waits for the record of its environment."""
