"""The data plane is shared: who takes too much of it is ended, and who waits says for whom."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import UUID

import pytest
from redis import Redis

from backend.platform import Platform
from backend.scheduler import plane_watch
from gradstream.process.order import plane_id
from gradstream.wire import plane, plane_connections
from gradstream.wire.plane_memory import read_fill
from gradstream.wire.redis.client import connect
from gradstream.wire.redis.connection import connector
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
    watch = running.controller._plane_watch
    watch._next = watch._next_count = 0.0
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


@pytest.mark.more
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
    assert "The job small holds most of it. Stop that job" in alert
    assert "This job holds most of it" in running.job["progress"]["alerts"][0]
    events = [event for event in running.api.get(f"/jobs/{neighbour}/events").json()["items"] if event["kind"] == "warning"]
    assert [event["data"]["job"] for event in events] == [running.id], "once"
    monkeypatch.undo()
    for _ in range(2):
        look(running)
    assert alerts() == []
    events = [event for event in running.api.get(f"/jobs/{neighbour}/events").json()["items"] if event["kind"] == "resolved"]
    assert [event["message"] for event in events] == ["The data plane has space again."]


@pytest.mark.more
def test_a_job_that_ended_while_the_plane_was_full_says_so_in_the_past(
    running: Running, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(running, platform, 2 * MIB)
    for name in ("FULL", "FREE"):
        monkeypatch.setattr(plane_watch, name, 1e-6)
    look(running)
    assert running.job["progress"]["alerts"][0].startswith("The data plane is full, so pushes wait. This job holds most of it.")
    running.api.post(f"/jobs/{running.id}/stop")
    running.end_all()
    assert running.status == ("cancelled", "stopped_by_user")
    [alert] = running.job["progress"]["alerts"]
    assert alert.startswith("When the job ended, the data plane was full, so pushes waited. This job held most of it.")


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def connections_of(running: Running, opened: ExitStack, count: int) -> list[Redis]:
    """Connections with the account of the running attempt."""
    access = next(order.plane for order in running.agent.orders.values() if str(order.job_id) == running.id)
    clients = [connect(access.url, user=access.user, password=access.password) for _ in range(count)]
    for client in clients:
        opened.callback(client.close)
        client.ping()
    return clients


@pytest.mark.more
def test_an_attempt_that_takes_too_many_connections_is_ended_with_all_of_them(
    running: Running, neighbour: str, platform: Platform, opened: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections_of(running, opened, 12)
    look(running)
    assert running.job["status"] == "running", "as long as others have enough"
    for name, value in (("CROWDED", 0.0), ("CONNECTIONS", 10), ("CONNECTIONS_PER_WORKER", 0)):
        monkeypatch.setattr(plane_watch, name, value)
    look(running)
    assert running.status == ("stopping", "plane_connections")
    assert "It had 12 connections to the data plane, and 10 are the most for it." in running.job["message"]
    user = plane.account(plane_id(UUID(running.id), 1))
    assert user not in {client["user"] for client in platform.plane.client_list()}
    assert running.api.get(f"/jobs/{neighbour}").json()["status"] in ("running", "starting")


def test_connections_that_never_sign_in_are_closed_where_others_run_out(
    running: Running, platform: Platform, opened: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    [signed_in] = connections_of(running, opened, 1)
    make = connector(running.agent.order("worker-0").plane.url)
    strangers: list[socket.socket] = [opened.enter_context(make()) for _ in range(5)]
    monkeypatch.setattr(plane_watch, "CROWDED", 0.0)
    look(running)
    strangers[0].settimeout(0.2)
    with pytest.raises(TimeoutError):  # it still has time to sign in
        strangers[0].recv(1)
    monkeypatch.setattr(plane_connections, "SIGN_IN_TIMEOUT", 0)
    look(running)
    for stranger in strangers:
        stranger.settimeout(10.0)
        assert stranger.recv(1) == b"", "closed"
    assert signed_in.ping()
    assert running.job["status"] == "running"
    look(running)  # the controller's own connection has stayed, too
