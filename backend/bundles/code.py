"""The text of stored bundles, read once and kept for the questions that follow."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from backend.bundles.schemas import BundledArgument, BundledWorkload
from gradstream import workload_source
from gradstream.workload_source import CodeText, StaticArgument
from gradstream.workload_source.annotations import UNKNOWN

_KEPT = 16
"""Bundles whose text is kept: some MiB each at most."""
_KEPT_DEFAULTS = 256
"""Workloads whose defaults are kept."""


def workloads(text: CodeText) -> list[BundledWorkload]:
    return [
        BundledWorkload(
            entrypoint=each.entrypoint,
            summary=each.summary,
            arguments=None if each.arguments is None else [_argument(argument) for argument in each.arguments],
        )
        for each in workload_source.list_workloads(text)
    ]


@lru_cache(_KEPT)
def read(archive: Path) -> CodeText:
    """A bundle's name says its content, so it never changes."""
    return workload_source.read_archive(archive.read_bytes())


@lru_cache(_KEPT_DEFAULTS)
def argument_defaults(archive: Path, entrypoint: str) -> Mapping[str, Any]:
    """The literal defaults of a workload's arguments, by name. Empty where the text does not say."""
    found = workload_source.find_workload(read(archive), entrypoint)
    arguments = [_argument(each) for each in (found.arguments if found else None) or ()]
    return {each.name: each.default for each in arguments if each.literal and not each.required}


def _argument(argument: StaticArgument) -> BundledArgument:
    literal = _is_json(argument.default)
    return BundledArgument(
        name=argument.name,
        annotation=argument.annotation,
        required=argument.required,
        default=argument.default if literal else None,
        literal=literal,
        values=_values(argument.type),
        help=argument.help,
    )


def _values(declared: Any) -> dict[str, Any] | None:
    """Return the JSON Schema of a type. None: it has none, or any value would do."""
    try:
        return None if declared is UNKNOWN else TypeAdapter(declared).json_schema() or None
    except PydanticUserError:
        return None


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True
