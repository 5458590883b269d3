"""API calls from a seed: an operation of the OpenAPI document, as some caller, with ids that exist and values that should not."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from backend.users.scopes import is_read
from tests.hostile.values import HEADERS, NUMBERS, QUERIES, RANGES, TEXTS, TYPES, WAITS, WHOLE, YAMLS

Schema = dict[str, Any]

IDS = ("job", "process", "node", "token", "session", "bundle", "artifact", "file")
"""Kinds of what a world has names of."""
_KIND = {
    "process_id": "process",
    "id": "job",
    "hash": "bundle",
    "bundle": "bundle",
    "name": "artifact",
    "path": "file",
    "job_id": "job",
    "process": "process",
    "ids": "job",
    "job": "job",
}
_IDS_OF_PATH = {"/nodes/": "node", "/tokens/": "token", "/sessions/": "session"}


@dataclass(frozen=True, slots=True)
class Call:
    seed: int
    operation: str
    caller: str
    """Who sends it, by the name of a credential; `stranger`: who has none."""
    allowed: bool
    """Whether the document lets the caller use the operation."""
    method: str
    target: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes | None


class Calls:
    """Draws them. `ids`: names that exist, by their kind. `credentials`: header fields by the name of a caller; names that the
    document's ways of signing in have, `read`, and others that are nobody's."""

    def __init__(
        self, document: Schema, ids: Mapping[str, Sequence[str]], credentials: Mapping[str, tuple[bytes, bytes] | None]
    ) -> None:
        self._document, self._ids, self._credentials = document, ids, credentials
        methods = ("get", "post", "put", "delete")
        self.operations = [(m, path, item[m]) for path, item in sorted(document["paths"].items()) for m in methods if m in item]

    def draw(self, seed: int) -> Call:
        draw = random.Random(seed)
        method, path, operation = draw.choice(self.operations)
        ways = [name for way in operation.get("security", []) for name in way]
        may = [name for name in ways if name in self._credentials]
        caller = draw.choice(may) if may and draw.random() < 0.75 else draw.choice(list(self._credentials))
        target = self._path(draw, path, operation) + self._query(draw, operation)
        headers = [(b"host", b"gradstream.localhost")] + [each for each in [self._credentials[caller]] if each]
        body = None
        if "requestBody" in operation or draw.random() < 0.05:
            kind, body = self._body(draw, operation)
            headers.append((b"content-type", kind))
        for name, values in draw.sample(HEADERS, draw.choice([0, 0, 0, 1, 2])):
            headers.append((name.encode("latin-1"), draw.choice(values)))
        if operation["operationId"].startswith("download") and draw.random() < 0.6:
            headers.append((b"range", draw.choice(RANGES)))
        headers += self._headers(draw, operation, headers)
        wrong = draw.random() < 0.03
        used = draw.choice(["HEAD", "OPTIONS", "PATCH", "TRACE", "DELETE", "BREW", "get"]) if wrong else method.upper()
        allowed = (
            wrong
            or not ways
            or caller in ways
            or (caller == "read" and "token" in ways and is_read(used, operation["operationId"]))
        )
        return Call(seed, operation["operationId"], caller, allowed, used, target.encode("latin-1"), tuple(headers), body)

    def _path(self, draw: random.Random, path: str, operation: Schema) -> str:
        for each in operation.get("parameters", []):
            if each["in"] == "path":
                kind = next((kind for start, kind in _IDS_OF_PATH.items() if start in path), _KIND.get(each["name"], "job"))
                value = self._id(draw, kind) if draw.random() < 0.85 else draw.choice([*TEXTS, *NUMBERS, "x" * 9000])
                if each["name"] == "attempt" and draw.random() < 0.8:
                    value = "1"
                safe = draw.choice(["/", "/", "", "/.%"])
                path = path.replace("{" + each["name"] + "}", quote(value.encode("utf-8", "surrogatepass"), safe=safe))
        return path + draw.choice([""] * 30 + ["/", "//", "%00", "%", "/..", "#x", "%ff"])

    def _query(self, draw: random.Random, operation: Schema) -> str:
        fields = []
        for each in operation.get("parameters", []):
            if each["in"] == "query" and (each.get("required") or draw.random() < 0.4):
                for _ in range(draw.choice([1, 1, 1, 2, 5])):
                    fields.append(f"{each['name']}={quote(self._text(draw, each).encode('utf-8', 'surrogatepass'), safe='')}")
        if draw.random() < 0.03:
            fields.append(draw.choice(QUERIES))
        return "?" + "&".join(fields) if fields else ""

    def _text(self, draw: random.Random, parameter: Schema) -> str:
        if parameter["name"] == "wait":
            return draw.choice(WAITS)
        if draw.random() < 0.3:
            return draw.choice([*TEXTS, *NUMBERS])
        value = self._value(draw, parameter["schema"], parameter["name"])
        value = draw.choice(value) if isinstance(value, list) and value else value
        return value if isinstance(value, str) else json.dumps(value)

    def _headers(self, draw: random.Random, operation: Schema, before: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        missing = [each for each in operation.get("parameters", []) if each["in"] == "header" and each.get("required")]
        return [
            (each["name"].encode(), b"0" * 64)
            for each in missing
            if each["name"].encode() not in dict(before) and draw.random() < 0.9
        ]

    def _body(self, draw: random.Random, operation: Schema) -> tuple[bytes, bytes]:
        content = operation.get("requestBody", {}).get("content", {"application/json": {"schema": {}}})
        kind = draw.choice(list(content)).encode()
        if draw.random() < 0.05:
            kind = draw.choice(TYPES)
        chance = draw.random()
        if chance < 0.15:
            return kind, draw.choice(WHOLE)
        if b"json" not in kind and chance < 0.6:
            return kind, draw.choice([*YAMLS, draw.randbytes(300)])
        schema = next((each["schema"] for name, each in content.items() if "json" in name), {})
        value = self._value(draw, schema, "")
        text = json.dumps(value, ensure_ascii=draw.random() < 0.8)
        for _ in range(draw.choice([0, 0, 1, 1, 3])):
            text = _hurt(draw, text)
        return kind, text.encode("utf-8", "surrogatepass")

    def _value(self, draw: random.Random, schema: Schema, key: str, depth: int = 0) -> Any:
        if "$ref" in schema:
            return self._value(draw, self._document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], key, depth)
        for choices in ("anyOf", "oneOf"):
            if choices in schema:
                return self._value(draw, draw.choice(schema[choices]), key, depth)
        if "const" in schema or "enum" in schema:
            return schema["const"] if "const" in schema else draw.choice(schema["enum"])
        match schema.get("type"):
            case "object" if "properties" in schema:
                required = schema.get("required", [])
                names = [name for name in schema["properties"] if name in required or draw.random() < 0.3]
                return {name: self._value(draw, schema["properties"][name], name, depth + 1) for name in names}
            case "array":
                inner = schema.get("items", {})
                return (
                    [self._value(draw, inner, key, depth + 1) for _ in range(draw.choice([0, 1, 1, 2, 20]))] if depth < 12 else []
                )
            case "integer":
                return draw.choice([schema.get("minimum", 0), schema.get("maximum", 2**53), 0, 1, 7, -1, 2**31, 2**63])
            case "number":
                return draw.choice([schema.get("minimum", 0.0), schema.get("maximum", 1e308), 0.0, 1.5, -1e-300, 1e30])
            case "boolean":
                return draw.random() < 0.5
            case "null":
                return None
            case "string":
                return self._string(draw, schema, key)
        return draw.choice([None, True, 0, 1.5, "x", [], {}, {"a": [1, {"b": None}]}])

    def _string(self, draw: random.Random, schema: Schema, key: str) -> str:
        if key in _KIND and (schema.get("format") == "uuid" or "pattern" in schema or draw.random() < 0.5):
            return self._id(draw, _KIND[key])
        if schema.get("format") == "uuid":
            return self._id(draw, draw.choice(["job", "process", "node"]))
        return draw.choice([*TEXTS, *schema.get("examples", [])]) if draw.random() < 0.7 else "small"

    def _id(self, draw: random.Random, kind: str) -> str:
        return draw.choice(
            self._ids[kind]
            if self._ids.get(kind) and draw.random() < 0.95
            else [*TEXTS, "0" * 64, "0" * 8 + "-0000" * 3 + "-" + "0" * 12]
        )


def _hurt(draw: random.Random, text: str) -> str:
    """Replace one value, or some letters."""
    if draw.random() < 0.3:
        at = draw.randrange(len(text) + 1)
        return (
            text[:at]
            + draw.choice(["", ",", "}", "]", '"', "\\u0000", "\\ud800", "\0", "é", "1"])
            + text[at + draw.choice([0, 1, 5]) :]
        )
    ends = [at for at, letter in enumerate(text) if letter in ",}]"]
    starts = [at for at, letter in enumerate(text) if letter == ":"]
    if not starts:
        return text
    start = draw.choice(starts) + 1
    end = next((at for at in ends if at >= start), len(text))
    values = [
        *NUMBERS,
        "null",
        "true",
        "[]",
        "{}",
        '""',
        '"\\u0000"',
        '"\\ud800"',
        '"' + "x" * 5000 + '"',
        "[" * 100 + "]" * 100,
        "[1,2]",
    ]
    return text[:start] + draw.choice(values) + text[end:]
