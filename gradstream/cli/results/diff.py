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

Other = Annotated[
    str | None,
    typer.Argument(metavar="OTHER", help="The job to compare with; without it, the commit", autocompletion=completion.complete_job),
]


_HOW = {
    False: "and its files were as they are there",
    True: "and its files differed; in which lines was not recorded",
    None: "and git did not say whether its files differed",
}
"""By `CodeOrigin.dirty`, where no change was recorded."""


class _Differences(NamedTuple):
    settings: list[tuple[str, Any, Any]]
    """Effective values: the name, and the value of each job."""
    environment: list[tuple[str, Any, Any]] | None
    """The same of packages and facts of the machine; None: a job has not trained yet, so it is not known."""
    code: list[FileDifference]


def command(job: JobReference, other: Other = None, as_json: AsJson = False, url: Url = None, token_file: TokenFile = None) -> None:
    """Print in what two jobs differ: settings with their defaults, packages and machine of worker 0, and the lines of the code.
    With one job, print in what its code differed from the commit that it was submitted from.

    Example: gradstream diff digits digits-2
    """
    from gradstream.cli.terminal.output import print_json

    with connect(url, token_file) as client:
        if other is None:
            return _print_uncommitted(client, client.find(job), as_json=as_json)
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
    from gradstream.cli.terminal.output import print_table, talk

    names = [f"{each.name} ({str(each.id)[:8]})" for each in (job, other)]
    for title, rows in (("setting", found.settings), ("environment", found.environment)):
        if rows:
            print_table((title, *names), [(name, _text(one), _text(two)) for name, one, two in rows])
            print()
    for each in found.code:
        _print_lines(each.change, each.path, each.lines)
    if found.environment is None:
        talk("A job has not trained yet, so packages and machines were not compared.", "yellow")
    elif not any(found):
        talk("The two jobs have the same settings, environment and code.")
    for one in (job, other):
        if one.bundle is None:
            talk(f"{one.name} has no code of its own, so code was not compared.", "yellow")


def _print_uncommitted(client: Client, job: Job, *, as_json: bool) -> None:
    from gradstream.cli.terminal.output import print_json, talk

    changes = client.uncommitted_changes(job.id)
    if as_json:
        print_json({"origin": job.origin.model_dump() if job.origin else None, "code": [each.as_dict() for each in changes]})
        return
    for each in changes:
        _print_lines(each.change, each.path, each.lines if each.change == "changed" else [])
    commit = job.origin.commit if job.origin else None
    if commit is None:
        talk(f"{job.name} was not submitted from a git repository.", "yellow")
    elif not changes:
        talk(f"{job.name} was submitted from commit {commit[:7]}, {_HOW[job.origin.dirty if job.origin else None]}.")


def _print_lines(change: str, path: str, lines: list[str] | None) -> None:
    from gradstream.cli.terminal.output import print_text

    print_text(f"{change} {path}")
    for line in lines if lines is not None else ["(binary, or too long to compare line by line)"]:
        print_text(f"  {line}")


def _text(value: Any) -> str:
    import json

    return "–" if value is None else value if isinstance(value, str) else json.dumps(value)
