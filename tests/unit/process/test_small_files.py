"""Whatever user code leaves where its process reports: the agent reads it at once, or takes it for nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gradstream.process import exits
from gradstream.process.exits import ExitReason
from gradstream.process.watchdogs.start import read_hang
from worker_agent.folders import remove_folder

JUNK: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a link": lambda path: path.symlink_to("/dev/zero"),
    "a folder": os.mkdir,
    "too large": lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 2**40),
    "too deep": lambda path: path.write_text("[" * 100_000),
    "other bytes": lambda path: path.write_bytes(b"\xff\x00"),
    "another shape": lambda path: path.write_text("[1]"),
}


@pytest.mark.parametrize("kind", JUNK)
def test_junk_is_read_at_once_and_means_nothing(kind: str, tmp_path: Path) -> None:
    for name in ("exit.json", "hang.json"):
        JUNK[kind](tmp_path / name)
    (tmp_path / exits.BEGAN).touch()
    assert exits.read(tmp_path, 1).reason is ExitReason.INTERNAL
    assert read_hang(tmp_path) is None


def test_a_deep_folder_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "processes"
    folder.mkdir()
    inside = os.open(folder, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("x", dir_fd=inside)
        deeper = os.open("x", os.O_RDONLY, dir_fd=inside)
        os.close(inside)
        inside = deeper
    os.close(inside)
    remove_folder(folder)
    assert not folder.exists()
