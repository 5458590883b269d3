"""`gradstream submit`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gradstream.cli.common import LONG, AsJson, Code, JobFile, Overrides, TokenFile, Url, connect, exit_with, warn

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradstream.cli.jobfile.jobsource import GivenJob
    from gradstream.client import Client, Job


_UNCONFIRMED = "Interrupted before the platform confirmed the job; `gradstream jobs` lists it if it arrived."


def command(
    job_file: JobFile,
    overrides: Overrides = None,
    code: Code = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Show progress until the end; Ctrl-C detaches")] = False,
    key: Annotated[
        str | None, typer.Option("--idempotency-key", help="Key of this submission: the same key returns the same job")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Dry run: placement, staleness, traffic, memory")] = False,
    list_files: Annotated[bool, typer.Option("--list", help="Only list the files to send, and those left out")] = False,
    measure: Annotated[bool, typer.Option("--measure", help="Like --plan, with the model's size and speed measured here")] = False,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Submit a job file with the code beside it. Prints the job's id; with --follow, ends like `gradstream wait`.

    Example: gradstream submit job.yaml --set roles.worker.count=4 --follow
    """
    from gradstream.bundle import pack
    from gradstream.cli.following.detaching import detaching
    from gradstream.cli.jobfile.jobsource import find_job, list_bundle
    from gradstream.cli.jobfile.plan import show_plan
    from gradstream.cli.terminal.output import print_json, talk

    given = find_job(job_file, code)
    if list_files:
        list_bundle(pack(given.code), as_json=as_json)
        return
    if plan or measure:
        with connect(url, token_file) as client:
            show_plan(client, given, overrides, measure=measure, as_json=as_json)
        return
    with (
        detaching(_UNCONFIRMED, "follow", "stop") as know,
        connect(url, token_file, timeout=LONG if follow else 10.0) as client,
    ):
        job = submitted(client, given, overrides, key)
        know(job)
        talk(f"{job.name} is {job.status}; {client.page_url}/jobs/{job.id}")
        if not as_json:
            print(job.id, flush=True)
        if follow:
            job = _follow(client, job, know)
        if as_json:
            print_json(job.as_dict())
    if follow:
        exit_with(job)


def _follow(client: Client, job: Job, know: Callable[[Job], None]) -> Job:
    """Show the job until it has ended, and how. `know` is called with each state of it."""
    from gradstream.cli.following.follow import conclude, follow

    ended = follow(client, job, seen=know)
    conclude(client, ended)
    return ended


def submitted(client: Client, given: GivenJob, overrides: list[str] | None, key: str | None = None) -> Job:
    """Raises: InvalidJob, InvalidBundle before anything is sent."""
    from gradstream.bundle import pack
    from gradstream.cli.jobfile.jobsource import tell_bundle

    spec = given.spec(overrides)
    warn(spec)
    packed = pack(given.code)
    given.check_code(spec, overrides, sent=True)
    packed.require(spec.workload.entrypoint)
    is_new = not client.has_bundle(packed.hash)
    bundle = client.upload(packed)
    job = client.submit(spec, code=given.code, bundle=bundle, key=key, source=given.text, overrides=overrides or [])
    tell_bundle(packed, sent=is_new)
    return job
