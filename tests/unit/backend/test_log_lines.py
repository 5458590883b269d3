"""A readable file from pieces of output."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable
from datetime import UTC, datetime
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from backend.logs.lines import LONGEST, LogLines
from gradstream.api.history import LogChunk

MOMENT = datetime(2026, 1, 10, 12, tzinfo=UTC)
HEAD = "2026-01-10T12:00:00.000+00:00 worker-0 "


def chunk(text: str) -> LogChunk:
    return LogChunk(seq=1, process_id=UUID(int=1), label="worker-0", attempt=1, offset=0, time=MOMENT, text=text)


def said(pieces: Iterable[str]) -> list[str]:
    lines = LogLines()
    found = [line for piece in pieces for line in lines.take(chunk(piece))]
    return [line.removeprefix(HEAD).removesuffix("\n") for line in [*found, *lines.rest()]]


@given(st.lists(st.text(alphabet="ab \r\n", max_size=8)))
def test_where_pieces_are_cut_makes_no_difference(pieces: list[str]) -> None:
    assert said(pieces) == said(["".join(pieces)])


def test_of_a_line_that_is_repainted_the_last_picture_is_kept() -> None:
    assert said([" 10%\r", " 20%", "\r 30%\r", "\n", "next\r\n"]) == [" 30%", "next"]


def test_a_progress_bar_without_end_takes_no_memory() -> None:
    picture = 100 * "#"
    lines = LogLines()
    tracemalloc.start()
    for number in range(200):
        assert list(lines.take(chunk("".join(f"\r{number} {picture}" for _ in range(100))))) == []
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 100_000
    assert list(lines.rest()) == [f"{HEAD}199 {picture}\n"]


def test_a_line_without_end_is_cut() -> None:
    pieces = 10 * [LONGEST // 2 * "x"] + ["y\n"]
    found = said(pieces)
    assert max(map(len, found)) < 2 * LONGEST
    assert "".join(found) == "".join(pieces).rstrip()
