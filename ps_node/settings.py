"""What a shard process may be tuned by; everything about its job is in its order."""

from __future__ import annotations

from pydantic_settings import BaseSettings


class Settings(BaseSettings, frozen=True, env_prefix="GRADSTREAM_PS_"):
    read_count: int = 64
    """Log entries per read."""
    trim_every: int = 256
    """Entries between two trims of the log by shard 0."""
    answers_kept: int = 512
    """Letters kept per worker; a worker never has more than a few that it has not read."""
    payload_patience: float = 30.0
    """Seconds that a damaged payload may take to come again."""
    report_every: float = 1.0
    """Seconds between two reports of the ledger."""
