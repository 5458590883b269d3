"""Numbers of agents that no column holds, or that no measurement gives, are refused before anything is done with them."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from pydantic import ValidationError

from backend.nodes.schemas import Heartbeat, Register

USAGE = {"at": 1e9, "cpu": 1.0, "memory": 1 << 30}
PROCESS = {"id": str(UUID(int=1)), "state": "running", "pid": 7, "usage": USAGE}
WRONG_USAGES: list[dict[str, Any]] = [{"cpu": "NaN"}, {"memory": 2**63}, {"gpu": "-Infinity"}]
NODE = {"name": "n", "slots": 1, "cpus": 1, "memory": 1 << 30, "version": "1", "gpus": [{"index": 0, "name": "g", "memory": 1}]}


def test_what_agents_send_is_taken() -> None:
    Heartbeat.model_validate({"processes": [PROCESS], "load": 0.5, "memory_used": 1 << 40})
    Register.model_validate(NODE)


@pytest.mark.parametrize(
    ("given", "untold"),
    [
        *(({**PROCESS, "usage": {**USAGE, "at": at}}, "usage") for at in ("Infinity", "NaN", 1e300, -1)),
        *(({**PROCESS, "usage": {**USAGE, **one}}, "usage") for one in WRONG_USAGES),
        ({**PROCESS, "pid": 2**63}, "pid"),
        ({**PROCESS, "exit": {"reason": "done", "code": 2**31}}, "exit"),
    ],
    ids=str,
)
def test_numbers_of_a_process_beyond_their_bounds_count_as_not_told(given: dict[str, Any], untold: str) -> None:
    """A refused heartbeat would cost the node its jobs."""
    [process] = read({"processes": [given]}).processes
    assert getattr(process, untold) is None
    assert process.state == "running"


@pytest.mark.parametrize(("name", "value"), [("load", "Infinity"), ("load", "NaN"), ("load", -1), ("memory_used", 2**63)])
def test_numbers_of_a_heartbeat_beyond_their_bounds_count_as_not_told(name: str, value: Any) -> None:
    assert getattr(read({"processes": [PROCESS], name: value}), name) is None


def test_a_place_in_the_output_that_no_column_holds_is_refused() -> None:
    with pytest.raises(ValidationError):
        read({"processes": [{**PROCESS, "log_offset": 2**63}]})


def read(given: dict[str, Any]) -> Heartbeat:
    text = (
        json.dumps(given).replace('"NaN"', "NaN").replace('Infinity"', "Infinity").replace('"-Inf', "-Inf").replace('"Inf', "Inf")
    )
    return Heartbeat.model_validate(json.loads(text))


@pytest.mark.parametrize(
    "changes", [{"cpus": 2**31}, {"memory": 2**63}, {"gpus": [{"index": 2**63, "name": "g", "memory": 1}]}], ids=str
)
def test_numbers_of_a_machine_have_bounds(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Register.model_validate({**NODE, **changes})
