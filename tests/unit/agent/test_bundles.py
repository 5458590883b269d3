from __future__ import annotations

import asyncio
import hashlib
import os
from pathlib import Path

import pytest

from gradstream import bundle
from gradstream.errors import InvalidBundle, Unavailable
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


def test_the_last_used_ones_stay(tmp_path: Path) -> None:
    async def fetch(hash: str) -> bytes:
        raise AssertionError("nothing is fetched here")

    bundles = Bundles(tmp_path, fetch)
    for number in range(KEPT + 3):
        (tmp_path / f"{number:03}").mkdir()
        os.utime(tmp_path / f"{number:03}", (number, number))
    (tmp_path / ".interrupted").mkdir()
    bundles.drop_old()
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{number:03}" for number in range(3, KEPT + 3)]
