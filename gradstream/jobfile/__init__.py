"""Reading a job file, and explaining what is wrong with one.

    spec = jobfile.load(Path("job.yaml"), ["strategy.lr=0.1"])

Every mistake is a `Mistake` with a pointer into the file as the user wrote it and a remedy; `load` adds the line.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gradstream.bounds import MAX_DEPTH
from gradstream.errors import InvalidJob, Mistake, NotFound
from gradstream.jobfile.document import MAX_TEXT, Document, parse
from gradstream.jobfile.explain import problems_of
from gradstream.spec import JobSpec
from gradstream.spec.values import not_too_deep

__all__ = ["MAX_TEXT", "load", "problems_of", "read", "refuse", "with_places"]

_MAX_OVERRIDES = 16 * 1024
"""Characters of all overrides together: each is YAML, which is slow to read."""


def load(source: Path | str | Mapping[str, Any], overrides: Sequence[str] = ()) -> JobSpec:
    """Read a job from a file (Path), from text (str) or from its parsed data, then set each override, written as
    `strategy.lr=0.1`.

    Raises: NotFound: no such file. InvalidJob: with every problem at once.
    """
    if sum(map(len, overrides)) > _MAX_OVERRIDES:
        raise InvalidJob(f"the overrides have more than {_MAX_OVERRIDES:,} characters together; write them into the job file")
    if isinstance(source, Mapping):
        try:
            not_too_deep(dict(source), 2 * MAX_DEPTH)
        except ValueError as error:
            raise InvalidJob("the job file is nested too deeply", [Mistake("", str(error))]) from error
        document = Document(deepcopy(dict(source)))
    else:
        document = parse(read(source) if isinstance(source, Path) else source)
    for override in overrides:
        document.override(override)
    try:
        return JobSpec.model_validate(document.data)
    except ValidationError as error:
        raise _invalid([_with_place(problem, document) for problem in problems_of(error, document.data)]) from error


def read(path: Path) -> str:
    """The text of a job file. Raises: NotFound, InvalidJob."""
    if path.suffix in (".py", ".ipynb"):
        raise InvalidJob(
            f"{path} holds code. Name the job file, such as {path.with_name('job.yaml')}; `gradstream init` writes one"
        )
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {path}{_similar(path)}") from error
    except UnicodeDecodeError as error:
        raise InvalidJob(f"{path} is not text in UTF-8 (byte {error.start + 1}); save it in that encoding") from error
    except OSError as error:
        raise InvalidJob(f"{path} cannot be read: {error.strerror}") from error


def _similar(path: Path) -> str:
    try:
        names = [file.name for file in path.parent.iterdir() if file.is_file()]
    except OSError:
        return ""
    close = difflib.get_close_matches(path.name, names, 1, 0.7)
    return f"; did you mean {path.with_name(close[0])}?" if close else ""


def refuse(problems: Sequence[Mistake], source: Path | str, overrides: Sequence[str] = ()) -> None:
    """Raises: InvalidJob with the problems at their lines, if there is one. The job file itself has been loaded before."""
    if problems:
        raise _invalid(with_places(problems, source, overrides))


def with_places(problems: Sequence[Mistake], source: Path | str, overrides: Sequence[str] = ()) -> list[Mistake]:
    """The problems of a job file that has been loaded before, with the lines of what they point at."""
    document = parse(read(source) if isinstance(source, Path) else source)
    for override in overrides:
        document.override(override)
    return [_with_place(problem, document) for problem in problems]


def _invalid(problems: list[Mistake]) -> InvalidJob:
    count = f"{len(problems)} problems" if len(problems) > 1 else "a problem"
    return InvalidJob(f"the job file has {count}", problems)


def _with_place(problem: Mistake, document: Document) -> Mistake:
    place = document.place(problem.pointer)
    return Mistake(problem.pointer, f"{problem.message} ({place})") if place else problem
