from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from worker_agent.output import logs
from worker_agent.output.logs import CHUNK, Tail


def _read(tail: Tail, *, ended: bool = False) -> str:
    text = ""
    while chunk := tail.next(ended=ended):
        text += chunk.text
        tail.offset = chunk.end
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


def test_of_too_much_output_the_beginning_and_the_end_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also on the disk, while the process writes and nothing can be shipped; a line is cut at its end, a character nowhere."""
    for name, size in (("HEAD", 64 << 10), ("TAIL", 256 << 10), ("STEP", 64 << 10), ("CHUNK", 32 << 10)):
        monkeypatch.setattr(logs, name, size)
    tail, lines = Tail(tmp_path / "log"), [f"€ line {number}\n" for number in range(200_000)]
    with tail.path.open("a", encoding="utf-8") as file:
        for begin in range(0, len(lines), 4_000):
            file.writelines(lines[begin : begin + 4_000])
            file.flush()
            tail.bound()
            assert tail.path.stat().st_blocks * 512 < (64 + 256 + 64 + 100) << 10
    written = "".join(lines)
    texts, gaps, counted = [""], [0], 0
    while chunk := tail.next(ended=True):
        if chunk.omitted:
            texts.append("")
            gaps.append(chunk.omitted)
        counted += chunk.omitted + chunk.size
        texts[-1] += chunk.text
        tail.offset = chunk.end
        tail.bound()
    assert tail.complete
    assert counted == tail.path.stat().st_size
    assert len(texts) == 2
    assert written.startswith(texts[0].rstrip("\ufffd"))
    assert len(texts[0].encode()) >= 64 << 10
    assert ("\n" + texts[1]) in written
    assert written.endswith(texts[1])
    assert len(texts[1].encode()) > 255 << 10
    assert tail.path.stat().st_blocks * 512 < 100 << 10, "what is stored is given back"


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/etc/passwd"), os.mkdir], ids=["pipe", "link", "folder"])
def test_what_user_code_puts_in_its_place_is_no_output(tmp_path: Path, make: Callable[[Path], None]) -> None:
    tail = Tail(tmp_path / "log")
    make(tail.path)
    assert tail.next(ended=False) is None
    tail.bound()
    assert tail.next(ended=True) is None
