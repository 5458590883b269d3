"""Words after Tab that need no platform."""

from __future__ import annotations

import pytest

from gradstream import jobfile
from gradstream.cli import completion
from gradstream.strategies import STRATEGIES


def words(offered: list[tuple[str, str]]) -> list[str]:
    return [word for word, _ in offered]


def test_keys_of_a_job_file_are_offered_and_accepted() -> None:
    assert words(completion.complete_override("roles.worker.c")) == ["roles.worker.count="]
    assert "strategy.lr=" in words(completion.complete_override("strategy."))
    assert words(completion.complete_override("strategy.name=ad")) == ["strategy.name=adag"]
    assert words(completion.complete_override("on_nan=")) == ["on_nan=drop", "on_nan=fail"]
    offered = words(completion.complete_override("roles.worker."))
    assert offered
    for word in offered:
        values = words(completion.complete_override(word)) or [f"{word}{0.5 if word.endswith('.gpu=') else 2}"]
        job = {"name": "x", "workload": {"entrypoint": "a:B"}, "strategy": {"name": "adag"}, "stop": {"epochs": 1}, "accumulate": 8}
        needed = ["roles.worker.group.replicate=2"] if word == "roles.worker.group.machines=" else []
        assert jobfile.load(job, [*needed, values[-1]]) != jobfile.load(job, needed)


def test_strategies_and_statuses() -> None:
    assert words(completion.complete_strategy("d")) == [name for name in STRATEGIES if name.startswith("d")]
    assert words(completion.complete_status("s")) == ["starting", "stopping", "succeeded"]


def test_no_platform_offers_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("GRADSTREAM_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GRADSTREAM_TOKEN", "token")
    assert completion.complete_job("d") == []
    assert completion.complete_node("") == []
