"""The reference of the job file in Markdown, made from its JSON Schema. `make generate` writes docs/guides/job-file.md from it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gradstream.bounds import MAX_SECONDS
from gradstream.spec import JobSpec

Schema = Mapping[str, Any]

_INTRODUCTION = """\
# Job file

This page lists every key of a job file. `make generate` writes it from the schema, which `GET /api/v1/schema/job` returns, too.

- A job file is YAML or JSON. `gradstream validate job.yaml` checks one and names the line of each mistake. It refuses unknown keys.
- `--set key=value` sets a key for one run, with dots between levels: `gradstream submit job.yaml --set strategy.lr=0.01`.
- A *duration* is a number of seconds, or a number with `ms`, `s`, `m`, `h` or `d`: `30s`, `2h`.
- A *cadence* is a duration, or a number of samples or epochs of all workers together: `10000 samples`, `0.5 epochs`.
- A *pass* is an epoch, or a portion of data that grows, as long as `data.length` says: `1 passes`.
"""
_SHRINKS, _EXPORTS = "samples, epochs or passes", "duration or passes"
_INTERVALS = ("cadence", "duration", _SHRINKS, _EXPORTS)
_HEADER = ["| key | type | default | meaning |", "|---|---|---|---|"]


def markdown() -> str:
    """Return the whole page."""
    return "\n".join([_INTRODUCTION, *_Reference(JobSpec.model_json_schema()).lines()])


class _Reference:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def lines(self) -> Iterator[str]:
        yield from ["## All keys", "", *self._table(self._schema, ""), ""]
        yield from self._sections(self._schema, "")

    def _sections(self, schema: Schema, path: str) -> Iterator[str]:
        for key, field in schema["properties"].items():
            inner = self._resolved(field)
            if "discriminator" in inner:
                yield from self._union(inner, f"{path}{key}")
            elif "properties" in inner:
                yield from [f"## `{path}{key}`", "", _first_paragraph(inner), "", *self._table(inner, f"{path}{key}."), ""]
                yield from self._sections(inner, f"{path}{key}.")

    def _union(self, union: Schema, path: str) -> Iterator[str]:
        """Fields that all variants share come first, and once."""
        found = [self._follow(variant) for variant in union["oneOf"]]
        variants = {variant["properties"]["name"]["const"]: variant for variant in found}
        if path == "roles.server.optimizer":
            yield from [f"## `{path}`", "", "The same variants as [`optimizer`](#optimizer).", ""]
            return
        if path == "pull_codec":
            yield from [f"## `{path}`", "", f"One of the variants {_listed(variants)} of [`codec`](#codec).", ""]
            return
        shared = _shared(list(variants.values()))
        yield from [f"## `{path}`", "", f"One of {_listed(variants)}, as `{path}: {{name: {next(iter(variants))}, ...}}`."]
        if shared:
            yield from ["", "Every variant has:", "", *self._table({"properties": shared}, f"{path}.")]
            yield from self._items(shared, path)
        for name, variant in variants.items():
            own = {key: field for key, field in variant["properties"].items() if key != "name" and key not in shared}
            yield from ["", f"### `{path}: {name}`"]
            if summary := _first_paragraph(variant):
                yield from ["", summary]
            if own:
                yield from ["", *self._table({"properties": own, "required": variant.get("required", [])}, f"{path}.")]
        yield ""

    def _items(self, fields: dict[str, Any], path: str) -> Iterator[str]:
        """Yield a section for each list of groups."""
        for key, field in fields.items():
            if "$ref" in (items := field.get("items", {})):
                inner = self._follow(items)
                yield from ["", f"### `{path}.{key}`", "", f"A list. Each of its items: {_first_paragraph(inner)}", ""]
                yield from self._table(inner, f"{path}.{key}.0.")

    def _table(self, schema: Schema, path: str) -> Iterator[str]:
        yield from _HEADER
        for key, field in schema["properties"].items():
            inner = self._resolved(field)
            is_group = "properties" in inner or "discriminator" in inner
            full = f"{path}{key}"
            shown = f"[`{full}`](#{re.sub(r'[^a-z0-9_ -]', '', full)})" if is_group else f"`{full}`"
            told, default = _meaning_and_default(field.get("description") or _first_paragraph(inner), field.get("default") is None)
            if key in schema.get("required", ()):
                default = "**required**"
            elif field.get("default") is not None and not is_group:
                default = f"`{_written(field['default'])}`"
            elif is_group and isinstance(field.get("default"), dict) and "name" in field["default"]:
                default = f"`{field['default']['name']}`"
            yield f"| {shown} | {'group' if is_group else self._type(field)} | {default or '-'} | {told} |".replace("|  |", "| |")

    def _resolved(self, field: Schema) -> Schema:
        """Return the schema that a reference, or the one alternative beside null, leads to."""
        others = [each for each in field.get("anyOf", []) if each.get("type") != "null"]
        return self._resolved(others[0]) if len(others) == 1 else self._follow(field)

    def _follow(self, field: Schema) -> Schema:
        found: Schema = self._schema["$defs"][field["$ref"].rpartition("/")[2]] if "$ref" in field else field
        return found

    def _type(self, field: Schema) -> str:
        kinds = [self._type(each) for each in field.get("anyOf", []) if each.get("type") != "null"]
        if kinds:
            named = [kind for kind in kinds if kind in _INTERVALS]  # which a plain number of seconds is, too
            return " or ".join(named or kinds)
        if "const" in field:
            return f"`{field['const']}`"
        if "enum" in field:
            return " ".join(f"`{value}`" for value in field["enum"])
        match field.get("type"):
            case "integer" | "number" as kind:
                return " ".join(filter(None, ["whole number" if kind == "integer" else "number", _range(field)]))
            case "boolean":
                return "`true` `false`"
            case "string" if "pass" in field.get("pattern", ""):
                return _SHRINKS if "epoch" in field["pattern"] else _EXPORTS
            case "string" if "epoch" in field.get("pattern", ""):
                return "cadence"
            case "string" if "ms|s|m" in field.get("pattern", ""):
                return "duration"
            case "string":
                return "text" + (f", at most {field['maxLength']} characters" if "maxLength" in field else "")
            case "array":
                return self._list_type(field)
            case "object":
                return "mapping"
        raise ValueError(f"the reference has no words for this type: {json.dumps(field)}")

    def _list_type(self, field: Schema) -> str:
        if "prefixItems" in field:
            return f"list of {len(field['prefixItems'])}: {self._type(field['prefixItems'][0])}"
        return "list" if "$ref" in field["items"] else f"list of {self._type(field['items'])}"


def _shared(variants: list[Schema]) -> dict[str, Any]:
    first, *others = (each["properties"] for each in variants)
    return {key: field for key, field in first.items() if key != "name" and all(other.get(key) == field for other in others)}


def _meaning_and_default(description: str, is_null: bool) -> tuple[str, str]:
    """Split `...; default: ...`, and `...; null: ...` of a field whose default is null. Escape the meaning for a table."""
    told, _, default = description.partition("; default: ")
    if is_null and not default:
        told, _, default = told.partition("; null: ")
    told = told.replace("|", r"\|").replace("\n", " ")
    return told if ". " in told else told.rstrip("."), default


def _range(field: Schema) -> str:
    least, most = field.get("minimum"), field.get("maximum")
    above, below = field.get("exclusiveMinimum"), field.get("exclusiveMaximum")
    low = f"at least {_number(least)}" if least is not None else f"above {_number(above)}" if above is not None else ""
    if most is not None and least is not None:
        return f"from {_number(least)} to {_number(most)}"
    high = f"at most {_number(most)}" if most is not None else f"below {_number(below)}" if below is not None else ""
    return " and ".join(filter(None, [low, high]))


def _number(value: float) -> str:
    """Return the number as people write it: `10^9` instead of 1000000000."""
    if value == MAX_SECONDS:
        return "100 years"
    if value > 10**6 and math.log2(value).is_integer():
        return f"2^{math.log2(value):g}"
    exponent = len(str(int(abs(value)))) - 1
    return f"{'-' if value < 0 else ''}10^{exponent}" if exponent > 5 and float(f"1e{exponent}") == abs(value) else f"{value:,g}"


def _written(default: object) -> str:
    return default if isinstance(default, str) else json.dumps(default)


def _listed(variants: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}`" for name in variants)


def _first_paragraph(schema: Schema) -> str:
    return str(schema.get("description", "")).partition("\n\n")[0].replace("\n", " ")
