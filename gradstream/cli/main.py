"""`gradstream`: the root of the command line. A command's module is imported only when that command runs.

To add a command: write `gradstream/cli/<subject>/<module>.py` with a function `command(...)`, its parameters annotated for Typer
(or with `command = typer.Typer(...)` for one that has subcommands), and a line in COMMANDS. Heavy imports (httpx, torch,
psycopg) belong inside the function.

Data goes to stdout, talk to stderr. A `GradstreamError` that leaves a command becomes its sentence on stderr and an exit
code by its kind (EXIT_CODES); a command says another outcome with `raise typer.Exit(code)`.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from typer._click.exceptions import ClickException
from typer.core import TyperCommand, TyperGroup, TyperOption

from gradstream import errors

if TYPE_CHECKING:
    from gradstream.errors import GradstreamError

EXIT_CODES: dict[type[GradstreamError], int] = {
    errors.Invalid: 2,
    errors.NotSignedIn: 3,
    errors.NotFound: 4,
    errors.Denied: 5,
    errors.Unavailable: 6,
    errors.Conflict: 1,
}
"""The first that fits counts, so NotSignedIn stands before its parent. Others: 10 failed, 11 cancelled, 124 timed out."""

_PIPE_CLOSED = 141
"""The reader of the output has enough, as in `gradstream jobs | head -1`: the exit code of a program that SIGPIPE ends."""


class _Entry(NamedTuple):
    module: str
    """Below `gradstream.cli`."""
    panel: str
    help: str
    """The line in `gradstream --help`, which imports no command's module."""


_PLATFORM, _JOBS, _ALONE, _ABOUT = "The platform on this machine", "Jobs", "Without a control plane", "The platform's state"

COMMANDS: dict[str, _Entry] = {
    "demo": _Entry("platform.demo", _PLATFORM, "Start everything and train on real data"),
    "up": _Entry("platform.up", _PLATFORM, "Start the platform on this machine"),
    "open": _Entry("platform.open", _PLATFORM, "Open the page in a browser, signed in"),
    "down": _Entry("platform.down", _PLATFORM, "Stop the platform of this data folder"),
    "reset": _Entry("platform.reset", _PLATFORM, "Delete a data folder: jobs, metrics, models, accounts"),
    "join": _Entry("nodes.join", _PLATFORM, "Let the jobs of a platform use this machine"),
    "token": _Entry("access.token", _PLATFORM, "List, create and revoke tokens for programs and machines"),
    "session": _Entry("access.session", _PLATFORM, "List the browsers that are signed in, and sign them out"),
    "login": _Entry("access.login", _PLATFORM, "Save the address and token of a platform"),
    "init": _Entry("jobfile.init", _JOBS, "Write a new project: a workload, a job file and tests"),
    "validate": _Entry("jobfile.validate", _JOBS, "Check a job file and its code, without a platform"),
    "submit": _Entry("jobfile.submit", _JOBS, "Submit a job file"),
    "follow": _Entry("following.follow_job", _JOBS, "Show a job's events and progress until it ends"),
    "jobs": _Entry("jobs.jobs", _JOBS, "List jobs"),
    "show": _Entry("jobs.show", _JOBS, "Show one job"),
    "config": _Entry("jobs.config", _JOBS, "Print a job's file: short, in full, or as submitted"),
    "logs": _Entry("results.logs", _JOBS, "Print or follow a job's logs"),
    "metrics": _Entry("results.metrics", _JOBS, "Print a job's metrics"),
    "media": _Entry("results.media", _JOBS, "List or save a job's logged images, figures, tables, texts and histograms"),
    "updates": _Entry("results.updates", _JOBS, "Print how large a job's gradients and updates are, by staleness"),
    "events": _Entry("results.events", _JOBS, "Print a job's events"),
    "compare": _Entry("results.compare", _JOBS, "Compare when jobs reached a target"),
    "importance": _Entry("results.importance", _JOBS, "Rank which settings explain a figure of several jobs"),
    "diff": _Entry("results.diff", _JOBS, "Print in what two jobs differ: settings, environment, code"),
    "wait": _Entry("following.wait", _JOBS, "Wait until a job ends; the exit code is its outcome"),
    "stop": _Entry("jobs.stop", _JOBS, "Stop a job and keep its model, or stop one worker"),
    "restart": _Entry("jobs.restart", _JOBS, "Restart one process of a running job"),
    "priority": _Entry("jobs.priority", _JOBS, "Change the priority of a waiting job"),
    "edit": _Entry("jobs.edit", _JOBS, "Change the name, tags or note of a job, or archive it"),
    "delete": _Entry("jobs.delete", _JOBS, "Delete jobs that have ended, with all their files"),
    "download": _Entry("results.download", _JOBS, "Download a job's files"),
    "export": _Entry("results.export", _JOBS, "Ask for an export of a job's model and tables, for serving"),
    "exports": _Entry("results.exports", _JOBS, "List a job's exports, or keep a folder in step with them"),
    "tables": _Entry("results.tables", _JOBS, "List a job's embedding tables, or look one key up"),
    "train": _Entry("jobfile.train", _ALONE, "Train a job on this machine: all its processes, no platform"),
    "run": _Entry("jobfile.run", _ALONE, "Submit and follow a job; --local: one plain process, as a baseline"),
    "advise": _Entry("jobfile.advise", _ALONE, "Forecast a job and recommend its settings"),
    "sim": _Entry("simulator.sim", _ALONE, "Simulate a job or a toy problem in virtual time"),
    "queue": _Entry("jobs.queue", _ABOUT, "List waiting jobs, and the jobs that hold machines"),
    "nodes": _Entry("nodes.nodes", _ABOUT, "List nodes and their GPUs"),
    "node": _Entry("nodes.node", _ABOUT, "Drain, resume or remove a node, or change its credential"),
    "storage": _Entry("platform.storage", _ABOUT, "Show the platform's disk usage, and remove unused data"),
    "strategies": _Entry("jobfile.strategies", _ABOUT, "List the strategies and their settings"),
    "schema": _Entry("jobfile.schema", _ABOUT, "Print the JSON Schema of the job file"),
}


def _hide_type_of_flags() -> None:
    """Make help show `--json`, which takes no value, without a type. Typer has no setting for it."""
    display = TyperOption.display_type_rich
    TyperOption.display_type_rich = lambda self, ctx: None if self.is_bool_flag else display(self, ctx)  # type: ignore[method-assign]


_hide_type_of_flags()


class LazyGroup(TyperGroup):
    """Lists commands from COMMANDS and imports one when it is resolved, to run it or to complete its options."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, entry in COMMANDS.items():
            self.add_command(TyperCommand(name, callback=None, help=entry.help, rich_help_panel=entry.panel), name)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if name in COMMANDS:
            command = _load(name)
        return name, command, rest

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        with _failures_told("--json" in args):  # `--help` prints here already
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        with _failures_told("--json" in ctx._protected_args + ctx.args):
            return super().invoke(ctx)


@contextmanager
def _failures_told(as_json: bool) -> Iterator[None]:
    """Say failures in a sentence on stderr. Raises: typer.Exit."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # what fails here is told; at the program's end it would be a traceback
    except errors.GradstreamError as error:
        raise typer.Exit(_report(error, as_json)) from error
    except OSError as error:
        if error.errno == errno.EPIPE:
            _discard(1)
            raise typer.Exit(_PIPE_CLOSED) from error
        raise typer.Exit(_report(_explain_os_error(error), as_json)) from error
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # rich has met the closed pipe
            raise typer.Exit(_PIPE_CLOSED) from end
        raise
    except ClickException as error:  # it is told on stderr where click ends the program
        if as_json:
            _print_error("Usage", error.format_message(), error.exit_code, [])
        raise
    except typer.Abort:
        if as_json:
            _print_error("Aborted", "the question was not answered with yes, so nothing was done", 1, [])
        raise


def _explain_os_error(error: OSError) -> GradstreamError:
    if error.filename is not None:
        return errors.Conflict(f"{error.filename}: {error.strerror}")
    _discard(1)
    return errors.Unavailable(f"the output could not be written: {error.strerror or error}")


def _load(name: str) -> Any:
    written = import_module(f"gradstream.cli.{COMMANDS[name].module}").command
    if isinstance(written, typer.Typer):
        command = typer.main.get_command(written)
    else:
        one = typer.Typer(add_completion=False)
        one.command(name)(written)
        command = typer.main.get_command(one)
    command.name = name
    return command


def _report(error: GradstreamError, as_json: bool) -> int:
    """Say `error` on stderr, for programs also as JSON on stdout, and return the exit code of its kind."""
    from rich.text import Text

    from gradstream.cli.terminal.output import talking  # 40 ms that a command without mistakes does not need
    from gradstream.cli.terminal.visible import make_visible

    code = next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 1)
    problems = getattr(error, "problems", [])
    if as_json:
        _print_error(type(error).__name__, error.message, code, [problem.as_dict() for problem in problems])
    console = talking()
    try:
        console.print(Text.assemble(("error: ", "bold red"), make_visible(error.message)))
        for problem in problems:
            place = f"  {problem.pointer}: " if problem.pointer else "  "
            console.print(Text.assemble((make_visible(place), "bold"), make_visible(problem.message)))
        sys.stderr.flush()
    except OSError:  # the exit code still says it
        _discard(2)
    return code


def _print_error(kind: str, message: str, code: int, problems: list[Any]) -> None:
    """Print an error for programs. An output that takes nothing leaves it to stderr and the exit code."""
    from gradstream.cli.terminal.output import print_json

    try:
        print_json({"error": {"type": kind, "message": message, "exit_code": code, "problems": problems}})
    except OSError:
        _discard(1)


def _discard(descriptor: int) -> None:
    """Send what is still buffered for stdout (1) or stderr (2) nowhere: at the program's end it would fail the same way."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def _version(wanted: bool) -> None:
    if wanted:
        from gradstream import __version__

        print(__version__)
        raise typer.Exit


_HELP = {"help_option_names": ["-h", "--help"]}
"""Subcommands take it over."""
app = typer.Typer(cls=LazyGroup, no_args_is_help=True, pretty_exceptions_show_locals=False, context_settings=_HELP)


@app.callback()
def root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version and exit"),
) -> None:
    """Train PyTorch models on parameter servers."""


if __name__ == "__main__":
    app()
