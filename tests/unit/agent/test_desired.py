"""Desired sets of another version, and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from gradstream.errors import Unavailable
from tests.orders import make_order
from worker_agent.desired import read_desired


def message(**more: Any) -> dict[str, Any]:
    order = make_order().model_dump(mode="json")
    return {"desired": [order | more], "heartbeat_every": 2, "moon": "full"}


def test_members_that_this_version_does_not_know_are_left_out() -> None:
    told = message(moon="full")
    told["desired"][0]["plane"]["moon"] = "full"
    told["desired"][0]["store"]["moon"] = {"phase": 3}
    found = read_desired(told)
    assert [order.label for order in found.orders] == ["worker-0"]
    assert not found.refused


@pytest.mark.parametrize("nothing", [None, False, "", [], {}])
def test_a_member_of_the_job_file_that_asks_for_nothing_is_left_out(nothing: object) -> None:
    told = message()
    told["desired"][0]["spec"]["levitation"] = nothing
    told["desired"][0]["spec"]["strategy"]["spin"] = nothing
    told["desired"][0]["spec"]["roles"]["worker"]["spin"] = nothing
    [order] = read_desired(told).orders
    assert order.spec == make_order().spec


@pytest.mark.parametrize(
    ("path", "named"),
    [((), "'levitation' in spec"), (("strategy",), "'levitation' in spec.strategy"), (("roles", "worker"), "spec.roles.worker")],
)
def test_what_changes_how_a_job_trains_is_refused_for_that_job_only(path: tuple[str, ...], named: str) -> None:
    told = message()
    part = told["desired"][0]["spec"]
    for step in path:
        part = part[step]
    part["levitation"] = 3
    other = make_order()
    found = read_desired({**told, "desired": [*told["desired"], other.model_dump(mode="json")]})
    assert [order.id for order in found.orders] == [other.id]
    [why] = found.refused.values()
    assert named in why
    assert "same version" in why


@pytest.mark.parametrize("change", [{"role": "poet"}, {"rank": "first"}, {"plane": None}])
def test_an_order_of_a_kind_that_is_not_known_is_refused(change: dict[str, Any]) -> None:
    found = read_desired(message(**change))
    assert not found.orders
    assert len(found.refused) == 1


@pytest.mark.parametrize("every", [0, -1, 1e-9, 1e300, 10**400, float("nan"), float("inf"), "soon", None, []])
def test_an_interval_that_would_silence_the_agent_or_never_let_it_rest_is_rejected(every: object) -> None:
    with pytest.raises(Unavailable, match="heartbeat"):
        read_desired({**message(), "heartbeat_every": every})


@pytest.mark.parametrize(
    "junk", [None, [], "no", 7, {}, {"desired": 3, "heartbeat_every": 1}, {"desired": [{}], "heartbeat_every": 1}]
)
def test_junk_is_an_api_that_is_away(junk: object) -> None:
    with pytest.raises(Unavailable):
        read_desired(junk)
