"""The memory of the data plane is shared: who takes too much is ended, and who waits says for whom."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from backend.platform import Platform
from backend.scheduler import plane_watch
from gradstream.process.order import plane_id
from gradstream.wire.plane_memory import read_fill
from tests.integration.backend.jobs import submit, workers
from tests.integration.backend.running import Running

MIB = 2**20


@pytest.fixture
def neighbour(running: Running, tmp_path: Path) -> str:
    """Another job that runs beside the first; the first holds 4 MiB of the plane in keys of its own."""
    id: str = submit(running.api, tmp_path, name="neighbour", roles=workers(1))["id"]
    running.start()
    return id


def hold(running: Running, platform: Platform, size: int) -> str:
    j = plane_id(UUID(running.id), 1)
    for number in range(size // MIB):
        platform.plane.xadd(f"gs:{{{j}}}:mine", {"x": bytes(MIB)})
        platform.plane.set(f"gs:{{{j}:{number}}}:junk", b"x")
    return j


def look(running: Running) -> None:
    running.controller._plane_watch._next = 0.0
    running.controller.run_once()


def test_an_attempt_that_takes_too_much_is_ended_and_its_neighbour_is_told(
    running: Running, neighbour: str, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    j = hold(running, platform, 8 * MIB)
    look(running)
    assert running.job["status"] == "running", "far below every bound"
    monkeypatch.setattr(plane_watch, "LEAST", MIB)
    monkeypatch.setattr(plane_watch, "MAX_SHARE_UNKNOWN", 4 * MIB / read_fill(platform.plane).capacity)
    look(running)
    assert running.status == ("stopping", "plane_memory")
    assert not platform.plane.keys(f"gs:{{{j}*"), "its memory is free at once"
    assert "It held 8 MB" in running.job["message"]
    assert "maxmemory" in running.job["message"]
    look(running)
    api = running.api
    assert api.get(f"/jobs/{neighbour}").json()["status"] in ("running", "starting")
    told = [event["message"] for event in api.get(f"/jobs/{neighbour}/events").json()["items"] if event["kind"] == "warning"]
    assert [("The job small was ended" in message) for message in told] == [True]


def test_a_job_that_waits_for_a_full_plane_says_for_whom(
    running: Running, neighbour: str, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(running, platform, 2 * MIB)

    def alerts() -> list[str]:
        found: list[str] = running.api.get(f"/jobs/{neighbour}").json()["progress"]["alerts"]
        return found

    look(running)
    assert alerts() == []
    for name in ("FULL", "FREE"):
        monkeypatch.setattr(plane_watch, name, 1e-6)
    for _ in range(2):
        look(running)
    [alert] = alerts()
    assert "Most of it holds the job small. Stop that job" in alert
    assert "Most of it holds this job" in running.job["progress"]["alerts"][0]
    events = [event for event in running.api.get(f"/jobs/{neighbour}/events").json()["items"] if event["kind"] == "warning"]
    assert [event["data"]["job"] for event in events] == [running.id], "once"
    monkeypatch.undo()
    look(running)
    assert alerts() == []
