"""Responses of a newer platform: the SDK reads them, and prints what it has no attribute for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import typer
from pydantic import ValidationError

from gradstream.api.history import Event, Process
from gradstream.api.jobs import Job
from gradstream.api.platform import NodeIsolation
from gradstream.api.statuses import ProcessStatus
from gradstream.cli.common import exit_with
from gradstream.events import EventKind

EVENT = {"seq": 1, "time": "2026-01-01T00:00:00Z", "actor": "controller", "message": "", "data": {}}


def test_a_value_of_this_version_is_its_enum() -> None:
    assert Event.model_validate(EVENT | {"kind": "status"}).kind is EventKind.STATUS


def test_a_value_and_a_member_of_a_newer_version_are_kept() -> None:
    event = Event.model_validate(EVENT | {"kind": "levitated", "moon": {"phase": 1}})
    assert event.kind == "levitated"
    assert event.as_dict() == EVENT | {"kind": "levitated", "moon": {"phase": 1}}
    assert NodeIsolation.model_validate({"level": "vault"}).level == "vault"


def test_a_job_in_a_status_of_a_newer_version_has_ended_when_it_has_an_end(capsys: pytest.CaptureFixture[str]) -> None:
    job = Job.model_construct(status="evicted", ended_at=datetime.now(UTC))
    assert job.ended
    assert not Job.model_construct(status="hibernating", ended_at=None).ended
    with pytest.raises(typer.Exit) as end:
        exit_with(job)
    assert end.value.exit_code == 1
    assert "does not know the status 'evicted'" in capsys.readouterr().err


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(ValidationError):
        Event.model_validate(EVENT | {"kind": 3})


def test_the_document_lists_the_values_of_this_version_alone() -> None:

    schema = Process.model_json_schema()
    assert schema["properties"]["status"]["$ref"] == "#/$defs/ProcessStatus"
    assert schema["$defs"]["ProcessStatus"]["enum"] == list(ProcessStatus)
    assert schema["additionalProperties"] is False
