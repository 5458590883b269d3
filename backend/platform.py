"""Resources of a running API or controller: settings, connections and the one source of derived secrets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import redis
from fastapi import Depends, Request

import backend.models  # noqa: F401  # all tables, since foreign keys name those of features that a program does not import
from backend.db import Database
from backend.files import FileStore
from backend.secrets import Derived
from backend.settings import BackendSettings, secret
from backend.wakeups.wakeup import Wakeup
from gradstream.wire.redis import client
from gradstream.wire.redis.routes import Instances


@dataclass(frozen=True, slots=True)
class Platform:
    settings: BackendSettings
    database: Database
    files: FileStore
    derived: Derived
    wakeup: Wakeup
    live: redis.Redis
    plane: redis.Redis

    @classmethod
    def open(cls, settings: BackendSettings, *, pool_size: int = 10) -> Platform:
        """Read the secrets and make the clients; nothing connects before it is used."""
        live = client.connect(settings.live_redis_url, password=secret(settings.live_redis_password_file))
        plane = Instances.of(settings.plane_redis_url, password=secret(settings.plane_redis_password_file))
        wakeup = Wakeup(live)
        return cls(
            settings,
            Database(settings, wakeup, pool_size=pool_size),
            FileStore(settings.files_dir),
            Derived(settings.signing_key_file.read_bytes()),
            wakeup,
            live,
            plane,
        )

    def close(self) -> None:
        self.database.close()
        self.wakeup.close()
        self.plane.close()


def get_platform(request: Request) -> Platform:
    platform: Platform = request.app.state.platform
    return platform


PlatformDep = Annotated[Platform, Depends(get_platform)]
