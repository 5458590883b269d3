"""`gradstream run`"""

from __future__ import annotations

import signal
import sys
import traceback
from contextlib import chdir, redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from gradstream.cli.common import (
    INTERRUPTED,
    OUTCOMES,
    AsJson,
    Code,
    JobFile,
    Overrides,
    TokenFile,
    Url,
    note_no_exports,
    note_no_threads,
)
from gradstream.cli.jobfile import submit
from gradstream.cli.jobfile.jobsource import GivenJob, find_job

if TYPE_CHECKING:
    from gradstream.local_run import LocalProgress

_LOGGED = 10
"""Logged values on a line of progress."""


def command(
    job_file: JobFile,
    local: Annotated[bool, typer.Option("--local", help="Train here with plain torch: no platform, no strategy")] = False,
    overrides: Overrides = None,
    code: Code = None,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Submit a job and follow it to its end; with --local, train the same file in this process instead, as a baseline.

    Example: gradstream run job.yaml --local
    """
    if local:
        from gradstream.process.zygote.orphans import leaving_none

        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            with leaving_none():
                _local(find_job(job_file, code), overrides, as_json)
        finally:
            signal.signal(signal.SIGTERM, before)
    else:
        submit.command(job_file, overrides, code, follow=True, key=None, as_json=as_json, url=url, token_file=token_file)


def _local(given: GivenJob, overrides: list[str] | None, as_json: bool) -> None:
    from gradstream.cli.terminal.output import number, talk
    from gradstream.errors import GradstreamError, InvalidWorkload

    spec, folder = given.spec(overrides), given.folder
    given.check_code(spec, overrides, sent=False)
    note_no_exports(spec, "run --local")
    note_no_threads(spec, threads="run --local trains in one thread", peers="run --local computes each mini-batch in one process")
    talk("importing torch")
    from gradstream import local_run
    from gradstream.process.exits import UserError, explain_user_error
    from gradstream.training.replica import LossNotFinite

    last: LocalProgress | None = None
    media = local_run.LocalMedia(partial(_media_folder, Path.cwd() / f"{spec.name}.out"))
    alerts: list[str] = []
    try:
        with redirect_stdout(sys.stderr), chdir(folder):  # what the workload prints is talk; its relative paths begin there
            for last in local_run.train(spec, folder, media):
                values = "  ".join(f"eval/{name} {number(value)}" for name, value in sorted(last.evaluation.items()))
                for alert in last.alerts:
                    talk(f"alert: {alert}", "yellow")
                alerts += last.alerts
                values += "".join(f"  train/{name} {number(last.observed[name])}" for name in ("auc",) if name in last.observed)
                values += "".join(f"  {name} {number(value)}" for name, value in sorted(last.logged.items())[:_LOGGED])
                talk(f"{last.samples:,}/{last.total_samples:,} samples  loss {number(last.loss)}  {values}")
    except InvalidWorkload as error:
        _fail(str(error), error)
    except GradstreamError:
        raise
    except UserError as error:
        cause = error.__cause__
        if isinstance(cause, Exception) and not isinstance(cause, GradstreamError):
            talk("".join(_of_the_user(cause)), "red")
        _fail(explain_user_error(error), error)
    except LossNotFinite as error:
        _fail(f"{error}; {LossNotFinite.REMEDY}", error)
    except KeyboardInterrupt as error:
        raise typer.Exit(INTERRUPTED) from error
    except Exception as error:
        talk("".join(_of_the_user(error)), "red")
        raise typer.Exit(OUTCOMES["failed"]) from error
    if last:
        _print_end(last, media.folder, alerts, as_json)


def _media_folder(runs_folder: Path) -> Path:
    """Make the folder of this run's logged media, beside the runs of `gradstream train`. Raises: Conflict."""
    from gradstream.local.training import runs
    from gradstream.user_logging.files import MEDIA_FOLDER

    return runs.next_run(runs_folder) / MEDIA_FOLDER


def _print_end(last: LocalProgress, media: Path | None, alerts: list[str], as_json: bool) -> None:
    from gradstream.cli.terminal.output import number, print_json, talk

    how = {None: "done", "target": "reached its target", "patience": "stopped early, without improvement,"}[last.stopped_by]
    talk(f"{how} in {last.seconds:.2f} s of training, {number(last.samples / last.seconds)} samples/s, one process")
    if media:
        talk(f"logged media: {media}")
    if as_json:
        print_json(
            {
                "status": "succeeded",
                "seconds": last.seconds,
                "samples": last.samples,
                "loss": last.loss,
                "samples_per_second": last.samples / last.seconds,
                "eval": last.evaluation,
                "observed": last.observed,
                "logged": last.logged,
                "media": str(media) if media else None,
                "alerts": alerts,
                "target_reached": last.stopped_by == "target",
                "stopped_by": last.stopped_by,
            }
        )


def _fail(why: str, error: Exception) -> NoReturn:
    """As a job on the platform fails."""
    from gradstream.cli.terminal.output import talk

    talk(f"failed: {why}", "red")
    raise typer.Exit(OUTCOMES["failed"]) from error


def _of_the_user(error: Exception) -> list[str]:
    """The traceback of an exception in user code, from where their code begins."""
    ours = Path(__file__).parents[2]
    trace = error.__traceback__
    while trace and trace.tb_next and Path(trace.tb_frame.f_code.co_filename).is_relative_to(ours):
        trace = trace.tb_next
    return traceback.format_exception(type(error), error, trace)
