"""A data folder of older words has those of today after its upgrade: in its ledger, metrics, messages and progress."""

from __future__ import annotations

import json
from uuid import UUID

import httpx
from alembic import command
from sqlalchemy import Connection, text

from backend.metrics.store import payloads
from backend.platform import Platform
from backend.progress.state import Folded, process_summaries
from gradstream.metrics import DEFERRED, LOSS, ROLLED_BACK, SHARED_MEMORY_SHORTFALL, STARVED, Point
from gradstream.wire.telemetry import records
from tests.integration.backend.migrating import config_for
from tests.integration.backend.running import Running

OLD_NAMES = ["ledger/buffered", "ledger/silent", "ledger/undone", "worker/no_room", LOSS.name]
OLD_PROGRESS = {
    "attempt": 1,
    "silent": {"1": 40},
    "no_room": {"0": 48_000_000},
    "standings": {
        "attempt": 1,
        "ledger": {
            "0": {"pushed": 9, "applied": 4, "buffered": 3, "dropped": 0, "pending": 2, "undone": 5},
            "1": {"pushed": 40, "applied": 0, "buffered": 0, "dropped": 40, "pending": 0},
        },
        "undone": {"1": 5},
    },
}
OLD_MESSAGE = "server-0 ended. 5 pushes are undone: all since the beginning, as no checkpoint was committed."
MESSAGE = "server-0 ended. 5 pushes are rolled back: all since the beginning, as no checkpoint was committed."
USERS_MESSAGE = "ValueError: undone, buffered and silent"
SEQ = 1000


def test_an_older_data_folder_is_shown_in_the_words_of_today(api: httpx.Client, running: Running, platform: Platform) -> None:
    config = config_for(platform)
    job = f"/jobs/{running.id}"
    with platform.database.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0023")
        _fill(connection, UUID(running.id))
        before = _rows(connection, UUID(running.id))
        command.upgrade(config, "head")

    batches = api.get(f"{job}/metrics").raise_for_status().json()["items"]
    assert [point[0] for batch in batches for point in batch["points"]] == [
        DEFERRED.name,
        STARVED.name,
        ROLLED_BACK.name,
        SHARED_MEMORY_SHORTFALL.name,
        LOSS.name,
    ]
    for metric in (DEFERRED, STARVED, ROLLED_BACK, SHARED_MEMORY_SHORTFALL):
        [chart] = api.get(f"{job}/chart", params={"name": metric.name, "columns": 10}).raise_for_status().json()["charts"]
        assert [series["total"] for series in chart["series"]] == [1]

    ledger = api.get(f"{job}/overview").raise_for_status().json()["ledger"]
    assert [ledger[name] for name in ("pushed", "applied", "deferred", "dropped", "pending", "rolled_back")] == [54, 4, 3, 40, 2, 5]
    alerts = "\n".join(api.get(job).raise_for_status().json()["progress"]["alerts"])
    assert "Worker 1 does not contribute: its last 40 pushes were all dropped" in alerts
    assert "could not allocate 48.0 MB" in alerts
    events = api.get(f"{job}/events").raise_for_status().json()["items"]
    assert [event["message"] for event in events if event["kind"] == "warning"] == [
        MESSAGE,
        USERS_MESSAGE,
        "ledger/starved is refused.",
    ]
    assert api.get(f"{job}/attempts").raise_for_status().json()["items"][0]["message"] == MESSAGE

    with platform.database.engine.begin() as connection:
        config.attributes["connection"] = connection
        progress = connection.scalars(text("SELECT progress FROM jobs WHERE id = :job"), {"job": running.id}).one()
        assert (process_summaries(progress).rolled_back, Folded.model_validate(progress).starved) == ({1: 5}, {1: 40})
        command.downgrade(config, "0023")
        assert _rows(connection, UUID(running.id)) == before, "and the way back"
        command.upgrade(config, "head")


def _fill(connection: Connection, job_id: UUID) -> None:
    """What 0023 had stored of a job with a starved worker, deferred pushes, and others that a lost attempt had cost."""
    told = {"job": job_id, "progress": json.dumps(OLD_PROGRESS), "message": OLD_MESSAGE, "seq": SEQ}
    connection.execute(
        text("UPDATE jobs SET feed = :seq + 10, progress = CAST(:progress AS jsonb), message = :message WHERE id = :job"), told
    )
    connection.execute(text("UPDATE attempts SET message = :message WHERE job_id = :job"), told)
    for place, message in enumerate((OLD_MESSAGE, USERS_MESSAGE, "ledger/silent is refused.")):
        event = {"job": job_id, "seq": SEQ + 1 + place, "message": message}
        values = ":job, :seq, 'warning', 'controller', :message, '{}'"
        connection.execute(text(f"INSERT INTO events (job_id, seq, kind, actor, message, data) VALUES ({values})"), event)
    points = [Point(name, 0, 1, 0, 0, 1000.0, 2.0) for name in OLD_NAMES]
    batch = {"payload": payloads.pack(records.pack_points(points)), "totals": payloads.pack_totals([1] * len(points))}
    connection.execute(
        text("INSERT INTO metric_batches VALUES (:job, :seq, 1, 'server-0.0', 7, :payload, :totals)"), {**told, **batch}
    )
    for name in OLD_NAMES:
        connection.execute(
            text(
                "INSERT INTO metric_series (job_id, attempt, source, name, rank, count, folded) "
                "VALUES (:job, 1, 'server-0', :name, 0, 1, 0)"
            ),
            {"job": job_id, "name": name},
        )
    connection.execute(text("INSERT INTO metric_stores (job_id, folded, waiting) VALUES (:job, 0, 5)"), told)


def _rows(connection: Connection, job_id: UUID) -> list[object]:
    """All that the migration changes."""
    names = connection.scalars(text("SELECT name FROM metric_series WHERE job_id = :job ORDER BY id"), {"job": job_id}).all()
    batches = connection.scalars(text("SELECT payload FROM metric_batches WHERE job_id = :job"), {"job": job_id}).all()
    jobs = connection.execute(text("SELECT progress, message FROM jobs WHERE id = :job"), {"job": job_id}).one()
    said = "SELECT message FROM events WHERE job_id = :job UNION ALL SELECT message FROM attempts WHERE job_id = :job ORDER BY 1"
    messages = connection.scalars(text(said), {"job": job_id}).all()
    return [list(names), [payloads.unpack(batch) for batch in batches], tuple(jobs), list(messages)]
