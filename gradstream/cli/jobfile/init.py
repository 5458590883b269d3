"""`gradstream init`: a new project that can be tested, trained and submitted as it stands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from gradstream.cli import completion
from gradstream.cli.common import AsJson

_NEEDS = {"torch": "torch", "sklearn": "scikit-learn", "pytest": "pytest"}
"""Modules that the project imports, and the packages that bring them."""


def command(
    folder: Annotated[Path | None, typer.Argument(metavar="[FOLDER]", help="A new folder, or . for this one")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the job and its module; default: the folder's name")] = None,
    strategy: Annotated[
        str,
        typer.Option(help="Strategy in job.yaml; `gradstream strategies` lists all", autocompletion=completion.complete_strategy),
    ] = "sync",
    as_json: AsJson = False,
) -> None:
    """Write a new project: a workload, a job file, tests, a README and a .gitignore. It trains on digits that scikit-learn ships.

    Prints the files. It replaces no file: if one of them exists, it writes none.

    Example: gradstream init my-digits --strategy adag
    """
    from gradstream.cli.terminal.output import print_json
    from gradstream.starter import Starter

    project = Starter.create(folder or _named_folder(name), name=name, strategy=strategy)
    written = [str(path) for path in project.write()]
    commands, missing = _next_commands(project.folder), _missing_packages()
    if as_json:
        print_json(
            {
                "folder": str(project.folder),
                "name": project.name,
                "entrypoint": project.entrypoint,
                "strategy": project.strategy,
                "files": written,
                "next": list(commands),
                "missing_packages": missing,
            }
        )
    else:
        print("\n".join(written), flush=True)
    _say(commands, missing)


def _named_folder(name: str | None) -> Path:
    """Raises: Invalid: no name is given, and there is no terminal to ask for one."""
    from gradstream.errors import Invalid

    if name is None and not sys.stdin.isatty():
        raise Invalid("FOLDER: name a folder for the project, e.g. `gradstream init my-digits`; `.` is this folder")
    return Path(name if name is not None else typer.prompt("Folder for the project, e.g. my-digits", err=True))


def _next_commands(folder: Path) -> dict[str, str]:
    """Each with what it does."""
    import shlex

    quoted = shlex.quote(str(folder))
    return {
        f"pytest {quoted}": "checks the job file, and that the loss falls",
        f"gradstream run {quoted} --local": "trains in one plain process",
        f"gradstream submit {quoted} --follow": "trains on a platform; `gradstream up` starts one here",
    }


def _missing_packages() -> list[str]:
    from importlib.util import find_spec

    return [package for module, package in _NEEDS.items() if find_spec(module) is None]


def _say(commands: dict[str, str], missing: list[str]) -> None:
    from gradstream.cli.terminal.output import talk

    if missing:
        talk(f"not installed here: {', '.join(missing)}. First: pip install {' '.join(missing)}", "yellow")
    talk("next:")
    width = max(map(len, commands))
    for line, purpose in commands.items():
        talk(f"  {line:<{width}}  # {purpose}", "dim")
