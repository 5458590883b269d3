"""The tuning settings of a shard process; all facts about its job are in its order."""

from __future__ import annotations

from pydantic_settings import BaseSettings


class ServerSettings(BaseSettings, frozen=True, env_prefix="GRADSTREAM_PS_"):
    read_count: int = 64
    """Log entries per read."""
    trim_every: int = 256
    """Entries between two trims of the log by shard 0."""
    responses_kept: int = 512
    """Responses kept per worker; a worker never has more than a few that it has not read."""
    payload_timeout: float = 30.0
    """Seconds within which a damaged payload must be resent."""
    report_every: float = 1.0
    """Seconds between two reports of the ledger."""
    summary_every: float = 30.0
    """Seconds between two summaries of embedding tables."""
