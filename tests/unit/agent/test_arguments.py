"""`python -m worker_agent` without what it needs: a help, or sentences."""

from __future__ import annotations

import os

import pytest

from worker_agent.arguments import read_settings
from worker_agent.settings import AgentSettings


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GRADSTREAM_")]:
        monkeypatch.delenv(name)


def test_help_explains_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        read_settings(["--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert all(f"GRADSTREAM_{name.upper()}" in said for name in AgentSettings.model_fields)
    assert all(field.description for field in AgentSettings.model_fields.values())
    assert "gradstream join" in said


def test_missing_and_wrong_settings_are_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("GRADSTREAM_SLOTS", "many")
    with pytest.raises(SystemExit) as end:
        read_settings([])
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert "GRADSTREAM_API_URL: Field required" in said
    assert "GRADSTREAM_SLOTS: Input should be a valid integer" in said
