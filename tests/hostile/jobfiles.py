"""Job files drawn from the schema of the job file: each choice is one that the schema allows, and often the most extreme one."""

from __future__ import annotations

import math
import random
from typing import Any

from gradstream.spec import JobSpec

SCHEMA = JobSpec.model_json_schema()
_TEXTS = ["a", "é" * 50, "x" * 5_000, "", "0", "../x", "%s", "a b", "<b>", "\u202e", "🙂", "a" * 63]
_FITTING = {
    "name": ["a", "a" * 63, "a.b-c_d", "0"],
    "entrypoint": ["work:Work", "work:Work", "work:Work", "a.b:C"],
    "metric": ["eval/loss", "eval/accuracy", "eval/" + "x" * 190, "eval/é"],
    "file": ["a.safetensors", "x/y.safetensors", "../up"],
    "every": ["1 samples", "1000000000000000 samples", "0.5 epochs", "1e-9 epochs", "5s", "36500d", "50ms"],
    "timeout": ["1ms", "36500d", "2h"],
    "metrics": ["36500d", "1s", "0.001ms"],
}
"""Texts that patterns of the schema, or of a validator, let through."""


def draw_job(seed: int) -> dict[str, Any]:
    draw = random.Random(seed)
    job: dict[str, Any] = _value(draw, SCHEMA, "", draw.choice([0.05, 0.2, 0.2, 0.5]))
    if draw.random() < 0.9:
        _mend(draw, job)
    return job


def _mend(draw: random.Random, job: dict[str, Any]) -> None:
    """What is refused most often, so that more is accepted."""
    stop = job["stop"]
    if stop.get("steps") is None and stop.get("epochs") is None:
        stop[draw.choice(["steps", "epochs"])] = draw.choice([1, 10**12, 300])
    if stop.get("target"):
        stop["target"] = draw.choice([{"metric": "eval/accuracy", "at_least": 1e-300}, {"metric": "eval/loss", "at_most": -1e30}])
    if job.get("best"):
        job["best"]["mode"] = draw.choice(["min", "max"])
    else:
        stop.pop("patience", None)
    if draw.random() < 0.9:
        job.pop("start_from", None)


def _value(draw: random.Random, schema: dict[str, Any], key: str, density: float) -> Any:
    if "$ref" in schema:
        return _value(draw, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], key, density)
    for choices in ("anyOf", "oneOf"):
        if choices in schema:
            return _value(draw, draw.choice(schema[choices]), key, density)
    if "const" in schema or "enum" in schema:
        return schema["const"] if "const" in schema else draw.choice(schema["enum"])
    return _plain(draw, schema, key, density)


def _plain(draw: random.Random, schema: dict[str, Any], key: str, density: float) -> Any:
    match schema.get("type"):
        case "object":
            return _mapping(draw, schema, key, density)
        case "array":
            return [_value(draw, inner, key, density) for inner in schema.get("prefixItems", [])]
        case "integer":
            return _whole(draw, schema)
        case "number":
            return _number(draw, schema)
        case "string":
            return draw.choice(_FITTING.get(key, _TEXTS))
        case "boolean":
            return draw.random() < 0.5
        case "null":
            return None
    return _anything(draw, 0)


def _mapping(draw: random.Random, schema: dict[str, Any], key: str, density: float) -> dict[str, Any]:
    if "properties" not in schema:
        few = range(draw.choice([0, 0, 1, 3]))
        return {f"K{at}": draw.choice(_TEXTS) if key == "env" else _anything(draw, 0) for at in few}
    required = schema.get("required", [])
    names = [name for name in schema["properties"] if name in required or name == "name" or draw.random() < density]
    return {name: _value(draw, schema["properties"][name], name, density) for name in names}


def _whole(draw: random.Random, schema: dict[str, Any]) -> int:
    least, most = schema.get("minimum", 0), schema["maximum"] if "maximum" in schema else schema["exclusiveMaximum"] - 1
    usual = [least + draw.randrange(5), draw.randint(1, 40)]
    return int(min(max(draw.choice([least, most, most - 1, *usual, *usual, 10 ** draw.randrange(16)]), least), most))


def _number(draw: random.Random, schema: dict[str, Any]) -> float:
    least = schema.get("minimum", schema.get("exclusiveMinimum", -1e30))
    most = schema.get("maximum", schema.get("exclusiveMaximum", 1e30))
    least = math.nextafter(least, math.inf) if "exclusiveMinimum" in schema else least
    most = math.nextafter(most, -math.inf) if "exclusiveMaximum" in schema else most
    usual = [draw.random(), 10 ** draw.uniform(-6, 3)]
    return float(
        min(max(draw.choice([least, most, 0.0, 1e-300, 1e-30, 1.0, *usual, *usual, 10 ** draw.uniform(-40, 30)]), least), most)
    )


def _anything(draw: random.Random, depth: int) -> Any:
    plain = [None, True, 0, -1, 2**53, -(2**53), 1.5, 1e308, 5e-324, *_TEXTS]
    if depth > 30 or draw.random() < 0.6:
        return draw.choice(plain)
    inner = [_anything(draw, depth + 1) for _ in range(draw.choice([0, 1, 1, 2]))]
    return inner if draw.random() < 0.5 else {f"k{at}": each for at, each in enumerate(inner)}
