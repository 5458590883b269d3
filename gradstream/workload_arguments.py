"""`workload.args` against the arguments of a workload class: by the class itself when it is made, and by its text before that."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any

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
            values[key] = TypeAdapter(known[key]).validate_python(value)
        except ValidationError as error:
            problems.append(Mistake(_place(key), error.errors()[0]["msg"]))
    problems += [
        Mistake(_place(key), f"missing: {owner}.{key} has no default; add it to workload.args")
        for key in known
        if key in required and key not in given
    ]
    return values, problems


def _place(key: str) -> str:
    return pointer_to(["workload", "args", key])
