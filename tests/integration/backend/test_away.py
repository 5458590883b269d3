"""A database that is away, and one that answers but cannot do what was asked: each is told as what it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError, ProgrammingError

from backend.away import AWAY, DatabaseAway
from backend.db import Database
from backend.jobs import backoff
from backend.nodes import repository as nodes
from backend.platform import Platform
from backend.scheduler.controller import Controller
from backend.settings import BackendSettings
from gradstream.metrics import LOSS
from gradstream.wire.redis import keys
from gradstream.wire.telemetry import records
from tests.integration.backend.jobs import submit, workers
from tests.integration.backend.metrics import point, stored
from tests.integration.backend.running import Running

AWAY_SENTENCE = "The platform waits for the database, which does not answer."


@contextmanager
def failing(platform: Platform, table: str, code: str, when: str = "true") -> Iterator[None]:
    """Postgres itself says so, to whoever writes such a row."""
    with platform.database.transaction() as session:
        session.execute(
            text(f"""
            CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN IF {when} THEN RAISE EXCEPTION 'said the server' USING ERRCODE = '{code}'; END IF; RETURN NEW; END $$
        """)
        )
        session.execute(text(f"CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION fail()"))
    try:
        yield
    finally:
        with platform.database.transaction() as session:
            session.execute(text("DROP FUNCTION fail CASCADE"))


SAID = {
    "08006": AWAY_SENTENCE,
    "57P01": AWAY_SENTENCE,
    "57P02": AWAY_SENTENCE,
    "57P03": AWAY_SENTENCE,
    "57014": "it took too long",
    "55P03": "timed out waiting for a lock",
    "40001": "at the same time",
    "40P01": "at the same time",
    "53100": "the database's disk full",
    "53200": "memory or connections",
    "54001": "a limit of the database",
    "58030": "said the server",
}


@pytest.mark.few(6)
@pytest.mark.parametrize("code", SAID)
def test_a_request_is_told_what_is_wrong(api: httpx.Client, platform: Platform, tmp_path: Path, code: str) -> None:
    job_id = submit(api, tmp_path)["id"]
    with failing(platform, "jobs", code):
        refused = api.post(f"/jobs/{job_id}/stop")
    assert (refused.status_code, refused.json()["type"]) == (503, "/problems/Unavailable")
    assert SAID[code] in refused.json()["detail"]
    assert refused.headers["retry-after"]
    assert (AWAY_SENTENCE in refused.json()["detail"]) == (SAID[code] == AWAY_SENTENCE)
    assert api.post(f"/jobs/{job_id}/stop").json()["status"] == "cancelled"


def test_a_statement_that_takes_too_long_is_not_taken_for_a_database_that_is_away(platform: Platform) -> None:
    with pytest.raises(OperationalError) as caught, platform.database.transaction() as session:  # noqa: PT012
        session.execute(text("SET LOCAL statement_timeout = 10"))
        session.execute(text("SELECT pg_sleep(60)"))
    assert not isinstance(caught.value, AWAY)


def test_a_mistake_of_ours_is_not_either(platform: Platform) -> None:
    with pytest.raises(ProgrammingError), platform.database.transaction() as session:
        session.execute(text("SELECT nothing_of_the_kind"))


def test_a_connection_that_the_server_ends_is_replaced(platform: Platform) -> None:
    for _ in range(2):
        with pytest.raises(DatabaseAway), platform.database.transaction() as session:
            session.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
        with platform.database.transaction() as session:
            assert session.scalar(text("SELECT 1")) == 1


def test_connections_that_ended_while_nobody_used_them_are_not_noticed(platform: Platform, api: httpx.Client) -> None:
    assert api.get("/jobs").status_code == 200
    with platform.database.transaction() as session:
        session.execute(
            text(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'idle'"
            )
        )
    assert api.get("/jobs").status_code == 200


def test_a_server_that_is_not_there(settings: BackendSettings, tmp_path: Path) -> None:
    nowhere = Database(settings.model_copy(update={"database_url": f"postgresql://gradstream@/gradstream?host={tmp_path}"}))
    with pytest.raises(DatabaseAway, match="No such file"), nowhere.transaction() as session:
        nodes.stamp(session)
    nowhere.close()


def test_what_the_database_cannot_do_for_one_job_holds_up_no_other_and_loses_nothing(
    running: Running, controller: Controller, platform: Platform, api: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backoff, "RETRY_INTERVAL", 0.0)
    j = running.agent.order("worker-0").plane_id
    platform.plane.xadd(
        keys.metrics(j), {"source": "worker-0.0", "batch": 0, "points": records.pack_points([point(LOSS.name, 2.0)])}
    )
    other = submit(api, tmp_path, name="other", roles=workers(2))["id"]
    with failing(platform, "metric_batches", "53100", f"NEW.job_id = '{running.id}'"):
        for _ in range(2):
            controller.run_once()
        assert api.get(f"/jobs/{other}").json()["status"] == "starting"
        assert running.status == ("running", None)
    controller.run_once()
    assert stored(api, UUID(running.id)) == [("worker-0", 1, 2.0)]
    assert not [event for event in running.items("events") if event["kind"] == "warning"]
