"""Alembic's entry. A connection and the folder of the files may be given in `config.attributes`; otherwise they are
those of the API's settings."""

from __future__ import annotations

from typing import Any

from alembic import context
from sqlalchemy import Connection

from backend import models
from backend.db import Base, Database
from backend.settings import BackendSettings

assert models.TABLES, "importing the tables registers them"


def _server_defaults_by_us(*args: Any) -> bool | None:
    """Compare no server defaults: Postgres prints them in other words than ours."""
    return False


def run(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=Base.metadata, compare_server_default=_server_defaults_by_us)
    with context.begin_transaction():
        context.run_migrations()


given: Connection | None = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    settings = BackendSettings()
    context.config.attributes["files"] = settings.files_dir
    database = Database(settings)
    with database.engine.connect() as connection:
        run(connection)
    database.close()
