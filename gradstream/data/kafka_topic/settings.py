"""The settings of the Kafka client: those that users give, perhaps in a file, and those that following a topic needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gradstream.errors import InvalidWorkload

Settings = Mapping[str, Any] | str | Path
"""Names as librdkafka has them, such as sasl.password; or the path of a file with a line NAME=VALUE for each."""

_OWN: dict[str, Any] = {
    "group.id": "gradstream",  # the client wants a name; no group is joined, and no offset is committed
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",  # nothing is skipped
    "isolation.level": "read_committed",
}
_DEFAULTS: dict[str, Any] = {
    "queued.max.messages.kbytes": 16_384,
    "fetch.wait.max.ms": 100,
    "reconnect.backoff.max.ms": 2_000,
    "topic.metadata.refresh.interval.ms": 10_000,
}
OF_READERS = frozenset(_OWN | _DEFAULTS)
"""Settings that the client takes for reading messages only."""


def servers_of(given: str | Sequence[str]) -> str:
    """Return the addresses as the client takes them. Raises: InvalidWorkload."""
    servers = [given] if isinstance(given, str) else list(given)
    hosts = [host.strip() for each in servers for host in each.split(",")]
    if not hosts or not all(hosts) or any("://" in host or "@" in host for host in hosts):
        raise InvalidWorkload("kafka: servers are addresses, such as 'host:9092,other:9092'; accounts belong into settings")
    return ",".join(hosts)


def client_settings(servers: str, given: Settings | None) -> dict[str, Any]:
    """Raises: InvalidWorkload, which shows names only: a value may be a password."""
    user = _from_file(Path(given)) if isinstance(given, str | Path) else dict(given or {})
    for name in user:
        if name in _OWN or name == "bootstrap.servers":
            raise InvalidWorkload(f"kafka: a topic is followed with a {name} of its own; remove it from settings")
    return _DEFAULTS | user | _OWN | {"bootstrap.servers": servers}


def _from_file(path: Path) -> dict[str, str]:
    """Raises: InvalidWorkload."""
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise InvalidWorkload(
            f"kafka: the settings in {path} cannot be read ({error.strerror}); each node needs that file"
        ) from None
    found = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if not equals:
            raise InvalidWorkload(f"kafka: line {number} of {path} is not NAME=VALUE")
        found[name.strip()] = value.strip()
    return found
