"""What one node's account on the live Redis opens: its own queue, and nothing of another node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest
import redis
from redis.exceptions import AuthenticationError, NoPermissionError, ResponseError

from backend.nodes.identity.accounts import close_account
from backend.wakeups.wakeup import CHANNEL
from gradstream.local.servers.redis import Redis
from gradstream.programs.broker import queue_keys
from tests.integration.agent.consumers import Consumer, send_hint
from tests.support import eventually

ALLOWED = {
    "auth",
    "hello",
    "ping",
    "echo",
    "quit",
    "reset",
    "select",
    "asking",
    "readonly",
    "readwrite",
    "wait",
    "waitaof",
    "command",
    "multi",
    "exec",
    "discard",
    "unwatch",
    "script|load",
}
"""Commands that touch no key and tell of none."""
OF_CLIENT = {
    "caching",
    "capa",
    "getname",
    "getredir",
    "help",
    "id",
    "import-source",
    "info",
    "no-touch",
    "reply",
    "setinfo",
    "setname",
    "trackinginfo",
}
"""The subcommands about the own connection."""


@pytest.fixture
def two(redis_server: Callable[..., Redis], tmp_path: Path) -> Iterator[tuple[Consumer, Consumer]]:
    live = redis_server()
    both = Consumer(live, tmp_path, UUID(int=1)), Consumer(live, tmp_path, UUID(int=16))
    for one in both:
        eventually(lambda one=one: one.said("ready."), "the consumer")  # type: ignore[misc]
    yield both
    for one in both:
        one.kill()


def test_a_node_reaches_nothing_of_another_node(two: tuple[Consumer, Consumer]) -> None:
    ours, theirs = two
    admin = redis.Redis.from_url(ours.live.url, password=ours.live.password)
    ours.hint()
    theirs.hint()
    eventually(lambda: ours.said("news") and theirs.said("news"), "a hint to each of them")
    assert admin.acl_log() == [], "their work needs no more than they may"  # type: ignore[no-untyped-call]

    theirs.kill()
    theirs.hint()
    send_hint(ours.live, "another queue")
    there = {key.decode() for key in admin.keys("*")}  # type: ignore[union-attr]
    assert theirs.queue in there
    foreign = {*there, *queue_keys(theirs.queue), CHANNEL} - set(queue_keys(ours.queue))
    _check_commands(admin, ours.queue, foreign)
    with as_node(ours) as node:
        _check_scripts(node, foreign)
        with pytest.raises(NoPermissionError):
            node.execute_command("CLIENT", "TRACKING", "ON", "BCAST")  # type: ignore[no-untyped-call]

    heard = ours.said("news")
    eventually(lambda: ours.hears() > heard, "a hint after all of that")
    close_account(admin, UUID(int=1))
    assert not any(admin.exists(key) for key in queue_keys(ours.queue))
    with as_node(ours) as node, pytest.raises(AuthenticationError):
        node.ping()
    admin.close()


def as_node(consumer: Consumer) -> redis.Redis:
    return redis.Redis.from_url(consumer.live.url, username=consumer.queue, password=consumer.password)


def _check_commands(admin: redis.Redis, user: str, names: set[str]) -> None:
    """Each command that this server has, with each name in all its places: refused, unless it touches no key."""
    admin.set_response_callback("COMMAND", lambda answer, **_: answer)  # redis-py reads only the answer to COMMAND alone
    commands = [name.decode() for name in admin.execute_command("COMMAND", "LIST")]  # type: ignore[no-untyped-call]
    harmless = {name for name in commands if name in ALLOWED or name.startswith("command|")} | {
        f"client|{name}" for name in OF_CLIENT
    }
    refused = 0
    for command in set(commands) - harmless:
        for name in names:
            allowed = _may(admin, user, command, name)
            assert not allowed, f"{command} {name!r}"
            refused += allowed is False
    assert refused > 300 * len(names), "this server has some 400 commands and subcommands"


def _may(admin: redis.Redis, user: str, command: str, name: str) -> bool | None:
    """None: it is a group of commands, or cannot be written so."""
    [told] = admin.execute_command("COMMAND", "INFO", command)  # type: ignore[no-untyped-call]
    words = command.split("|")
    given = ["a script", "1", name] if command.startswith(("eval", "fcall")) else [name] * (abs(told[1]) - len(words))
    try:
        return bool(admin.execute_command("ACL", "DRYRUN", user, *words, *given) == b"OK")  # type: ignore[no-untyped-call]
    except ResponseError:
        return None


def _check_scripts(node: redis.Redis, names: set[str]) -> None:
    for name in names:
        for script in ("return redis.call('del', KEYS[1])", f"return redis.call('rpop', '{name}')"):
            with pytest.raises((NoPermissionError, ResponseError), match="permission"):
                node.eval(script, 1, name)
