"""`gradstream train`: all processes of a job on this machine, over an embedded Redis, without a control plane."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from gradstream.cli.common import OUTCOMES, AsJson, Code, JobFile, Overrides, note_no_exports, warn


def command(
    job_file: JobFile,
    overrides: Overrides = None,
    code: Code = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="New or empty folder for the model, checkpoints and logs; default: <job name>.out/<number of the run> here"
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train a job file with all its processes on this machine. Ctrl-C and SIGTERM stop the workers, and keep the model so far.

    Example: gradstream train examples/digits/job.yaml --set roles.worker.count=4"""
    from gradstream.advise.machines import too_many_threads
    from gradstream.cli.jobfile.jobsource import find_job
    from gradstream.cli.terminal.output import print_json, talk
    from gradstream.local.training import runs
    from gradstream.local.training.trainer import Trainer

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    given = find_job(job_file, code)
    spec, where = given.spec(overrides), given.folder
    warn(spec)
    note_no_exports(spec, "gradstream train")
    if spec.roles.worker.group.machines > 1:
        talk("note: roles.worker.group.machines: gradstream train runs each group on this machine; gradstream submit spreads it")
        spec = spec.on_one_machine()
    for warning in too_many_threads(spec, "this machine", spec.roles.worker.count, os.cpu_count() or 1):
        talk(f"warning: {warning.pointer}: {warning.text}", "yellow")
    given.check_code(spec, overrides, sent=False)
    folder = out or runs.next_run(Path(f"{spec.name}.out"))
    try:
        with Trainer(spec, where, folder, talk=sys.stderr) as trainer:
            result = trainer.run()
    finally:
        if out is None:
            runs.drop_if_unused(folder)
    if as_json:
        print_json(result)
    raise typer.Exit(OUTCOMES[result["status"]])
