"""By which names a browser may ask: the rule against DNS rebinding."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from pydantic import ValidationError

from backend.admission.hosts import known_hosts
from backend.settings import BackendSettings
from gradstream.errors import UnknownHost

LOCAL = [
    "127.0.0.1",
    "LocalHost:8000",
    "[::1]:8000",
    "gradstream.localhost:8000",
    "gradstream.localhost.",
    "10.0.0.5:8000",
    "[fd00::5]",
]
FOREIGN = [
    "evil.example",
    "evil.example:8000",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "evil.localhost",
    "2130706433",
    "",
]


def settings(**given: Any) -> BackendSettings:
    paths = {name: "x" for name in ("files_dir", "signing_key_file")}
    urls = {name: "x" for name in ("database_url", "live_redis_url", "plane_redis_url")}
    return BackendSettings(**paths, **urls, **given)


def answered(hosts: list[str | None], bound: str = "127.0.0.1", **given: Any) -> list[str | None]:
    known, through = known_hosts(settings(**given), bound), []
    for host in hosts:
        try:
            known.check(host)
        except UnknownHost:
            continue
        through.append(host)
    return through


def test_addresses_and_own_names_are_known_and_no_other_name() -> None:
    asked = [*LOCAL, *FOREIGN, socket.gethostname(), None]
    assert answered(asked) == [*LOCAL, None], "no browser leaves the host out"


def test_names_come_from_the_addresses_in_the_settings_and_from_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"public_url": "https://Lab.example.org", "process_api_url": "http://api:8000"}
    monkeypatch.setenv("GRADSTREAM_ALLOWED_HOSTS", "a.example.org, b.example.org")
    asked: list[str | None] = ["lab.example.org", "api:8000", "a.example.org:443", "B.example.org", *FOREIGN]
    assert answered(asked, **given) == asked[:4]
    assert answered(["bigbox:8000", "other"], bound="bigbox") == ["bigbox:8000"]
    for wrong in ("https://a.example.org", "a.example.org:443", "a.example.org b"):
        with pytest.raises(ValidationError, match="without http:// and port"):
            settings(allowed_hosts=wrong)


def test_where_others_may_ask_this_machines_name_is_known() -> None:
    name = socket.gethostname()
    asked: list[str | None] = [name, f"{name.partition('.')[0]}.local", *FOREIGN]
    assert answered(asked, bound="0.0.0.0") == asked[:2]


def test_a_refusal_names_the_setting_and_is_short() -> None:
    with pytest.raises(UnknownHost, match=r"'evil\.example'.*--allowed-host evil\.example.*GRADSTREAM_ALLOWED_HOSTS=evil"):
        known_hosts(settings(), "127.0.0.1").check("evil.example:8000")
    with pytest.raises(UnknownHost) as refused:
        known_hosts(settings(), "127.0.0.1").check("a" * 20_000)
    assert len(refused.value.message) < 1500
