"""Bodies on their way in: counted, and looked at before anything is made of them."""

from __future__ import annotations

import re

from starlette.types import Message, Receive

from backend.admission.rules import Rule
from gradstream.errors import Invalid, Mistake, TooLarge

MAX_VALUES = 100_000
MAX_DEPTH = 200
_SHORT = 8 * 1024
"""Bytes of a body that is looked at in the event loop: a thread would take longer."""
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]|,', re.DOTALL)
"""A string, or what begins, ends or parts values."""


def too_large(rule: Rule) -> TooLarge:
    return TooLarge(f"The body is larger than the {rule.limit:,} bytes allowed here. {rule.remedy}", limit=rule.limit)


def counted(receive: Receive, rule: Rule) -> Receive:
    """Raises, from the first byte too many on: TooLarge."""
    size = 0

    async def receive_counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > rule.limit:
            raise too_large(rule)
        return message

    return receive_counted


async def read_whole(receive: Receive) -> bytes | None:
    """None: the client has gone."""
    parts = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(parts)


def again(body: bytes, receive: Receive) -> Receive:
    """Give a body that was read to whoever reads next, then what comes."""
    waiting = [body]

    async def receive_again() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return receive_again


def is_short(body: bytes) -> bool:
    return len(body) <= _SHORT


def check_json(body: bytes) -> None:
    """A parser is one call that nothing interrupts: millions of small values hold up the whole process for seconds. So they are
    counted first, in steps that let other threads run. Raises: Invalid."""
    values = depth = 0
    for found in _TOKEN.finditer(body):
        token = found.group(0)[:1]
        if token == b'"':
            continue
        if token in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise _refused(f"nests values more than {MAX_DEPTH} levels deep; make it flatter")
        elif token in b"]}":
            depth -= 1
            continue
        values += 1
        if values > MAX_VALUES:
            raise _refused(f"has more than {MAX_VALUES:,} values; send fewer at a time")


def _refused(what: str) -> Invalid:
    return Invalid(f"The body {what}.", [Mistake("", what)])
