"""`gradstream demo`: everything on this machine, and real data trained on it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradstream.cli.common import INTERRUPTED, LONG, OUTCOMES, AsJson
from gradstream.cli.platform.starting import DataDir, Port, Starting, options, stop_platform

if TYPE_CHECKING:
    from gradstream.client import Job
    from gradstream.local.platform import LocalPlatform

_MODEL = "model.safetensors"
_ENOUGH = 300
"""Seconds for a job that takes five: longer means that something is broken, and the logs say what."""


def command(
    data_dir: DataDir = None,
    port: Port = 8000,
    leave: Annotated[
        bool, typer.Option("--exit", help="Stop when the job has ended; the exit code is 0 only if it succeeded")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Start the platform on this machine and train scikit-learn's handwritten digits on it: 2 workers, 2 servers.

    Stays up until Ctrl-C, so that you can look around on its page.

    Example: gradstream demo --exit --json
    """
    from gradstream.cli.terminal.output import print_json, talk

    with _interruptible(), _started(data_dir, port) as platform:
        with _bounded(f"the job has not ended within {_ENOUGH} s; the logs in {platform.folder.logs} say what it waits for"):
            result = _train(platform)
        _tell(result)
        if not leave:
            _tell_where(result, platform.sign_in_url)
        if as_json:
            print_json(result.as_dict())
        if not leave:
            talk("\nthe platform stays up until Ctrl-C")
            platform.wait()
    raise typer.Exit(OUTCOMES[result.job.status])


@dataclass(frozen=True, slots=True)
class DemoResult:
    job: Job
    began: float
    """Seconds since the epoch: when this command was started."""
    seconds: float
    """From then to the job's end."""
    model: Path | None
    page: str
    samples_per_second: float | None

    @property
    def first_step_seconds(self) -> float | None:
        first = self.job.progress.first_step_at
        return None if first is None else first.timestamp() - self.began

    def as_dict(self) -> dict[str, Any]:
        return {
            "status": self.job.status,
            "eval_accuracy": self.job.progress.eval.get("accuracy"),
            "seconds": round(self.seconds, 2),
            "first_step_seconds": None if self.first_step_seconds is None else round(self.first_step_seconds, 2),
            "samples_per_second": None if self.samples_per_second is None else round(self.samples_per_second),
            "mean_staleness": self.job.progress.mean_staleness,
            "model_path": str(self.model) if self.model else None,
            "url": self.page,
        }


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM ends the demo the way Ctrl-C does: the platform is stopped first."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt as error:
        raise typer.Exit(INTERRUPTED) from error
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _bounded(otherwise: str) -> Iterator[None]:
    """Raises: Unavailable, `otherwise`, wherever the main thread is after _ENOUGH seconds."""
    from gradstream.errors import Unavailable

    def late(_number: int, _frame: object) -> None:
        raise Unavailable(otherwise)

    signal.signal(signal.SIGALRM, late)
    signal.alarm(_ENOUGH)
    try:
        yield
    finally:
        signal.alarm(0)


@contextmanager
def _started(data_dir: str | None, port: int) -> Iterator[LocalPlatform]:
    """A running platform; stopped at the end, whatever happens."""
    from gradstream.cli.terminal.output import talk
    from gradstream.local.platform import LocalPlatform

    chosen, starting = options(data_dir, "127.0.0.1", port, None), Starting()
    platform = LocalPlatform(chosen, on_step=starting.step, on_trouble=starting.trouble)
    talk(f"starting the platform in {chosen.data_dir}")
    try:
        with starting:
            platform.start()
        yield platform
    finally:
        talk("stopping the platform")
        stop_platform(platform)


def _train(platform: LocalPlatform) -> DemoResult:
    import psutil

    from gradstream.cli.following.follow import conclude, follow
    from gradstream.cli.jobfile.jobsource import find_job
    from gradstream.cli.jobfile.submit import submitted
    from gradstream.client import Client, Credentials
    from gradstream.errors import Unavailable

    began = psutil.Process(os.getpid()).create_time()
    credentials = Credentials.load(platform.folder.client_file)
    if credentials is None:
        raise Unavailable(f"the platform left no credentials in {platform.folder.client_file}")
    rate = _Rate()

    def retrying(_why: str) -> None:
        platform.wait(0)  # raises, if the platform itself has given up

    with Client(credentials, timeout=LONG, on_retry=retrying) as client:
        example = _example("digits")
        job = submitted(client, find_job(example / "job.yaml", None), None)
        page = f"{client.page_url}/jobs/{job.id}"
        job = follow(client, job, seen=rate.see)
        seconds = time.time() - began
        conclude(client, job)
        model = None
        if job.status == "succeeded":
            model = client.download(job.id, _MODEL, into=platform.folder.path / "models" / str(job.id))
    return DemoResult(job, began, seconds, model, page, rate.of(job))


class _Rate:
    """Samples per second over the training alone, from the states of a job as they come."""

    def __init__(self) -> None:
        self._samples = 0
        self._at = 0.0

    def see(self, job: Job) -> None:
        if job.progress.samples > self._samples:
            self._samples, self._at = job.progress.samples, time.time()

    def of(self, job: Job) -> float | None:
        first = job.progress.first_step_at
        return self._samples / (self._at - first.timestamp()) if first and self._at > first.timestamp() else None


def _example(name: str) -> Path:
    """Return an example's folder. Raises: NotFound."""
    from gradstream.errors import NotFound
    from gradstream.local.examples import examples_folder

    folder = examples_folder()
    if folder is None:
        raise NotFound(f"the example {name} is not in this installation; run the demo from a wheel or a clone of the repository")
    return folder / name


def _tell(result: DemoResult) -> None:
    from gradstream.cli.terminal.output import duration, number, talk

    if result.model:
        accuracy = number(result.job.progress.eval.get("accuracy"))
        talk(
            f"\naccuracy {accuracy} on images it has not seen, {duration(result.seconds)} after the start of the demo", "bold green"
        )
        talk(f"the model is {result.model}")


def _tell_where(result: DemoResult, sign_in: str) -> None:
    """Links, which are good for as long as the platform runs."""
    from gradstream.cli.terminal.output import talk

    talk(f"the job is at {result.page}")
    if sign_in:
        talk(f"sign in, once, within ten minutes, with {sign_in}")
