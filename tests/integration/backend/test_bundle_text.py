"""The text of submitted code, and the differences between two bundles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from gradstream import bundle

NET = "import torch\n\n\ndef width() -> int:\n    return 32\n"
LONG = "x = 1\n" * 6_000


def send(api: httpx.Client, folder: Path, files: dict[str, bytes | str]) -> str:
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    answer = api.post("/bundles", content=bundle.pack(folder).data, headers={"Content-Type": "application/gzip"})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["hash"])


@pytest.fixture
def sent(api: httpx.Client, tmp_path: Path) -> str:
    files: dict[str, bytes | str] = {
        "lab/net.py": NET,
        "lab/same.py": "SAME = 1\n",
        "lab/gone.py": "GONE = 1\n",
        "über maß.txt": "größe\n",
        "table.bin": b"\x00\x01",
        "latin.txt": "größe".encode("latin-1"),
        "long.py": LONG,
        "large.txt": "a" * (2**20 + 1),
        "ends.txt": "a\nb\n",
    }
    return send(api, tmp_path / "one", files)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("lab/net.py", NET),
        ("über maß.txt", "größe\n"),
        ("table.bin", None),
        ("latin.txt", None),
        ("large.txt", None),
        ("long.py", LONG),
    ],
)
def test_a_file_is_shown_as_text_if_it_is_one(path: str, text: str | None, api: httpx.Client, sent: str) -> None:
    shown = api.get(f"/bundles/{sent}/files/{path}")
    assert shown.status_code == 200, shown.text
    assert (shown.json()["path"], shown.json()["text"]) == (path, text)


@pytest.mark.parametrize("path", ["lab", "lab/none.py", "..%2f..%2fetc/passwd", "%2e%2e/%2e%2e/etc/passwd", "lab/net.py%00"])
def test_a_path_that_is_no_file_of_the_code_is_not_found(path: str, api: httpx.Client, sent: str) -> None:
    assert api.get(f"/bundles/{sent}/files/{path}").status_code == 404


def test_lines_are_compared_up_to_a_bound_of_all_files(api: httpx.Client, tmp_path: Path) -> None:
    count, lines = 12, "x\n" * 3_900
    one = send(api, tmp_path / "one", {f"{number:02}.txt": lines for number in range(count)})
    other = send(api, tmp_path / "other", {f"{number:02}.txt": lines + "y\n" for number in range(count)})
    found = api.get(f"/bundles/{one}/differences/{other}").json()["items"]
    assert [each["lines"] is not None for each in found] == [number < 10 for number in range(count)]


def test_two_bundles_differ_by_files_and_lines(api: httpx.Client, sent: str, tmp_path: Path) -> None:
    changed: dict[str, bytes | str] = {
        "lab/net.py": NET.replace("32", "64"),
        "lab/same.py": "SAME = 1\n",
        "lab/new.py": "-- NEW\n",
        "über maß.txt": "größe\n",
        "table.bin": b"\x00\x02",
        "latin.txt": "größe".encode("latin-1"),
        "long.py": LONG + "y = 2\n",
        "large.txt": "a" * 2**20 + "b",
        "ends.txt": "a\r\nb\r\n",
    }
    other = send(api, tmp_path / "other", changed)
    found: dict[str, dict[str, Any]] = {
        each["path"]: each for each in api.get(f"/bundles/{sent}/differences/{other}").json()["items"]
    }
    assert list(found) == sorted(found)
    assert {path: each["change"] for path, each in found.items()} == {
        "ends.txt": "changed",
        "lab/gone.py": "removed",
        "lab/net.py": "changed",
        "lab/new.py": "added",
        "large.txt": "changed",
        "long.py": "changed",
        "table.bin": "changed",
    }
    assert found["lab/net.py"]["lines"] == [
        "@@ -2,4 +2,4 @@",
        " ",
        " ",
        " def width() -> int:",
        "-    return 32",
        "+    return 64",
    ]
    assert found["lab/new.py"]["lines"] == ["@@ -0,0 +1 @@", "+-- NEW"]
    assert found["ends.txt"]["lines"] == []
    assert [found[path]["lines"] for path in ("large.txt", "long.py", "table.bin")] == [None] * 3
    assert api.get(f"/bundles/{sent}/differences/{sent}").json()["items"] == []
    assert api.get(f"/bundles/{sent}/differences/{'0' * 64}").status_code == 404
