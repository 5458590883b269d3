"""The commands of `python -m backend`. Imports stay inside: each command loads only what it needs."""

from __future__ import annotations

import gc
import json
import sys
from contextlib import suppress
from pathlib import Path

from gradstream.programs.imports import without_collector

_SWITCH = 0.001
"""Seconds that a thread of the API may compute while another one waits for the interpreter: short answers matter more."""
_YOUNG_PASSES = 200
"""Passes of the collector over young objects for each one over all, which holds up every answer: 50 ms and more under load."""
_KEEP_ALIVE = 20
"""Seconds that a connection may idle. Clients such as httpx reuse theirs for 5 s: no request meets one that the API just closes."""
_QUIET = ("uvicorn.access", "alembic", "kombu", "amqp")


def api(host: str, port: int) -> int:
    with without_collector():
        import uvicorn

        from backend.admission.accepting import ApiServer, raise_file_limit
        from backend.admission.connections import bounded
        from backend.app import create_app
        from backend.platform import Platform
        from backend.priority import go_first
        from backend.settings import BackendSettings
        from gradstream.programs import jsonlog

        load_late_imports()
    go_first()
    jsonlog.configure(sys.stdout, quiet=_QUIET)
    sys.setswitchinterval(_SWITCH)
    settings = BackendSettings()
    platform = Platform.open(settings)
    protocol = bounded(raise_file_limit(), settings.connections_per_address)
    try:
        # streams end by themselves on a signal; the bound is for uploads and downloads
        with without_collector():
            config = uvicorn.Config(
                create_app(platform, host),
                host=host,
                port=port,
                http=protocol,
                ws="none",
                timeout_keep_alive=_KEEP_ALIVE,
                timeout_graceful_shutdown=5,
                log_config=None,
                server_header=False,
            )
            server = ApiServer(config)
        gc.set_threshold(*gc.get_threshold()[:2], _YOUNG_PASSES)
        with suppress(KeyboardInterrupt):
            server.run()
    finally:
        platform.close()
    return 0 if server.started else 1


def load_late_imports() -> None:
    """Load what libraries import at their first use, so that no request waits for it. pyarrow's first array imports pandas where
    that is installed: the first export took 0.4 s, and 4 s on a busy machine."""
    import pyarrow as pa

    pa.array([])


def controller() -> int:
    with without_collector():
        from backend.platform import Platform
        from backend.scheduler.controller import Controller
        from backend.settings import BackendSettings
        from gradstream.programs import jsonlog

    jsonlog.configure(sys.stdout, quiet=_QUIET)
    platform = Platform.open(BackendSettings(), pool_size=3)
    try:
        Controller(platform).run_until_signal()
    finally:
        platform.close()
    return 0


def migrate(join_token_file: Path | None = None, uses: int = 1) -> int:
    with without_collector():
        from alembic import command
        from alembic.config import Config
        from sqlalchemy import text

        import migrations
        from backend.db import Database
        from backend.settings import BackendSettings
        from backend.users import service

    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    settings = BackendSettings()
    config.attributes["files"] = settings.files_dir
    database = Database(settings, pool_size=1)
    with database.engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('gradstream.migrate'))"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
    if join_token_file is not None:
        with database.transaction() as session:
            service.enter_join_token(session, join_token_file.read_text().strip(), uses)
    database.close()
    return 0


def create_user(name: str, token_name: str) -> int:
    from backend.db import Database
    from backend.settings import BackendSettings
    from backend.users import service
    from backend.users.schemas import CreateToken

    database = Database(BackendSettings(), pool_size=1)
    with database.transaction() as session:
        user = service.ensure_user(session, name)
        token = service.create_token(session, user.id, CreateToken(name=token_name))
    database.close()
    json.dump({"id": str(user.id), "name": user.name, "token": token.token}, sys.stdout)
    sys.stdout.write("\n")
    return 0


def lock_out(name: str) -> int:
    from backend.db import Database
    from backend.settings import BackendSettings
    from backend.users import service
    from gradstream.errors import NotFound

    database = Database(BackendSettings(), pool_size=1)
    try:
        with database.transaction() as session:
            revoked = service.lock_out(session, name)
    except NotFound as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    finally:
        database.close()
    json.dump({"name": name, "revoked_tokens": revoked}, sys.stdout)
    sys.stdout.write("\n")
    return 0


def openapi() -> int:
    from backend.app import openapi as document_of
    from backend.app import routes

    json.dump(document_of(routes()), sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")
    return 0
