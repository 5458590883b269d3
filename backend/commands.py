"""What `python -m backend COMMAND` does. Imports stay inside: each command loads only what it needs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

_QUIET = ("uvicorn.access", "alembic", "kombu", "amqp")


def api(host: str, port: int) -> int:
    import uvicorn

    from backend.admission.accepting import raise_file_limit
    from backend.admission.connections import bounded
    from backend.app import create_app
    from backend.platform import Platform
    from backend.settings import Settings
    from gradstream import jsonlog

    jsonlog.configure(sys.stdout, quiet=_QUIET)
    settings = Settings()
    platform = Platform.open(settings)
    protocol = bounded(raise_file_limit(), settings.connections_per_address)
    try:
        # streams end by themselves on a signal; the bound is for uploads and downloads
        uvicorn.run(
            create_app(platform), host=host, port=port, http=protocol, timeout_keep_alive=5, backlog=512,
            timeout_graceful_shutdown=5, log_config=None, server_header=False,
        )  # fmt: skip
    finally:
        platform.close()
    return 0


def controller() -> int:
    from backend.platform import Platform
    from backend.scheduler.controller import Controller
    from backend.settings import Settings
    from gradstream import jsonlog

    jsonlog.configure(sys.stdout, quiet=_QUIET)
    platform = Platform.open(Settings(), pool_size=3)
    try:
        Controller(platform).run_until_signal()
    finally:
        platform.close()
    return 0


def migrate() -> int:
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import text

    import migrations
    from backend.db import Database
    from backend.settings import Settings

    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    database = Database(Settings(), pool_size=1)
    with database.engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('gradstream.migrate'))"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
    database.close()
    return 0


def create_user(name: str, token_name: str) -> int:
    from backend.db import Database
    from backend.settings import Settings
    from backend.users import service
    from backend.users.schemas import CreateToken

    database = Database(Settings(), pool_size=1)
    with database.transaction() as session:
        user = service.ensure_user(session, name)
        token = service.create_token(session, user.id, CreateToken(name=token_name))
    database.close()
    json.dump({"id": str(user.id), "name": user.name, "token": token.token}, sys.stdout)
    sys.stdout.write("\n")
    return 0


def openapi() -> int:
    from backend.app import openapi as document_of
    from backend.app import routes

    json.dump(document_of(routes()), sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")
    return 0
