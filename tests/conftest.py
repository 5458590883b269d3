"""Real servers for the tests: an embedded Postgres per xdist worker, and as many Redis as a test asks for.

Each worker has its own, started when the first test asks (0.5 s), so a test may freeze or kill them.
"""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
import structlog

from gradstream.local.servers.child import run_dir
from gradstream.local.servers.postgres import Postgres
from gradstream.local.servers.redis import Redis, start_on_free_port
from tests.selection import leave_out
from tests.support import Database

if TYPE_CHECKING:
    from tests.platforms import Lab

ROOT = Path(__file__).parents[1]
PASSWORD = "only for tests"
MIGRATED = "template_migrated"

hypothesis.settings.register_profile("same", derandomize=True)
hypothesis.settings.register_profile("search", print_blob=True)
hypothesis.settings.load_profile("same")


def pytest_configure() -> None:
    """A shell that starts us in the background has SIGINT ignored, and every program under test would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    plain = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)  # rich ones take a second each
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], plain])


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the garbage collector the modules and tests, which all stay: it walked through them for a sixth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before pytest selects by marks."""
    leave_out(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse to run if groups have no effect: pytest-xdist 3.8 ignores them on pytest 9.2, without a message (its issue 1386)."""
    if getattr(session.config.option, "loadgroup", False):
        for item in session.items:
            group = item.get_closest_marker("xdist_group")
            if group and not item.nodeid.endswith(f"@{group.args[0]}"):
                raise pytest.UsageError(f"{item.nodeid} would run apart from its group {group.args[0]}")


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """Open to the accounts of jobs."""
    tmp_path.chmod(0o777)
    return tmp_path


@pytest.fixture(scope="session")
def short_dir() -> Iterator[Path]:
    """A folder with a path short enough for sockets."""
    folder = run_dir()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def password_file(short_dir: Path) -> Path:
    path = short_dir / "password"
    path.touch(0o600)
    path.write_text(PASSWORD.replace(" ", "-"))
    return path


@pytest.fixture(scope="session")
def postgres(short_dir: Path, password_file: Path) -> Iterator[Postgres]:
    """The server itself. Tests that need tables want `database`."""
    server = Postgres(short_dir / "pg", short_dir / "pg-run", log=short_dir / "pg.log", password_file=password_file, durable=False)
    server.start()
    server.wait()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def make_database(postgres: Postgres, password_file: Path) -> Callable[[], Database]:
    """Makes one more database with all tables and no rows (50 ms)."""
    import psycopg

    def named(name: str) -> Database:
        return Database(postgres.url.replace("/gradstream?", f"/{name}?"), postgres.password, password_file)

    def create(name: str, template: str) -> Database:
        with psycopg.connect(named("postgres").dsn, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'.encode())
        return named(name)

    _migrate(create(MIGRATED, "template1"))
    numbers = itertools.count()
    return lambda: create(f"test_{next(numbers)}", MIGRATED)


@pytest.fixture(scope="session")
def database(make_database: Callable[[], Database]) -> Database:
    """The database that this worker's tests share; each leaves it as it found it."""
    return make_database()


@pytest.fixture
def redis_server(short_dir: Path, password_file: Path) -> Iterator[Callable[..., Redis]]:
    """Starts one more Redis (50 ms) that ends with the test: `redis_server(maxmemory="64mb", tcp=True)`."""
    started: list[Redis] = []

    def start(*, maxmemory: str = "256mb", tcp: bool = False) -> Redis:
        server = _redis(short_dir, password_file, maxmemory, tcp)
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="session")
def shared_redis(short_dir: Path, password_file: Path) -> Iterator[Redis]:
    """One Redis for all tests of a worker that neither kill it nor mind other keys."""
    server = _redis(short_dir, password_file, "512mb", tcp=False)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One platform for all tests of whole jobs."""
    from tests.platforms import lab as make_lab  # its tables take 2 s of CPU, which most processes of the tests need not pay

    with make_lab(tmp_path_factory.mktemp("lab"), slots=4) as made:
        yield made


@pytest.fixture(autouse=True)
def no_job_stays(request: pytest.FixtureRequest) -> Iterator[None]:
    if "lab" not in request.fixturenames:
        yield
        return
    from tests.platforms import stop_new_jobs

    with stop_new_jobs(request.getfixturevalue("lab").client):
        yield


_names = (f"redis-{number}" for number in itertools.count())


def _redis(folder: Path, password_file: Path, maxmemory: str, tcp: bool) -> Redis:
    name = next(_names)

    def make(port: int | None) -> Redis:
        run, log = folder / name, folder / f"{name}.log"
        return Redis(name, run, log=log, password_file=password_file, maxmemory=maxmemory, port=port)

    if tcp:
        return start_on_free_port(make)
    server = make(None)
    server.start()
    server.wait()
    return server


def _migrate(database: Database) -> None:
    """Bring the template up to date the way an operator does."""
    settings = {
        "DATABASE_URL": database.url,
        "DATABASE_PASSWORD_FILE": database.password_file,
        "LIVE_REDIS_URL": "unix:///unused",
        "PLANE_REDIS_URL": "unix:///unused",
        "FILES_DIR": "/unused",
        "SIGNING_KEY_FILE": database.password_file,
    }
    environment = {**os.environ, **{f"GRADSTREAM_{name}": str(value) for name, value in settings.items()}}
    done = subprocess.run(
        [sys.executable, "-m", "backend", "migrate"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, f"the migrations failed:\n{done.stdout}\n{done.stderr}"
