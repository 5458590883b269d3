"""Tables at a terminal, in a pipe, and in a narrow terminal."""

from __future__ import annotations

import pytest

from gradstream.cli.terminal.tables import Column, print_table

COLUMNS = ("id", Column("name", wraps=True), "status", Column("created", optional=True), Column("reason", wraps=True))
REASON = "It waits for 4 slots on one machine;\nthe largest machine that is not drained has 2 of them free."
ROWS = [
    ("ac0f7d21", "a-name-of-forty-characters-which-is-long", "succeeded", "2 d ago", ""),
    ("11", "short", "queued", "1 s ago", REASON),
]


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    print_table(COLUMNS, ROWS)
    return capsys.readouterr().out.splitlines()


def test_a_pipe_gets_one_line_a_row_and_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    head, *lines = printed(capsys)
    assert head.split() == ["id", "name", "status", "created", "reason"]
    assert len(lines) == 2
    assert lines[1].endswith(REASON.replace("\n", " "))
    assert lines[0].startswith("ac0f7d21  a-name-of-forty-characters-which-is-long  succeeded  2 d ago")


@pytest.mark.parametrize("width", [56, 60, 80, 120])
def test_a_terminal_truncates_no_id_no_status_and_no_word(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("FORCE_COLOR", "1"), ("NO_COLOR", "1"), ("COLUMNS", str(width))):
        monkeypatch.setenv(name, value)
    lines = printed(capsys)
    text = " ".join(lines)
    assert all(len(line) <= width for line in lines)
    assert "ac0f7d21" in text
    assert "succeeded" in text
    assert "…" not in text
    assert set(REASON.split()) <= set(text.split())
    assert ("created" in text) == (width >= 64)
    assert "\x1b" not in text, "NO_COLOR leaves no escape sequences"


def test_what_does_not_fit_at_all_runs_on(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    assert "ac0f7d21" in (text := " ".join(printed(capsys)))
    assert "succeeded" in text
