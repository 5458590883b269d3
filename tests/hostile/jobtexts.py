"""Texts of job files from a seed: YAML of a drawn job, hurt in places as only YAML can be, and overrides of its values."""

from __future__ import annotations

import random

import yaml

from tests.hostile.jobfiles import draw_job
from tests.hostile.values import NUMBERS, TEXTS, YAMLS

_VALUES = [
    "&a [*a]",
    "*nowhere",
    "&a {b: &b {c: *a}}",
    "<<: *a",
    "!!python/object/apply:os.system [id]",
    "!!binary 'x'",
    "!!float x",
    "!!int ''",
    "!!timestamp 2026-99-99",
    "!!set {a, b}",
    "!!omap [a: 1]",
    "!<tag:yaml.org,2002:map> []",
    "! x",
    "2026-11-24",
    "9999-12-31T23:59:60Z",
    "0o17",
    "0b1",
    "-0x" + "f" * 500,
    "190:20:30",
    "1_000_000",
    ".inf",
    "-.INF",
    ".nan",
    "1e99999",
    "1" * 5_000,
    "0." + "3" * 5_000,
    "'" + "x" * 100_000 + "'",
    '"\\ud800"',
    '"\\ud83d\\ude42"',
    '"\\x00"',
    '"\\U00110000"',
    "|\n  a\n b",
    ">9\n x",
    "? [a, b]\n: c",
    "{? {a: b} : c}",
    "{null: 1}",
    "{1: 2, 1.0: 3, true: 4}",
    "[" * 150 + "]" * 150,
    "{a: " * 150 + "1" + "}" * 150,
    "[" + "1," * 6_000 + "]",
    "{" + ",".join(f"k{at}: 1" for at in range(6_000)) + "}",
    "~",
    "yes",
    "=",
    "- - - - a",
    "@x",
    "`x`",
    "%x",
    "\u2028",
    "\ufeff",
    "\x85",
]
_LINES = [
    "---",
    "...",
    "--- a\n--- b",
    "%TAG ! tag:x,2000:",
    "%YAML 2.0",
    "# " + "c" * 50_000,
    "\t",
    " ",
    "\r",
    "a: b: c",
    "-",
    "? ",
    ": ",
]


def draw_text(seed: int) -> tuple[str, list[str]]:
    """A text, and overrides as `--set` takes them."""
    draw = random.Random(seed)
    if draw.random() < 0.05:
        return draw.choice(YAMLS).decode("utf-8", "replace"), []
    is_flow = draw.random() < 0.2
    text = yaml.safe_dump(
        draw_job(seed), default_flow_style=is_flow, allow_unicode=draw.random() < 0.5, width=draw.choice([20, 10**6])
    )
    for _ in range(draw.choice([0, 1, 1, 2, 4])):
        text = _hurt(draw, text)
    return text, [_override(draw) for _ in range(draw.choice([0, 0, 0, 1, 3]))]


def _hurt(draw: random.Random, text: str) -> str:
    lines = text.split("\n")
    at = draw.randrange(len(lines))
    match draw.choice(["value", "value", "value", "line", "twice", "indent", "letters", "swap"]):
        case "value":
            key, colon, _ = lines[at].partition(": ")
            lines[at] = key + (colon or ": ") + draw.choice(_VALUES)
        case "line":
            lines.insert(at, draw.choice(_LINES))
        case "twice":
            lines.insert(draw.randrange(len(lines)), lines[at])
        case "indent":
            lines[at] = draw.choice([" ", "  ", "\t", "- ", "\u00a0"]) + lines[at]
        case "letters":
            start = draw.randrange(len(lines[at]) + 1)
            piece = draw.choice(["", ":", "'", '"', "{", "]", "#", "&", "*", "!", "\0", "\ud800", "\x1b", *NUMBERS])
            lines[at] = lines[at][:start] + piece + lines[at][start + draw.choice([0, 1, 3]) :]
        case _:
            other = draw.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
    return draw.choice(["\n", "\n", "\n", "\r\n", "\r"]).join(lines)


_PLACES = [
    "name",
    "stop.steps",
    "workload.args.K0",
    "roles.worker.count",
    "strategy",
    "",
    ".",
    "a..b",
    "x" * 5_000,
    "__class__",
    "0",
    "env.\u202e",
]


def _override(draw: random.Random) -> str:
    place = draw.choice([*_PLACES, ".".join("a" * 200)])
    return place + draw.choice(["=", "=", "=", "", "==", ":"]) + draw.choice([*TEXTS, *NUMBERS, *_VALUES])
