"""Whatever an archive is, it is refused in a sentence or is harmless, in bounded time and memory."""

from __future__ import annotations

import shutil
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from gradstream import bundle
from gradstream.errors import InvalidBundle
from gradstream.workload_source import list_workloads, read_archive, read_texts
from tests.hostile.archives.drawn import drawn
from tests.hostile.archives.known import KNOWN
from tests.hostile.archives.odd import ODD
from tests.hostile.progress import Progress
from tests.hostile.runs import FIRST, runs

RUNS = runs(100, 5_000)
LONGEST = 2.0
"""Seconds of processor time for one archive; most take milliseconds."""
MAX_MEMORY = 16 * bundle.MIB


def _is_harmless(data: bytes, home: Path) -> bool:
    """Read it as the API and a node do. True: accepted."""
    into = home / "deep" / "into"
    began = time.process_time()
    try:
        listed = bundle.inspect(data).files
    except InvalidBundle:
        with pytest.raises(InvalidBundle, match=r"\w+ \w+"):
            bundle.unpack(data, into)
        accepted = False
    else:
        bundle.unpack(data, into)
        written = {path.relative_to(into).as_posix(): path.stat().st_size for path in into.rglob("*") if path.is_file()}
        assert written == {file.path: file.size for file in listed}
        assert not any(path.is_symlink() for path in home.rglob("*"))
        accepted = True
    read_archive(data)
    assert time.process_time() - began < 2 * LONGEST, "inspected, unpacked and read"
    assert {path.name for path in home.iterdir()} <= {"deep"}, "nothing outside of its folder"
    shutil.rmtree(home / "deep", ignore_errors=True)
    return accepted


@pytest.mark.few(12)
@pytest.mark.parametrize("name", KNOWN)
def test_known_attacks_are_refused_at_once(name: str, tmp_path: Path) -> None:
    data = KNOWN[name]()
    began = time.process_time()
    with pytest.raises(InvalidBundle):
        bundle.inspect(data)
    assert time.process_time() - began < LONGEST
    with pytest.raises(InvalidBundle):
        bundle.unpack(data, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["4,000 files 498 deep", "260 MiB of zeros", "a long name of 100 MiB"])
def test_known_attacks_take_little_memory(name: str) -> None:
    data = KNOWN[name]()
    tracemalloc.start()
    with pytest.raises(InvalidBundle):
        bundle.inspect(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MAX_MEMORY


@pytest.mark.parametrize("name", ODD)
def test_odd_archives_are_refused_or_harmless(name: str, tmp_path: Path) -> None:
    _is_harmless(ODD[name](), tmp_path)


def test_drawn_archives_are_refused_or_harmless(tmp_path: Path, progress_of: Callable[[str], Progress]) -> None:
    progress = progress_of("archives")
    for seed in range(FIRST, FIRST + RUNS):
        data, began = drawn(seed), time.process_time()
        progress.note(seed, "accepted" if _is_harmless(data, tmp_path) else "refused", time.process_time() - began)
    print(progress)  # noqa: T201
    assert 0 < progress.met["accepted"] < RUNS


@pytest.mark.more
def test_no_archive_is_answered_with_an_error_of_the_server(api: httpx.Client) -> None:
    small = [data for make in [*KNOWN.values(), *ODD.values()] if len(data := make()) < 2 * bundle.MIB]
    for data in [*small, *(drawn(seed) for seed in range(FIRST, FIRST + RUNS // 5))]:
        answer = api.post("/bundles", content=data, headers={"Content-Type": "application/gzip"})
        assert answer.status_code in (201, 422), answer.text
        assert answer.status_code == 201 or answer.json()["detail"]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "text", ["a,", "[],", "a.b;", "class A(B):pass\n", "a()", "f'{a}{b}'\n", "x: int = 1\n", "def f(a): pass\n"]
)
def test_code_that_costs_seconds_to_parse_is_left_unread(text: str) -> None:
    code = read_texts({f"m{at}.py": text * (500_000 // len(text)) for at in range(8)} | {"f.py": f"f'{'{a}' * 80_000}'"})
    began = time.process_time()
    list_workloads(code)
    assert time.process_time() - began < 5 * LONGEST, "without a bound it is half a minute, and a busy machine doubles all"
