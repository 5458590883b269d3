"""Responses of a newer platform: the SDK reads them, and prints what it has no attribute for."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from gradstream.api.history import Event, Process
from gradstream.api.platform import NodeIsolation
from gradstream.api.statuses import ProcessStatus
from gradstream.events import EventKind

EVENT = {"seq": 1, "time": "2026-01-01T00:00:00Z", "actor": "controller", "message": "", "data": {}}


def test_a_value_of_this_version_is_its_enum() -> None:
    assert Event.model_validate(EVENT | {"kind": "status"}).kind is EventKind.STATUS


def test_a_value_and_a_member_of_a_newer_version_are_kept() -> None:
    event = Event.model_validate(EVENT | {"kind": "levitated", "moon": {"phase": 1}})
    assert event.kind == "levitated"
    assert event.as_dict() == EVENT | {"kind": "levitated", "moon": {"phase": 1}}
    assert NodeIsolation.model_validate({"level": "vault"}).level == "vault"


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(ValidationError):
        Event.model_validate(EVENT | {"kind": 3})


def test_the_document_lists_the_values_of_this_version_alone() -> None:

    schema = Process.model_json_schema()
    assert schema["properties"]["status"]["$ref"] == "#/$defs/ProcessStatus"
    assert schema["$defs"]["ProcessStatus"]["enum"] == list(ProcessStatus)
    assert schema["additionalProperties"] is False
