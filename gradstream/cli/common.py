"""The shared parts of commands: options, the connection, and exit codes. They import httpx only when they need it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from gradstream.cli import completion

if TYPE_CHECKING:
    from gradstream.client import Client, Job
    from gradstream.errors import NotSignedIn
    from gradstream.spec import JobSpec

PLATFORM = "Which platform"
Url = Annotated[str | None, typer.Option("--url", help="Address of the platform; also GRADSTREAM_URL", rich_help_panel=PLATFORM)]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", help="File with an API token; also GRADSTREAM_TOKEN_FILE", rich_help_panel=PLATFORM),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, for programs")]
JobReference = Annotated[
    str,
    typer.Argument(
        metavar="JOB", help="Id, the beginning of an id, or a name (its newest job)", autocompletion=completion.complete_job
    ),
]
JobFile = Annotated[
    Path, typer.Argument(metavar="JOB.YAML", help="The job file, a folder with a job.yaml in it, or - for standard input")
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set a value of the job file, e.g. strategy.lr=0.1; may be repeated",
        autocompletion=completion.complete_override,
    ),
]
Code = Annotated[
    Path | None, typer.Option("--code", exists=True, help="Folder or file of user code; default: the job file's folder")
]

OUTCOMES = {"succeeded": 0, "failed": 10, "cancelled": 11, "timed_out": 12}
"""Exit codes of commands that wait for a job's end."""
TIMED_OUT, INTERRUPTED, TERMINATED = 124, 130, 143
"""The command ended, the job goes on: after its time, by Ctrl-C, by SIGTERM."""

BRIEF, LONG = 3.0, 60.0
"""Seconds that a command puts up with a server that does not answer: a question, or a watch that outlives its restart."""


def connect(url: str | None, token_file: Path | None, *, data_dir: str | None = None, timeout: float = BRIEF) -> Client:
    """With `data_dir`, to the platform of that folder, unless an address is given. Raises: NotSignedIn."""
    from gradstream.cli.terminal.output import talk
    from gradstream.client import Client, Credentials
    from gradstream.client.credentials import ClientSettings
    from gradstream.errors import NotSignedIn

    said: set[str] = set()

    def retrying(why: str) -> None:
        if timeout > BRIEF and why not in said:
            said.add(why)
            talk(f"{why}; trying again for {timeout:.0f} s")

    named = url or token_file or ClientSettings().url
    folder = Path(data_dir).expanduser() if data_dir and not named else None
    here = Credentials.load(folder / "client.json") if folder else None
    if folder and here is None:
        raise NotSignedIn(
            f"no platform has run in {folder}; `gradstream up --data-dir {shlex.quote(str(folder))}` starts one there"
        )
    try:
        found = here or Credentials.find(url=url, token_file=token_file)
    except NotSignedIn as error:
        raise (error if named else _naming_running_ones(error)) from error
    return Client(found, timeout=timeout, on_retry=retrying)


def _naming_running_ones(error: NotSignedIn) -> NotSignedIn:
    """The error, with the platforms of this machine that another data folder would lead to."""
    from gradstream.errors import NotSignedIn
    from gradstream.local.running import running_platforms

    running = running_platforms()
    if not running:
        return error
    ways = "; ".join(f"`export GRADSTREAM_DATA_DIR={shlex.quote(each.data_dir)}` for the one at {each.url}" for each in running[:5])
    return NotSignedIn(f"no platform is known in this terminal. One runs on this machine: {ways}")


def warn(spec: JobSpec) -> None:
    """Say what is known to go wrong with a job file that is valid, with its remedy, and what settings come to: a line each."""
    from gradstream.advise.warnings import notes, warnings
    from gradstream.cli.terminal.output import talk

    for warning in warnings(spec):
        talk(f"warning: {warning.pointer}: {warning.text}", "yellow")
    for note in notes(spec):
        talk(f"note: {note.pointer}: {note.text}")


def note_no_exports(spec: JobSpec, command: str) -> None:
    """Say that this command makes no exports, to whose job asks for them."""
    from gradstream.cli.terminal.output import talk

    if spec.export:
        talk(f"note: export: {command} makes no exports; a job on the platform does: gradstream submit")


def note_no_threads(spec: JobSpec, *, threads: str, peers: str) -> None:
    """Say what a command does in place of hogwild threads or of the peers of a group, to whose job has them."""
    from gradstream.cli.terminal.output import talk

    if spec.roles.worker.hogwild > 1:
        talk(f"note: roles.worker.hogwild: {threads}; gradstream train and gradstream submit start the threads")
    if spec.roles.worker.group.peers > 1:
        talk(f"note: roles.worker.group: {peers}; gradstream train and gradstream submit start the processes")


def check_code(spec: JobSpec, source: str, overrides: list[str] | None, code: Path, *, sent: bool) -> None:
    """Say what looks wrong in the code; see `gradstream.jobfile.source.check_code`, and what it raises."""
    from gradstream.cli.terminal.output import talk
    from gradstream.jobfile import source as job_source

    for warning in job_source.check_code(spec, code, source, overrides or [], sent=sent):
        talk(f"warning: {warning.pointer}: {warning.message}", "yellow")


def exit_with(job: Job) -> NoReturn:
    raise typer.Exit(outcome_of(job))


def outcome_of(job: Job) -> int:
    """Return the exit code for the end of a job; 1 for an end that only a newer platform knows, which it also says."""
    from gradstream.cli.terminal.output import talk

    if job.status not in OUTCOMES:
        talk(f"this version of Gradstream does not know the status '{job.status}'; install the version of the platform", "yellow")
    return OUTCOMES.get(job.status, 1)


def seconds(text: str | None) -> float | None:
    """A duration as in a job file, where `90` is a number: `90`, `30s`, `5m`."""
    from pydantic import Field, TypeAdapter, ValidationError

    from gradstream.spec.values import Seconds

    if text is None:
        return None
    try:
        return TypeAdapter(Annotated[Seconds, Field(ge=0, allow_inf_nan=False)]).validate_python(_number(text))
    except ValidationError as error:
        raise typer.BadParameter("write a duration as a number of seconds or like '30s', '5m', '2h'") from error


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def bytes_per_second(text: str) -> float:
    """`100M`, `100MB/s` and `0.8Gbit/s` are the same. Raises: BadParameter."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?(?:e\d+)?)\s*([kMG]?)(B|bit)?(?:/s|ps)?\s*", text)
    if not found or float(found[1]) == 0:
        raise typer.BadParameter("write bytes per second, above 0, like 100M, 100MB/s or 10Gbit/s", param_hint="--bandwidth")
    return float(found[1]) * {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}[found[2]] * (0.125 if found[3] == "bit" else 1.0)
