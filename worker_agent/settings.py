"""What an agent is told from outside: environment variables GRADSTREAM_*, read once."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from gradstream.process.shared import PLACE


class Settings(BaseSettings):
    model_config = SettingsConfigDict(frozen=True, env_prefix="GRADSTREAM_", use_attribute_docstrings=True)

    api_url: str
    """The API's base URL, without /api/v1."""
    node_name: str = Field(default_factory=lambda: socket.gethostname().split(".")[0])
    """Unique among nodes: a second agent of this name is refused while the first one lives."""
    node_token_file: Path
    """File with what machines register with: a join token, or the secret that the platform's own machines share."""
    live_redis_url: str
    """Celery broker. redis://host:port, redis://user@host:port or unix:///path, without the password."""
    live_redis_password_file: Path | None = None
    """File with the password of that Redis; none: it wants no password."""
    plane_redis_url: str | None = None
    """Where the job processes of this machine reach the gradient plane, if it is elsewhere for them than the control plane says."""
    process_api_url: str | None = None
    """Where the job processes of this machine reach the API, likewise."""
    work_dir: Path
    """The agent's own folder: bundles and the folders of processes. Nothing in it is needed after a restart."""
    slots: int = Field(default_factory=lambda: max(4, os.cpu_count() or 1), ge=1)
    """Workers that run here at once; servers and evaluators ride beside."""
    labels: dict[str, str] = {}
    """Told to the control plane, as JSON: {"rack": "4"}."""
    preload: Annotated[tuple[str, ...], NoDecode] = ()
    """Modules, with commas between them, that user code here often imports: they are imported once, before a job comes, and forked
    with it. Modules that start threads must not be among them."""
    gpus_within: float = Field(30.0, gt=0)
    """Seconds that the GPUs' driver may take to say which there are. Without an answer the node registers without any."""
    shared_memory: Path | None = PLACE
    """A file system in memory, for the vectors of workers whose servers run here, too. Empty: all vectors go through Redis."""

    @field_validator("preload", mode="before")
    @classmethod
    def _by_commas(cls, given: object) -> object:
        return [name for part in given.split(",") if (name := part.strip())] if isinstance(given, str) else given

    @field_validator("shared_memory", mode="before")
    @classmethod
    def _empty_is_none(cls, given: object) -> object:
        return given or None


def secret(path: Path | None) -> str | None:
    """The content of a secret's file, without the newline that editors add."""
    return None if path is None else path.read_text().strip()
