"""A real platform for the tests of whole jobs: what `gradstream up` starts, with a client, and with ways to break it."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psutil

from benchmarks.rows import make_join_token
from gradstream.api.history import Process
from gradstream.api.jobs import Job
from gradstream.client import Client, Credentials
from gradstream.local.options import Isolate
from gradstream.local.platform import LocalPlatform, Options
from gradstream.metrics import Point
from gradstream.spec import JobSpec
from tests.support import JOB_TIMEOUT, TIMEOUT, eventually

USERLAND = Path(__file__).parent / "userland"


def slow_until(file: Path, pause: float = 0.05) -> dict[str, Any]:
    """Arguments of a job that takes its time until this file is there: `pause` seconds for each mini-batch."""
    return {"pause": pause, "until": str(file)}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Lab:
    """One platform, and jobs on it."""

    def __init__(self, platform: LocalPlatform, client: Client) -> None:
        self.platform, self.client = platform, client

    def submit(self, name: str = "steady", *, code: Path = USERLAND, args: dict[str, Any] | None = None, **fields: Any) -> Job:
        given = {
            "name": name,
            "workload": {"entrypoint": "steady:Steady", "args": args or {}},
            "strategy": {"name": "adag", "lr": 0.05},
            "roles": {"worker": {"count": 2, "device": "cpu"}, "server": {"count": 2}},
            "stop": {"epochs": 4},
            **fields,
        }
        return self.client.submit(JobSpec.model_validate(given), code=code)

    def ended(self, job: Job, timeout: float = JOB_TIMEOUT) -> Job:
        """Wait for the job's end; if it does not come, say what happened until then."""
        try:
            return self.client.wait(job.id, timeout=timeout)
        except TimeoutError as error:
            story = "\n".join(f"{e.time:%H:%M:%S} {e.message}" for e in self.client.events(job.id))
            raise AssertionError(f"{error} after {timeout:g} s:\n{story}") from error

    def trains(self, job: Job, samples: int = 1, timeout: float = TIMEOUT) -> Job:
        """Wait until so many samples are trained."""
        return eventually(
            lambda: j if (j := self.client.job(job.id)).progress.samples >= samples or j.ended else None,
            f"{samples} samples of {job.name}",
            timeout,
        )  # type: ignore[return-value]

    def process(self, job: Job, label: str, attempt: int | None = None) -> Process:
        """The newest incarnation of a process."""
        found = [p for p in self.client.processes(job.id) if p.label == label and attempt in (None, p.attempt)]
        return max(found, key=lambda p: (p.attempt, p.incarnation))

    def messages(self, job: Job) -> str:
        return "\n".join(event.message for event in self.client.events(job.id))

    def points(self, job: Job, *names: str) -> list[Point]:
        """All points of these metrics, in the order in which they were stored."""
        return [Point(*point) for batch in self.client.metrics(job.id, names=list(names)) for point in batch.points]

    def ledger(self, job: Job) -> dict[tuple[str, int], float]:
        """The last word of each account: (`pushed`, rank) -> pushes."""
        names = [f"ledger/{outcome}" for outcome in ("pushed", "applied", "deferred", "dropped", "pending", "rolled_back")]
        return {(point.name.removeprefix("ledger/"), point.rank): point.value for point in self.points(job, *names)}

    def weights(self, job: Job, folder: Path) -> dict[str, Any]:
        from safetensors.torch import load_file

        target = folder / str(job.id)
        target.mkdir(parents=True, exist_ok=True)
        return load_file(self.client.download(job.id, "model.safetensors", into=target))

    # ---- ways to break it -------------------------------------------------------------------------------------------------

    def pids(self, label: str) -> list[int]:
        """Of the job processes that run with this label (`worker-0`), in any job of this platform."""
        found = [p for agent in self._programs("worker_agent") for p in agent.children(recursive=True)]
        return [p.pid for p in found if _name(p) == f"gs {label}"[:15]]

    def kill(self, label: str) -> None:
        [pid] = eventually(lambda: self.pids(label), f"a process {label}")
        os.kill(pid, signal.SIGKILL)

    def program(self, *words: str) -> psutil.Process:
        """The platform's own program whose command line has these words."""
        [found] = eventually(lambda: self._programs(*words), f"a program with {words}")
        return found

    def _programs(self, *words: str) -> list[psutil.Process]:
        """Those of this platform: others may run beside it, started by the same tests."""
        told = json.loads((self.platform.folder.path / "platform.json").read_text())
        mine = (str(self.platform.folder.path), str(told["run_dir"]))
        return [p for p in psutil.Process().children() if _says(p, words) and any(place in _known(p) for place in mine)]

    @contextmanager
    def frozen(self, program: psutil.Process, seconds: float) -> Iterator[None]:
        """Stop the program and what it forked for so long, as if its machine were away."""
        all_of_it = [program, *program.children(recursive=True)]
        for process in all_of_it:
            with suppress(psutil.NoSuchProcess):  # it has ended since
                process.suspend()
        try:
            yield
            time.sleep(seconds)
        finally:
            for process in all_of_it:
                with suppress(psutil.NoSuchProcess):
                    process.resume()


def _name(process: psutil.Process) -> str:
    """Of a process that lives."""
    try:
        return "" if process.status() == psutil.STATUS_ZOMBIE else process.name()
    except psutil.Error:
        return ""


def _says(process: psutil.Process, words: tuple[str, ...]) -> bool:
    try:
        return all(any(word in part for part in process.cmdline()) for word in words)
    except psutil.Error:
        return False


def _known(process: psutil.Process) -> str:
    """What its command line and environment say about where it belongs."""
    try:
        return " ".join([*process.cmdline(), *process.environ().values()])
    except psutil.Error:
        return ""


def writable_beside(folder: Path) -> Isolate:
    """The isolation that tests ask for, with the folders of all tests writable for jobs."""
    folder.parent.chmod(0o711)  # where an agent that is root gives jobs accounts of their own, these have to get there
    return Isolate(os.environ.get("GRADSTREAM_TEST_ISOLATION", "auto"), writable=(folder.parent,))


@contextmanager
def lab(folder: Path, **options: Any) -> Iterator[Lab]:
    data_dir = folder / "data"
    if "isolate" not in options:  # else the folder above stays as it is: it may be /tmp
        options["isolate"] = writable_beside(folder)
    with LocalPlatform(Options(data_dir=data_dir, port=free_port(), **options)) as platform:
        credentials = Credentials.load(platform.folder.client_file)
        assert credentials is not None, "a started platform leaves credentials"
        with Client(credentials, timeout=TIMEOUT) as client:
            yield Lab(platform, client)


@contextmanager
def stop_new_jobs(client: Client) -> Iterator[None]:
    """Stop at the end what was submitted meanwhile and still waits or runs. A test that failed leaves no slots to the next ones."""
    before = _unended(client)
    yield
    for job_id in _unended(client) - before:
        client.stop(job_id)


def _unended(client: Client) -> set[UUID]:
    queue = client.queue()
    return {job.id for job in (*queue.waiting, *queue.holding)}


def register_machine(platform: LocalPlatform, name: str) -> str:
    """A machine that registers, says nothing more, and runs nothing, as if it were gone. Returns its token."""
    secret = make_join_token(platform.folder)
    body = {"name": name, "credential": secrets.token_hex(32), "slots": 1, "cpus": 1, "memory": 1 << 30, "version": "0.1.0"}
    answer = httpx.post(f"{platform.url}/api/v1/agent/register", json=body, headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["token"])


def token_status(platform: LocalPlatform, token: str) -> int:
    """What a heartbeat with this token of a node is answered."""
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.post(f"{platform.url}/api/v1/agent/heartbeat", json={}, headers=headers).status_code
