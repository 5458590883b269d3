"""The platform's own programs as children of `gradstream up`: their commands and their settings.

Secrets go by file (GRADSTREAM_..._FILE): nothing secret stands in an argument list or an environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from gradstream.errors import Unavailable
from gradstream.hostnames import page_url
from gradstream.local.examples import examples_folder
from gradstream.local.folder import DataFolder
from gradstream.local.options import Options
from gradstream.local.servers.child import Child
from gradstream.local.servers.postgres import Postgres
from gradstream.local.servers.redis import Redis

CHECKPOINT_AT_EXIT = 10.0
"""Seconds for which running jobs may take a last checkpoint before the platform ends."""


class Programs:
    def __init__(
        self,
        folder: DataFolder,
        postgres: Postgres,
        live: Redis,
        plane: Redis,
        host: str,
        port: int,
        allowed_hosts: Sequence[str],
    ) -> None:
        self._folder, self._host, self._port = folder, host, port
        self._live: dict[str, object] = {"LIVE_REDIS_URL": live.url}
        self._backend = {
            **self._live,
            "LIVE_REDIS_PASSWORD_FILE": folder.secret("redis-live-password"),
            "DATABASE_URL": postgres.url,
            "DATABASE_PASSWORD_FILE": folder.secret("postgres-password"),
            "PLANE_REDIS_URL": plane.url,
            "PLANE_REDIS_PASSWORD_FILE": folder.secret("redis-plane-password"),
            "FILES_DIR": folder.path / "files",
            "SIGNING_KEY_FILE": folder.secret("signing-key"),
            "PUBLIC_URL": page_url(self.url),
            "PROCESS_API_URL": self.url,
            "ALLOWED_HOSTS": ",".join(allowed_hosts),
            **_pages_and_examples(),
        }
        if live.entrance and plane.entrance:
            self._backend["JOIN_LIVE_URL"] = live.entrance.url
            self._backend["JOIN_PLANE_URL"] = plane.entrance.url

    @property
    def url(self) -> str:
        host = "127.0.0.1" if self._host in ("0.0.0.0", "::") else self._host
        return f"http://{f'[{host}]' if ':' in host else host}:{self._port}"

    def api(self) -> Child:
        return self._child("API", "backend", "api", "--host", self._host, "--port", str(self._port))

    def controller(self) -> Child:
        at_exit = {"CHECKPOINT_AT_EXIT": CHECKPOINT_AT_EXIT, "EXIT_REPORT_FILE": self._folder.last_stop}
        return self._child("controller", "backend", "controller", settings=at_exit)

    def migrate(self, join_token: Path | None) -> Child:
        """`join_token`: a file with a secret with which one machine may join from then on."""
        return self._child("migrations", "backend", "migrate", *_join_option(join_token))

    def migrate_and_create_user(self, name: str, join_token: Path, answer: Path) -> Child:
        """Its last words, a line of JSON with a new token, go into the file `answer`."""
        return self._child("account", "backend", "migrate", "--create-user", name, *_join_option(join_token), log=answer)

    def agent(self, options: Options) -> Child:
        settings = {
            **self._live,
            "API_URL": self.url,
            "JOIN_TOKEN_FILE": self._folder.join_token,
            "WORK_DIR": self._folder.agent,
            **({"SLOTS": options.slots} if options.slots else {}),
            "HIDDEN": self._folder.path,
            **options.isolate.settings(),
            "MPS": options.mps,
            "PRELOAD": "sklearn.datasets" if find_spec("sklearn") else "",  # of the example that newcomers begin with
        }
        return Child("agent", python_program("worker_agent"), log=self._folder.logs / "agent.log", env=clean_environment(settings))

    def _child(self, name: str, *command: str, log: Path | None = None, settings: Mapping[str, object] = {}) -> Child:
        log = log or self._folder.logs / f"{name.lower()}.log"
        return Child(name, python_program(*command), log=log, env=clean_environment({**self._backend, **settings}))


def _join_option(join_token: Path | None) -> list[str]:
    return [] if join_token is None else ["--join-token-file", str(join_token)]


def python_program(module: str, *arguments: str) -> list[str]:
    if find_spec(module) is None:
        raise Unavailable(f"the program {module} is not installed: pip install 'gradstream[demo]'")
    return [sys.executable, "-m", module, *arguments]


def clean_environment(settings: dict[str, object]) -> dict[str, str]:
    """Ours, without settings of other platforms that a shell may have set."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GRADSTREAM_")}
    return inherited | {f"GRADSTREAM_{name}": str(value) for name, value in settings.items()}


def _pages_and_examples() -> dict[str, object]:
    """The built web page and the examples, where this installation has them."""
    found = find_spec("backend")
    if found is None or not found.submodule_search_locations:
        raise Unavailable("the program backend is not installed: pip install 'gradstream[demo]'")
    page = Path(next(iter(found.submodule_search_locations))) / "page"
    places = {"PAGE_DIR": page if page.is_dir() else None, "EXAMPLES_DIR": examples_folder()}
    return {name: place for name, place in places.items() if place}
