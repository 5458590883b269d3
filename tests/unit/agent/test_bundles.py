from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import stat
import threading
from pathlib import Path

import pytest

from gradstream import bundle
from gradstream.errors import InvalidBundle, Unavailable
from worker_agent import bundles as bundles_of_node
from worker_agent.bundles import KEPT, Bundles


@pytest.fixture
def packed(tmp_path: Path) -> bundle.Bundle:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "body.py").write_text("x = 1\n")
    return bundle.pack(tmp_path / "code")


def test_many_ask_at_once_and_it_is_fetched_once(tmp_path: Path, packed: bundle.Bundle) -> None:
    fetched: list[str] = []

    async def fetch(hash: str) -> bytes:
        fetched.append(hash)
        await asyncio.sleep(0)
        return packed.data

    async def ask() -> list[Path]:
        bundles = Bundles(tmp_path / "bundles", fetch)
        return list(await asyncio.gather(*(bundles.folder_of(packed.hash) for _ in range(5))))

    places = asyncio.run(ask())
    assert fetched == [packed.hash]
    assert len(set(places)) == 1
    assert (places[0] / "body.py").read_text() == "x = 1\n"
    assert not os.stat(places[0] / "body.py").st_mode & 0o222


def test_what_arrives_damaged_or_not_at_all_leaves_nothing(tmp_path: Path, packed: bundle.Bundle) -> None:
    async def damaged(hash: str) -> bytes:
        return packed.data[:-1]

    async def away(hash: str) -> bytes:
        raise Unavailable("away")

    with pytest.raises(InvalidBundle, match="damaged"):
        asyncio.run(Bundles(tmp_path / "bundles", damaged).folder_of(packed.hash))
    with pytest.raises(Unavailable):
        asyncio.run(Bundles(tmp_path / "bundles", away).folder_of(packed.hash))
    assert list((tmp_path / "bundles").iterdir()) == []


def test_a_folder_that_must_not_be_unpacked_leaves_nothing(tmp_path: Path) -> None:
    junk = b"not a bundle"

    async def fetch(hash: str) -> bytes:
        return junk

    with pytest.raises(InvalidBundle):
        asyncio.run(Bundles(tmp_path / "bundles", fetch).folder_of(hashlib.sha256(junk).hexdigest()))
    assert list((tmp_path / "bundles").iterdir()) == []


def three_too_many(folder: Path) -> Bundles:
    """Called 000 and so on, the one that was used longest ago first."""

    async def fetch(hash: str) -> bytes:
        raise AssertionError("nothing is fetched here")

    for number in range(KEPT + 3):
        (folder / f"{number:03}").mkdir()
        os.utime(folder / f"{number:03}", (number, number))
    return Bundles(folder, fetch)


def test_the_last_used_ones_stay(tmp_path: Path) -> None:
    bundles = three_too_many(tmp_path)
    (tmp_path / ".interrupted").mkdir()
    bundles.drop_old()
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{number:03}" for number in range(3, KEPT + 3)]


def test_the_last_used_ones_and_those_in_use_stay_while_the_agent_runs(tmp_path: Path) -> None:
    asyncio.run(three_too_many(tmp_path).drop_unused({"001"}))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["001", *(f"{number:03}" for number in range(3, KEPT + 3))]


def test_what_an_agent_without_isolation_has_unpacked_is_fetched_again(tmp_path: Path, packed: bundle.Bundle) -> None:
    fetched = []

    async def fetch(hash: str) -> bytes:
        fetched.append(hash)
        return packed.data

    home = tmp_path / "bundles"
    before = asyncio.run(Bundles(home, fetch).folder_of(packed.hash))
    (before / "body.py").write_text("changed by a job")
    place = asyncio.run(Bundles(home, fetch, for_accounts=True).folder_of(packed.hash))
    assert stat.S_IMODE(place.stat().st_mode) == 0o755
    assert "changed" not in (place / "body.py").read_text()
    asyncio.run(Bundles(home, fetch, for_accounts=True).folder_of(packed.hash))
    assert len(fetched) == 2


def test_a_folder_that_was_removed_by_half_is_fetched_again(
    tmp_path: Path, packed: bundle.Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fetch(hash: str) -> bytes:
        return packed.data

    home = tmp_path / "bundles"
    bundles = Bundles(home, fetch)
    (home / packed.hash).mkdir()
    os.utime(home / packed.hash, (0, 0))
    for number in range(KEPT):
        (home / f"{number:03}").mkdir()

    def breaks(path: Path) -> None:
        raise OSError("the disk is gone")

    async def ask() -> Path:
        bundles.clean()
        return await bundles.folder_of(packed.hash)

    monkeypatch.setattr(shutil, "rmtree", breaks)
    assert (asyncio.run(ask()) / "body.py").exists()


def test_a_disk_that_hangs_while_old_ones_are_dropped_holds_up_neither_the_loop_nor_a_job_for_ever(
    tmp_path: Path, packed: bundle.Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fetch(hash: str) -> bytes:
        return packed.data

    released, removed = threading.Event(), threading.Event()
    home = tmp_path / "bundles"
    bundles = Bundles(home, fetch)
    for number in range(2):
        (home / f".left-{number}").mkdir()
    remove = shutil.rmtree

    def hangs(path: Path) -> None:
        released.wait(30)
        remove(path)
        removed.set()

    async def ask() -> Path:
        bundles.clean()
        return await bundles.folder_of(packed.hash)

    monkeypatch.setattr(shutil, "rmtree", hangs)
    monkeypatch.setattr(bundles_of_node, "CLEANING_BOUND", 0.05)
    assert (asyncio.run(ask()) / "body.py").exists()
    released.set()
    assert removed.wait(30)
    assert len([path for path in home.iterdir() if path.name.startswith(".left")]) == 1, "nothing more is removed once jobs go on"
