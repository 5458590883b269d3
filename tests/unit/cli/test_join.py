"""What `gradstream join` finds out before its agent starts, and where the token is shown."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import gradstream
from gradstream.errors import Conflict, GradstreamError, Unavailable
from gradstream.local.joining import Invitation, NodeFolder, _read, check, check_redis, news
from gradstream.local.options import Options
from gradstream.process.machine import credential_of, forget_credential, has_credential, keep_credential

PLATFORM = "http://10.0.0.5:8000"


@pytest.fixture
def redis_port() -> Iterator[int]:
    """Of something that answers as a Redis that wants a password."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(100)
                    connection.sendall(b"-NOAUTH Authentication required.\r\n")

        threading.Thread(target=serve, daemon=True).start()
        yield int(listening.getsockname()[1])


def invitation(port: int, version: str = gradstream.__version__, ahead: float = 0.0) -> Invitation:
    return Invitation(version, ahead, f"redis://127.0.0.1:{port}", f"redis://127.0.0.1:{port}")


def test_an_address_of_all_interfaces_stands_for_the_one_that_was_reached() -> None:
    told = {
        "version": "0.1.0",
        "time": datetime.now(UTC).isoformat(),
        "live_url": "redis://0.0.0.0:8001",
        "plane_url": "redis://10.9.9.9:8002",
    }
    read = _read(told, PLATFORM, ahead=datetime.now(UTC).timestamp())
    assert (read.live_url, read.plane_url) == ("redis://10.0.0.5:8001", "redis://10.9.9.9:8002")
    with pytest.raises(Unavailable, match="does not answer as a Gradstream platform"):
        _read(["<html>"], PLATFORM, ahead=0)


def test_a_machine_that_fits_may_join(redis_port: int) -> None:
    check(invitation(redis_port), PLATFORM)


@pytest.mark.parametrize(
    ("found", "kind", "said"),
    [
        ({"version": "9.9.9"}, Conflict, r"gradstream\[train,agent\]==9.9.9"),
        ({"ahead": 90.0}, Conflict, "90 s ahead of the platform's.*timedatectl"),
        ({"ahead": -90.0}, Conflict, "90 s behind"),
    ],
)
def test_what_does_not_fit_is_refused(redis_port: int, found: dict[str, str], kind: type[GradstreamError], said: str) -> None:
    with pytest.raises(kind, match=said):
        check(invitation(redis_port, **found), PLATFORM)  # type: ignore[arg-type]


def test_a_closed_redis_beside_an_open_api_names_the_port_and_the_firewall() -> None:
    with socket.socket() as bound:  # bound, and not listening: nobody answers
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        said = rf"{PLATFORM} answers, but the plane at 127.0.0.1:{port} cannot be reached.*firewall"
        with pytest.raises(Unavailable, match=said):
            check_redis("the plane", f"redis://127.0.0.1:{port}", PLATFORM)


@pytest.mark.more
def test_the_token_leaves_the_argument_list() -> None:
    """The command begins again without it: what runs, and fails for want of a platform, no longer shows it."""
    command = [sys.executable, "-m", "gradstream", "join", "http://127.0.0.1:1", "--token", "gsj_secret", "--name", "x"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 6
    assert "other users of this machine could read the token" in done.stderr
    assert "http://127.0.0.1:1 cannot be reached" in done.stderr
    assert "gradstream up --host" in done.stderr
    assert "gsj_secret" not in done.stderr


def test_one_join_for_each_folder_and_its_secrets_end_with_it(tmp_path: Path) -> None:
    folder = NodeFolder(tmp_path / "node")
    with folder.held():
        kept = folder.keep_secret("join-token", "secret")
        assert kept.stat().st_mode & 0o077 == 0
        with pytest.raises(Conflict, match="--name"), NodeFolder(folder.path).held():
            pass
    assert not kept.exists()


def test_a_credential_is_made_once_and_is_known_after_the_first_registration(tmp_path: Path) -> None:
    made = credential_of(tmp_path)
    assert made == credential_of(tmp_path) != credential_of(tmp_path / "other")
    assert not has_credential(tmp_path), "the platform has not answered"
    keep_credential(tmp_path)
    [file] = [path for path in tmp_path.iterdir() if path.is_file()]
    assert (has_credential(tmp_path), credential_of(tmp_path), file.stat().st_mode & 0o777) == (True, made, 0o600)
    forget_credential(tmp_path)
    assert not has_credential(tmp_path)
    assert credential_of(tmp_path) != made


def test_news_of_an_agent_are_its_whole_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text('{"event": "one"}\nplain words\n{"event": "tw')
    entries, seen = news(log, 0)
    assert [entry["event"] for entry in entries] == ["one"]
    with log.open("a") as file:
        file.write('o"}\n')
    assert [entry["event"] for entry in news(log, seen)[0]] == ["two"]


def test_only_a_host_that_others_reach_opens_the_redis(tmp_path: Path) -> None:
    def asked(**options: object) -> list[tuple[str, int, str]]:
        seen: list[tuple[str, int, str]] = []
        Options(tmp_path, **options).check_ports(lambda *each: seen.append(each))  # type: ignore[arg-type]
        return seen

    assert asked() == [("127.0.0.1", 8000, "--port")]
    opened = [("0.0.0.0", 8000, "--port"), ("0.0.0.0", 8001, "--live-port"), ("0.0.0.0", 9000, "--plane-port")]
    assert asked(host="0.0.0.0", plane_port=9000) == opened
    assert asked(host="0.0.0.0", join=False) == [("0.0.0.0", 8000, "--port")]
    assert len(asked(join=True)) == 3
