"""From pydantic's errors to sentences for the author of a job file: where, what, and what to do about it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from gradstream.bounds import shorten
from gradstream.errors import Mistake, pointer_to
from gradstream.jobfile.remedies import example_of, known_elsewhere, models_in, name_of, other_kind, owners
from gradstream.spec import JobSpec

Path = tuple[str | int, ...]

_SENTENCES = {
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "bool_for_number": "must be a number",
    "string_type": "must be text (put it in quotes)",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "greater_than_equal": "must be at least {ge:g}",
    "greater_than": "must be more than {gt:g}",
    "less_than_equal": "must be at most {le:g}",
    "less_than": "must be less than {lt:g}",
    "string_too_long": "must have at most {max_length} characters",
    "literal_error": "must be {expected}",
}


def problems_of(error: ValidationError, document: Any) -> list[Mistake]:
    """The mistakes in `document`, which is what was given to `JobSpec.model_validate`, with pointers as its author sees it."""
    return [_problem(dict(one), document) for one in error.errors(include_url=False)]


def _problem(error: dict[str, Any], document: Any) -> Mistake:
    path, models, field, rest = _locate(error["loc"], document, error["type"] == "missing")
    kind, given = error["type"], error["input"]
    match kind:
        case "extra_forbidden":
            path, message = (*path, *rest), _unknown_key(str(error["loc"][-1]), path, models)
            rest = ()
        case "missing":
            purpose = f" ({field.description})" if field and field.description else ""
            message = f"missing{purpose}; add it{example_of(path).replace(';', ',', 1)}"
        case "union_tag_invalid" | "union_tag_not_found" | "model_attributes_type":
            message = _which(path, models, given)
            path = (*path, "name") if isinstance(given, Mapping) and "name" in given else path
        case "model_type" | "dict_type":
            message = _not_a_mapping(path, given)
        case "string_too_short":
            message = f"must not be empty{example_of(path)}"
        case "value_error":
            return _of_validator(path, error["msg"].removeprefix("Value error, "))
        case "string_pattern_mismatch":
            message = f"{_short(given)} does not fit: {_expected(path, field, error['ctx']['pattern'])}"
        case _:
            said = _SENTENCES.get(kind, error["msg"][:1].lower() + error["msg"][1:])
            message = f"{said.format(**error.get('ctx', {}))}, not {_short(given)}"
            if hint := kind == "literal_error" and other_kind(given, path[-1] if path else ""):
                message += f"; {hint}"
    inner = ".".join(str(part) for part in rest if part != "[key]")
    return Mistake(pointer_to(path), f"{inner}: {message}" if inner else message)


def _locate(loc: Path, document: Any, missing: bool) -> tuple[Path, list[type[BaseModel]], FieldInfo | None, Path]:
    """Follow pydantic's location through the job file, leaving out what its author did not write: the tags of unions, and
    the full form of what was written in a short one.

    Returns the path, the models that may stand there, the field that it is, and what of `loc` is not in the file.
    """
    path: Path = ()
    models: list[type[BaseModel]] = [JobSpec]
    field: FieldInfo | None = None
    here, chosen = document, False
    for at, part in enumerate(loc):
        if chosen and isinstance(here, Mapping) and part in here:  # a name that the author chose, as that of a table
            path, here, chosen = (*path, part), here[part], False
            continue
        if len(models) > 1:
            models = [model for model in models if name_of(model) == part]
            continue
        if models and isinstance(here, list) and isinstance(part, int):  # an item of a list of groups
            path, here = (*path, part), here[part]
            continue
        inside = part in here if isinstance(here, Mapping) else isinstance(here, list) and part in range(len(here))
        known = models[0].model_fields.get(str(part)) if models else None
        if not inside and not (missing and at == len(loc) - 1):
            return path, models, field, loc[at:]
        path, field = (*path, part), known
        here = here[part] if inside else None
        if known is None and models and at == len(loc) - 1:
            return path[:-1], models, None, loc[at:]
        models = list(models_in(known.annotation)) if known else []
        chosen = known is not None and get_origin(known.annotation) is dict
    return path, models, field, ()


def _not_a_mapping(path: Path, given: Any) -> str:
    if path:
        return f"must be a mapping, `key: value`, not {_short(given)}{example_of(path)}"
    if given is None:
        return "the file is empty; `gradstream init FOLDER` writes one with a model and data"
    return f"must be a mapping of keys such as `name: digits`, not {_short(given)}; `gradstream init FOLDER` writes a job file"


def _unknown_key(key: str, path: Path, models: list[type[BaseModel]]) -> str:
    here = list(models[0].model_fields) if models else []
    if have := owners().get((pointer_to(path), key)):
        return f"{name_of(models[0])} has no '{key}'; it has: {', '.join(here)}. Remove it, or choose {' or '.join(have[:4])}"
    elsewhere = {name: at for name, places in _places().items() if (at := [place for place in places if place != pointer_to(path)])}
    if places := elsewhere.get(key):
        return f"unknown key '{key}' here; it belongs under {' or '.join(place or '/' for place in places[:2])}"
    if close := difflib.get_close_matches(key, here, 1, 0.8):
        return f"unknown key '{key}'; did you mean '{close[0]}'?"
    if meant := known_elsewhere(key):
        return f"unknown key '{key}'; did you mean {meant}?"
    if close := difflib.get_close_matches(key, elsewhere, 1, 0.8):
        return f"unknown key '{key}'; did you mean {elsewhere[close[0]][0]}/{close[0]}?"
    if close := difflib.get_close_matches(key, here, 1):
        return f"unknown key '{key}'; did you mean '{close[0]}'?"
    return f"unknown key '{key}'; there are: {', '.join(here)}{example_of(path)}"


@cache
def _places() -> dict[str, list[str]]:
    """The pointers of the mappings in which each key of a job file may stand."""
    places: dict[str, list[str]] = {}

    def visit(model: type[BaseModel], pointer: str) -> None:
        for name, field in model.model_fields.items():
            if pointer not in places.setdefault(name, []):
                places[name].append(pointer)
            for inner in models_in(field.annotation):
                visit(inner, f"{pointer}/{name}")

    visit(JobSpec, "")
    return {name: sorted(found, key=len) for name, found in places.items()}


def _which(path: Path, models: list[type[BaseModel]], given: Any) -> str:
    """A choice by name went wrong: the strategy, an optimizer, the codec."""
    names = [name_of(model) for model in models]
    what = path[-1] if path else "job"
    chosen = given.get("name") if isinstance(given, Mapping) else given
    if isinstance(given, str) and given in names:
        return f"write it as {{name: {given}}}"
    if chosen is None or isinstance(chosen, list | Mapping):
        return f"name the {what}: {{name: {names[0]}}}; there are: {', '.join(names)}"
    if other := other_kind(chosen, what):
        return f"there is no {what} {_short(chosen)}: {other}, and choose a {what}; there are: {', '.join(names)}"
    close = difflib.get_close_matches(_short(chosen)[:60], names, 1, 0.5)
    hint = f"did you mean '{close[0]}'? There are" if close else "there are"
    return f"there is no {what} {_short(chosen)}; {hint}: {', '.join(names)}"


def _of_validator(path: Path, message: str) -> Mistake:
    """A validator of the whole job says in its sentence what it is about: `gate.quorum: 3 of 2 workers ...`."""
    about = re.match(r"([\w.-]+): (.+)", message)
    if not path and about and (keys := about[1].split("."))[0] in JobSpec.model_fields:
        deeper = (keys[0], about[1].partition(".")[2]) if keys[0] == "env" else tuple(keys)
        return Mistake(pointer_to(deeper), about[2])
    return Mistake(pointer_to(path), message)


def _expected(path: Path, field: FieldInfo | None, pattern: str) -> str:
    if field is None or not field.description:
        return f"it must match {pattern}"
    example = example_of(path).removeprefix("; ") or (f"e.g. {field.examples[0]}" if field.examples else f"it must match {pattern}")
    return f"{field.description}; {example}"


def _short(value: Any) -> str:
    """Enough of a value to recognise it; never all of what may be large."""
    if isinstance(value, Mapping | list):
        return "a mapping" if isinstance(value, Mapping) else "a list"
    text = {None: "nothing", True: "true", False: "false"}.get(value) if value is None or value is True or value is False else None
    return text or shorten(value)
