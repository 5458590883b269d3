"""`workload.args` against the arguments of a workload class: by the class itself when it is made, and by its text before that."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from types import UnionType
from typing import Any, Union, get_args, get_origin

from gradstream.bounds import shorten
from gradstream.errors import Mistake, pointer_to


def check_arguments(
    owner: str, known: Mapping[str, Any], required: Collection[str], given: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Mistake]]:
    """`given`, converted to the types of `known`, and what is unknown, wrong or missing in it, with pointers into the job file."""
    from pydantic import TypeAdapter, ValidationError

    values, problems = {}, []
    for key, value in given.items():
        if key not in known:
            close = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean '{close[0]}'?" if close else f"{owner} has {', '.join(known) or 'no arguments'}"
            problems.append(Mistake(_place(key), f"unknown argument; {hint}"))
            continue
        try:
            if isinstance(value, bool) and known[key] in (int, float):
                raise TypeError("Python reads true as 1")
            values[key] = TypeAdapter(known[key]).validate_python(value)
        except (ValidationError, TypeError):
            said = f"{owner}.{key} is declared as {_name_type(known[key])}, and {shorten(value)} is none"
            problems.append(Mistake(_place(key), said))
    problems += [
        Mistake(_place(key), f"missing: {owner}.{key} has no default; add it to workload.args")
        for key in known
        if key in required and key not in given
    ]
    return values, problems


def _name_type(declared: Any) -> str:
    """`int`, `float | None`: as its author would write it, however it is made."""
    if get_origin(declared) in (Union, UnionType):
        return " | ".join(map(_name_type, get_args(declared)))
    if declared is type(None):
        return "None"
    is_plain = isinstance(declared, type) and not get_args(declared)
    return declared.__name__ if is_plain else str(declared).replace("typing.", "")


def _place(key: str) -> str:
    return pointer_to(["workload", "args", key])
