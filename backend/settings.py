"""Settings of the API and the controller: environment variables GRADSTREAM_*, read once.

A secret comes as a file (`GRADSTREAM_..._FILE`), so that it stands in no argument list and no environment.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from gradstream.errors import Conflict
from gradstream.hostnames import check_host_name


def _host_names(given: object) -> object:
    if not isinstance(given, str):
        return given
    return tuple(check_host_name(name.strip()) for name in given.split(",") if name.strip())


HostNames = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_host_names)]
"""A string with commas, as in environment variables."""


UNENDED_JOBS = 5_000


class BackendSettings(BaseSettings):
    model_config = SettingsConfigDict(frozen=True, env_prefix="GRADSTREAM_")

    database_url: str
    """postgresql://user@host/database, or with a socket folder: postgresql://user@/database?host=/folder. No password."""
    database_password_file: Path | None = None
    live_redis_url: str
    """Celery broker and wake-ups. redis://host:port or unix:///path, without a password, as all Redis URLs here."""
    live_redis_password_file: Path | None = None
    plane_redis_url: str
    """The data plane, reached with the right to make and remove access of single attempts. Several addresses with commas
    between them: several Redis; redis-cluster://host:port: a cluster. See `gradstream/wire/redis/routes.py`."""
    plane_redis_password_file: Path | None = None
    plane_public_url: str | None = None
    """The data plane as job processes reach it, several Redis in the same order; default: plane_redis_url."""

    files_dir: Path
    """Bundles, checkpoints and artifacts. All replicas of the API and the controller see the same folder."""
    page_dir: Path | None = None
    """The built web page; None: the API serves no page."""
    examples_dir: Path | None = None

    join_live_url: str | None = None
    """The live Redis as machines reach it that join with `gradstream join`: redis://host:port. A host of 0.0.0.0 or [::]
    stands for the host at which a machine reaches the API. None: no machine can join so."""
    join_plane_url: str | None = None
    """The data plane as those machines reach it; default: plane_public_url."""

    signing_key_file: Path
    """Key from which the secrets of single processes and attempts are derived."""
    public_url: str = "http://127.0.0.1:8000"
    """Where browsers reach the API."""
    process_api_url: str | None = None
    """Where job processes reach it, to store checkpoints and models; default: public_url."""
    allowed_hosts: HostNames = ()
    """Further names of this platform, with commas between them. A browser is answered by these, by those in the addresses here, by
    this machine's own, and by any IP address. Programs with a token need none."""
    connections_per_address: int | None = None
    """Connections of one address to the API; None: 1,024, and at most half of all. Behind a proxy all come from one address."""
    secure_cookies: bool = False
    """True behind TLS: the session cookie is then never sent in the clear."""

    heartbeat_every: timedelta = timedelta(seconds=2)
    node_lost_after: timedelta = timedelta(seconds=10)
    """A node that was silent for so long is lost, by the database's clock."""
    session_lifetime: timedelta = timedelta(days=14)
    sign_in_code_lifetime: timedelta = timedelta(minutes=10)
    stop_grace: timedelta = timedelta(seconds=20)
    """How long a stopped job may take to write its last checkpoint before it is killed."""
    orders_within: timedelta = timedelta(seconds=15)
    """A node that sends heartbeats, but reports no ordered process for so long, gets no more jobs for a while."""
    start_timeout: timedelta = timedelta(minutes=2)
    """An attempt whose processes are not all running by then is given up."""
    checkpoint_at_exit: float = 0.0
    """Seconds for which a controller that ends waits until each job that trains has taken a last checkpoint; 0: it takes
    none. It is for platforms whose jobs end with the controller."""
    exit_report_file: Path | None = None
    """Where the controller writes sentences about those checkpoints as it ends: {"sentences": [...]}. None: only its log."""
    checkpoints_kept: int = 2
    export_chains_kept: int = 2
    """Bases of exports for serving, each with the deltas that rest on it."""
    unused_bundles_kept: timedelta = timedelta(days=7)
    """How long a bundle that no job names is kept after its last use: an upload, a look at it, a job."""
    unused_bundles_bytes: int = 16 * 2**30
    """The most that bundles which no job names may take; beyond that the ones used longest ago go, after an hour without use."""
    strays_kept: timedelta = timedelta(hours=1)
    """How long a file that no row names is left alone after its last change, as its upload may be under way."""
    unended_jobs: int = UNENDED_JOBS
    """Jobs of one user that may wait or run at a time; another one is refused (429)."""
    job_media_bytes: int = 256 * 2**20
    """The most that the logged media of one job may take: images, figures, tables, texts, histograms. More are dropped."""
    job_media_items: int = 20_000
    """Logged media of one job; more are dropped."""
    job_update_bytes: int = 128 * 2**20
    """The most that the update samples of one job may take: histograms of gradients and updates. More are dropped."""
    job_update_samples: int = 20_000
    """Update samples of one job; more are dropped."""
    job_files_bytes: int = 256 * 2**30
    """The most that the files of one job may take: checkpoints, models, results. A job that sends more is ended."""

    def require_open_to_machines(self) -> tuple[str, str]:
        """The live Redis and the data plane, as machines that join reach them. Raises: Conflict."""
        plane = self.join_plane_url or self.plane_public_url
        if self.join_live_url is None or plane is None:
            raise Conflict(
                "This platform lets no machines join: other machines cannot reach its Redis. Start it with "
                "`gradstream up --host ADDRESS`; in containers, see deploy/README.md."
            )
        return self.join_live_url, plane


def secret(path: Path | None) -> str | None:
    """The content of a secret's file, without the newline that editors add."""
    return None if path is None else path.read_text().strip()
