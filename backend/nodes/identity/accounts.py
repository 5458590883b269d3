"""The account of each node on the live Redis: the keys of its own queue, no channel, and no command that says what else is there.

Its user is named as its queue. Redis keeps accounts in memory, so the controller makes those anew that a restart has lost."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from uuid import UUID

import redis
import structlog

from backend.db import Database
from backend.nodes import repository
from backend.secrets import Derived
from gradstream.programs.broker import queue_keys
from gradstream.programs.tasknames import node_queue

log = structlog.get_logger(__name__)

_COMMANDS = (
    "-@all",
    "+@connection",
    "-@dangerous",
    "-client|tracking",
    "+@transaction",
    "+brpop",
    "+lpush",
    "+rpush",
    "+rpop",
    "+llen",
    "+sadd",
    "+srem",
    "+smembers",
    "+hset",
    "+hget",
    "+hdel",
    "+zadd",
    "+zrem",
    "+zrange",
    "+zrevrangebyscore",
    "+set",
    "+get",
    "+del",
    "+eval",
    "+evalsha",
    "+script|load",
)
"""Commands that Celery sends for one queue. CLIENT TRACKING would push the names of all keys."""
_PREFIX = node_queue(UUID(int=0)).removesuffix(UUID(int=0).hex)


def open_account(live: redis.Redis, node_id: UUID, password: str) -> None:
    """Connections of the account before are cut. A Redis that is away is no failure: the controller opens the account later."""
    user = node_queue(node_id)
    rights = [*(f"~{key}" for key in queue_keys(user)), *_COMMANDS]
    _send(live, node_id, ("ACL", "DELUSER", user), ("ACL", "SETUSER", user, "reset", "on", f">{password}", *rights))


def close_account(live: redis.Redis, node_id: UUID) -> None:
    """Harmless to repeat."""
    user = node_queue(node_id)
    _send(live, node_id, ("ACL", "DELUSER", user), ("UNLINK", *(key for key in queue_keys(user) if "*" not in key)))


def _send(live: redis.Redis, node_id: UUID, *commands: tuple[str, ...]) -> None:
    """All of them, or none if Redis is away."""
    try:
        with live.pipeline() as pipeline:
            for command in commands:
                pipeline.execute_command(*command)  # type: ignore[no-untyped-call]
            pipeline.execute()
    except redis.RedisError as error:
        log.warning("could not change an account on the live Redis; the controller tries again", node=str(node_id), why=str(error))


def restore_accounts(live: redis.Redis, database: Database, derived: Derived) -> None:
    """Open what nodes should have and Redis has not, close what no node has any more."""
    try:
        there = _read_accounts(live)
    except redis.RedisError as error:
        log.warning("could not read the accounts on the live Redis; nodes learn by their heartbeats", why=str(error))
        return
    with database.transaction() as session:
        hashes = repository.credentials(session)
    wanted = {id: derived.live_password(id, hash) for id, hash in hashes.items()}
    for node_id, password in wanted.items():
        if there.get(node_queue(node_id)) != hashlib.sha256(password.encode()).hexdigest():
            open_account(live, node_id, password)
    for user in there.keys() - {node_queue(node_id) for node_id in wanted}:
        close_account(live, UUID(hex=user.removeprefix(_PREFIX)))


def _read_accounts(live: redis.Redis) -> Mapping[str, str]:
    """The hashed password of each account that is a node's, by user."""
    found = {}
    for line in live.acl_list():
        _, user, *rules = str(line).split(" ")
        if _is_node(user):
            found[user] = next((rule[1:] for rule in rules if rule.startswith("#")), "")
    return found


def _is_node(user: str) -> bool:
    try:
        return user == node_queue(UUID(hex=user.removeprefix(_PREFIX)))
    except ValueError:
        return False
