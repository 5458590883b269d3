"""The settings of an agent: environment variables GRADSTREAM_*, read once."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from gradstream.process.shared import PLACE
from gradstream.sandbox.sandbox import Network


class AgentSettings(BaseSettings):
    model_config = SettingsConfigDict(frozen=True, env_prefix="GRADSTREAM_", use_attribute_docstrings=True)

    api_url: str
    """The API's base URL, without /api/v1."""
    node_name: str = Field(default_factory=lambda: socket.gethostname().split(".")[0])
    """Unique among nodes: a second agent of this name is refused while the first one lives."""
    join_token_file: Path | None = None
    """File with a join token. It is read when the platform does not know this node, which is so at its first start, and may be made
    after the agent has started. From then on the node has a credential of its own, in its work folder."""
    live_redis_url: str
    """Celery broker. redis://host:port, redis://user@host:port or unix:///path, without the password."""
    plane_redis_url: str | None = None
    """Where the job processes of this machine reach the data plane, if it is elsewhere for them than the control plane says."""
    process_api_url: str | None = None
    """Where the job processes of this machine reach the API, likewise."""
    work_dir: Path
    """The agent's own folder: bundles, the folders of processes, and the node's credential. Without the credential, the node needs
    another join token after a restart."""
    slots: int = Field(default_factory=lambda: max(4, os.cpu_count() or 1), ge=1)
    """Workers that run here at once; servers and evaluators run beside."""
    labels: dict[str, str] = {}
    """Told to the control plane, as JSON: {"rack": "4"}."""
    preload: Annotated[tuple[str, ...], NoDecode] = ()
    """Modules, with commas between them, that user code here often imports: they are imported once, before a job comes, and forked
    with it. Modules that start threads must not be among them."""
    gpus_within: float = Field(30.0, gt=0)
    """Seconds that the GPUs' driver may take to say which there are. Without an answer the node registers without any."""
    mps: bool = False
    """Run NVIDIA's Multi-Process Service, so that kernels of processes that share a GPU run side by side. One that fails on the GPU
    may end all others there. It needs the isolation none."""
    shared_memory: Path | None = PLACE
    """A file system in memory, for the vectors of workers whose servers run here, too. Empty: all vectors go through Redis."""

    isolation: Literal["auto", "namespace", "user", "none"] = "auto"
    """Separation of job processes from the platform and from each other; auto: the best that this machine offers."""
    network: Network = Network.INTERNET
    """The most that jobs may reach: internet, all that this machine reaches, or platform, the data plane and the API only."""
    writable: Annotated[tuple[Path, ...], NoDecode] = ()
    """Folders that jobs may write to, with commas between them. Elsewhere they only read, but in a folder of their own."""
    hidden: Annotated[tuple[Path, ...], NoDecode] = ()
    """Files and folders that jobs do not see, beside secrets and what is the agent's own."""

    @field_validator("writable", "hidden", mode="before")
    @classmethod
    def _paths_by_commas(cls, given: object) -> object:
        return [path for part in given.split(",") if (path := part.strip())] if isinstance(given, str) else given

    @field_validator("writable")
    @classmethod
    def _are_folders(cls, given: tuple[Path, ...]) -> tuple[Path, ...]:
        for path in given:
            if not path.is_absolute() or not path.is_dir():
                raise ValueError(f"{path} is not the absolute path of a folder of this machine")
        return given

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
