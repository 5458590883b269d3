"""Messages of agents and processes from a seed: one that is in order, hurt in a place or in its bytes, or none at all."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from tests.hostile.values import NUMBERS, TEXTS, WHOLE

Json = Any
_MOST = 2 << 20
"""Bytes: nested copies grow without an end, and then the sender's own work is all that is measured."""
_NESTED: list[Callable[[Json], Json]] = [
    lambda v: [v],
    lambda v: {"x": v},
    lambda v: [v] * 2_000,
    lambda v: {str(n): v for n in range(500)},
]
_OTHER: list[Json] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**53,
    2**63,
    10**400,
    1.5,
    -0.0,
    1e308,
    5e-324,
    [],
    {},
    [[]],
    [1, 2],
    "0",
    "1",
]


def hurt(seed: int, message: Json) -> bytes:
    """The message with one to three faults, as bytes."""
    draw = random.Random(seed)
    if draw.random() < 0.1:
        return draw.choice([*WHOLE, draw.randbytes(200), b"", b"[" * 50_000, b'{"a":' * 20_000, b'"' + b"x" * 70_000 + b'"'])
    value = json.loads(json.dumps(message))
    for _ in range(draw.choice([1, 1, 2, 3])):
        value = _hurt_place(draw, value)
    text = json.dumps(value, ensure_ascii=draw.random() < 0.7)
    if draw.random() < 0.25:
        text = _hurt_text(draw, text)
    return text.encode("utf-8", "surrogatepass")[:_MOST]


def _hurt_place(draw: random.Random, value: Json) -> Json:
    places = list(_places(value))
    if not places or draw.random() < 0.05:
        return _replacement(draw, value)
    parent, key = draw.choice(places)
    match draw.choice(["replace", "replace", "replace", "remove", "add", "rename"]):
        case "remove":
            del parent[key]
        case "add" if isinstance(parent, list):
            parent.insert(draw.randrange(len(parent) + 1), _replacement(draw, parent[key]))
        case "add":
            parent[draw.choice(TEXTS)] = _replacement(draw, parent[key])
        case "rename" if isinstance(parent, dict):
            parent[draw.choice([*TEXTS, *NUMBERS])] = parent.pop(key)
        case _:
            parent[key] = _replacement(draw, parent[key])
    return value


def _places(value: Json) -> Iterator[tuple[Json, Any]]:
    """Each member of each object and array: who holds it, and by which name or number."""
    inside = list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    for key, member in inside:
        yield value, key
        yield from _places(member)


def _replacement(draw: random.Random, value: Json) -> Json:
    chance = draw.random()
    if chance < 0.15:
        return draw.choice(_NESTED)(value)
    if chance < 0.25:
        return float(draw.choice(["nan", "inf", "-inf"]))
    # A copy, since the next fault may change it: a seed gives the same bytes whatever was drawn before.
    return draw.choice(TEXTS) if chance < 0.5 else copy.deepcopy(draw.choice(_OTHER))


def _hurt_text(draw: random.Random, text: str) -> str:
    at = draw.randrange(len(text) + 1)
    piece = draw.choice(["", ",", "}", "]", '"', "\\u0000", "\\ud800", "\0", "é", "9" * 5_000, "1e999", "\ud800"])
    return text[:at] + piece + text[at + draw.choice([0, 1, 5]) :]
