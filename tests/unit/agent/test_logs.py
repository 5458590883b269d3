from __future__ import annotations

from pathlib import Path

import pytest

from worker_agent.logs import CHUNK, Tail


def _read(tail: Tail, *, ended: bool = False) -> str:
    text = ""
    while chunk := tail.next(ended=ended):
        text += chunk[0]
        tail.offset += chunk[1]
    return text


@pytest.mark.parametrize("character", ["ö", "€", "🙂"])
def test_a_character_that_is_half_written_waits_for_its_other_half(tmp_path: Path, character: str) -> None:
    tail = Tail(tmp_path / "log")
    data = character.encode()
    for cut in range(1, len(data)):
        tail.path.write_bytes(b"begun " + data[:cut])
        tail.offset = 0
        assert _read(tail) == "begun "
        tail.path.write_bytes(b"begun " + data)
        assert _read(tail) == character


def test_every_byte_counts_even_if_it_is_no_text(tmp_path: Path) -> None:
    tail = Tail(tmp_path / "log")
    tail.path.write_bytes(b"\xff\xfe zero \0 lone \x80 tail \xe2\x82")
    text = _read(tail, ended=True)
    assert tail.complete
    assert tail.offset == tail.path.stat().st_size
    assert " zero \ufffd lone " in text


def test_a_long_output_travels_in_chunks_that_cut_no_character(tmp_path: Path) -> None:
    tail = Tail(tmp_path / "log")
    written = "x" + "€" * CHUNK
    tail.path.write_text(written)
    assert _read(tail, ended=True) == written


def test_a_process_that_wrote_nothing_is_complete(tmp_path: Path) -> None:
    tail = Tail(tmp_path / "log")
    assert tail.next(ended=True) is None
    assert tail.complete
