"""`gradstream diff`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from gradstream.cli import completion
from gradstream.cli.common import AsJson, JobReference, TokenFile, Url, connect

if TYPE_CHECKING:
    from gradstream.api.code import FileDifference
    from gradstream.api.jobs import Job
    from gradstream.client import Client

Other = Annotated[str, typer.Argument(metavar="OTHER", help="The job to compare with", autocompletion=completion.complete_job)]


class _Differences(NamedTuple):
    settings: list[tuple[str, Any, Any]]
    """Effective values: the name, and the value of each job."""
    environment: list[tuple[str, Any, Any]] | None
    """The same of packages and facts of the machine; None: a job has not trained yet, so it is not known."""
    code: list[FileDifference]


def command(job: JobReference, other: Other, as_json: AsJson = False, url: Url = None, token_file: TokenFile = None) -> None:
    """Print in what two jobs differ: settings with their defaults, packages and machine of worker 0, and the lines of the code.

    Example: gradstream diff digits digits-2
    """
    from gradstream.cli.terminal.output import print_json

    with connect(url, token_file) as client:
        jobs = client.find(job), client.find(other)
        found = _compare(client, *jobs)
    if as_json:
        print_json(_facts(found))
    else:
        _print(found, *jobs)


def _compare(client: Client, job: Job, other: Job) -> _Differences:
    settings, other_settings = (_flat(client.config(each.id).effective) for each in (job, other))
    environment, other_environment = (_environment(client, each) for each in (job, other))
    code = client.code_differences(job.id, other.id) if job.bundle and other.bundle else []
    for each in (settings, other_settings):
        each.pop("name", None)
    machines = _differing(environment, other_environment) if environment and other_environment else None
    return _Differences(_differing(settings, other_settings), machines, code)


def _environment(client: Client, job: Job) -> dict[str, Any]:
    """Return packages and facts by name; empty: the job has not trained yet."""
    from gradstream.errors import NotFound

    try:
        found = client.environment(job.id).model_dump(exclude={"packages_left_out"})
    except NotFound:
        return {}
    packages = {name: version for name, _, version in (each.partition("==") for each in found.pop("packages"))}
    return {**packages, **found}


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) and value else {f"{prefix}{name}": value}
    return flat


def _differing(one: dict[str, Any], other: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    names = dict.fromkeys([*one, *other])
    return [(name, one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name)]


def _facts(found: _Differences) -> dict[str, Any]:
    pairs = {"settings": found.settings, "environment": found.environment}
    return {
        **{
            kind: None if rows is None else [{"name": name, "values": [one, other]} for name, one, other in rows]
            for kind, rows in pairs.items()
        },
        "code": [each.as_dict() for each in found.code],
    }


def _print(found: _Differences, job: Job, other: Job) -> None:
    from gradstream.cli.terminal.output import print_table, print_text, talk

    names = [f"{each.name} ({str(each.id)[:8]})" for each in (job, other)]
    for title, rows in (("setting", found.settings), ("environment", found.environment)):
        if rows:
            print_table((title, *names), [(name, _text(one), _text(two)) for name, one, two in rows])
            print()
    for each in found.code:
        print_text(f"{each.change} {each.path}")
        for line in each.lines if each.lines is not None else ["(binary, or too long to compare line by line)"]:
            print_text(f"  {line}")
    if found.environment is None:
        talk("A job has not trained yet, so packages and machines were not compared.", "yellow")
    elif not any(found):
        talk("The two jobs have the same settings, environment and code.")
    for one in (job, other):
        if one.bundle is None:
            talk(f"{one.name} has no code of its own, so code was not compared.", "yellow")


def _text(value: Any) -> str:
    import json

    return "–" if value is None else value if isinstance(value, str) else json.dumps(value)
