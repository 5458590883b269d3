"""Files that are removed around the moment in which they are sent."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from starlette.types import Message

from backend.web.stored_file import StoredFileResponse
from gradstream.errors import NotFound

CONTENT = bytes(range(256)) * 1024
PARTS = [None, "bytes=10-200009", "bytes=0-9,200-299"]


def sent(path: Path, *, range: str | None, remove_at_start: bool = False) -> list[Message]:
    """The messages of an answer to GET."""
    scope = {"type": "http", "method": "GET", "headers": [(b"range", range.encode())] if range else []}
    told = list[Message]()

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError("nobody sends")

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start" and remove_at_start:
            path.unlink()
        told.append(message)

    asyncio.run(StoredFileResponse(path)(scope, receive, send))
    return told


@pytest.mark.parametrize("range", PARTS)
def test_a_file_that_is_removed_while_it_is_sent_arrives_whole(range: str | None, tmp_path: Path) -> None:
    for name in ("calm", "removed"):
        (tmp_path / name).write_bytes(CONTENT)
    removed = sent(tmp_path / "removed", range=range, remove_at_start=True)
    assert not (tmp_path / "removed").exists()
    start, *body = removed
    content = b"".join(message["body"] for message in body)
    assert int(dict(start["headers"])[b"content-length"]) == len(content)
    assert CONTENT[200:300] in content
    assert start["status"] == (206 if range else 200)


@pytest.mark.parametrize("range", PARTS)
def test_a_file_that_was_removed_before_is_not_found(range: str | None, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="removed this file"):
        sent(tmp_path / "gone", range=range)
