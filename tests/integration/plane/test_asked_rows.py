"""Rows that a push asks for, at real servers: the bits of the simulator, whatever becomes of the response that brings them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gradstream.center.entries import Payload
from gradstream.wire.center_receiver import CenterReceiver, UnreadableCenter
from gradstream.wire.transport.messages import ResponseMessage
from tests.integration.plane.cluster import Cluster
from tests.integration.plane.test_tables import WHERE, assert_as_simulated, problems
from tests.unit.sim.test_tables import KEPT, job

AHEAD = {"ahead": True}


@pytest.mark.few(2)
@pytest.mark.parametrize("where", WHERE)
def test_asked_rows_have_the_bits_of_the_simulator(where: str, cluster: Callable[..., Cluster]) -> None:
    spec = job("sync", shards=2, tables=KEPT, args=AHEAD, stop={"steps": 12})
    assert_as_simulated(cluster(spec, problems(spec), local=WHERE[where]), spec)


@pytest.mark.more
@pytest.mark.parametrize("where", WHERE)
def test_cached_rows_have_the_bits_of_the_simulator(where: str, cluster: Callable[..., Cluster]) -> None:
    """One of the tables has a cache, in which few rows find a place."""
    tables = {"deep": {"cache": {"rows": 100, "bound": 2}}}
    spec = job("sync", shards=2, tables=tables, args=AHEAD, stop={"steps": 12})
    assert_as_simulated(cluster(spec, problems(spec), local=WHERE[where]), spec)


@pytest.mark.few(2)
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize(("strategy", "more"), [("sync", {}), ("easgd", {"gate": {"mode": "bsp"}})], ids=["center", "response"])
def test_a_resent_response_leaves_the_rows_that_came_first(
    strategy: str, more: dict[str, Any], where: str, cluster: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    receive, calls, rejected = CenterReceiver.receive, list[int](), list[int]()

    def receive_some(self: CenterReceiver, messages: list[ResponseMessage]) -> Payload:
        response = messages[0].response
        calls.append(response.seq)
        if len(calls) % 3 == 0 and response.brings in ("center", "response") and response.seq:
            rejected.append(sum(message.rows is not None for message in messages))
            raise UnreadableCenter("the vector")
        return receive(self, messages)

    monkeypatch.setattr(CenterReceiver, "receive", receive_some)
    spec = job(strategy, workers=2, shards=2, args=AHEAD, stop={"steps": 12}, **more)
    assert_as_simulated(cluster(spec, problems(spec), local=WHERE[where]), spec)
    assert 2 in rejected, "a response with rows of both servers was rejected"
