"""Responses that are too long for a pipe, which lie in files beside it."""

from __future__ import annotations

import select
from pathlib import Path

from gradstream.wire.transport.pipe import ResponsePipe, ResponsePipeWriter


def test_a_link_in_place_of_a_long_response_is_not_followed(tmp_path: Path) -> None:
    """User code knows the names of the files to come, and servers may write where it may not."""
    pipe, writer = ResponsePipe(tmp_path, 0, 0), ResponsePipeWriter(tmp_path, 0, 0, 3)
    victim, long = tmp_path / "victim", b"r" * 2 * select.PIPE_BUF
    victim.write_bytes(b"of another account")
    victim.chmod(0o600)
    (tmp_path / "0.0.3.1.response").symlink_to(victim)
    writer.put(long)
    assert victim.read_bytes() == b"of another account"
    assert victim.stat().st_mode & 0o777 == 0o600
    assert pipe.read(1) == [(3, long)]
    assert not (tmp_path / "0.0.3.1.response").exists()
