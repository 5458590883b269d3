"""Two machines for tests: network namespaces that share nothing but a line, with `gradstream up --host` and `gradstream join`."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import torch
from safetensors.torch import load_file

from benchmarks.network import SERVER, Hosts
from gradstream.api.jobs import Job
from gradstream.api.platform import Node
from gradstream.client import Client, Credentials
from gradstream.spec import JobSpec
from tests.platforms import USERLAND, slow_until
from tests.support import TIMEOUT, eventually

URL = f"http://{SERVER}:8000"
SECOND = "second"


class Machines:
    """The platform's machine takes two workers at once, the second one a single worker. This thread is on the first one."""

    def __init__(self, hosts: Hosts, folder: Path, cleanup: ExitStack) -> None:
        self.hosts, self._folder, self._cleanup = hosts, folder, cleanup
        folder.parent.chmod(0o711)  # isolated jobs may have an account of their own
        first = ("--data-dir", str(folder / "first"), "--writable", str(folder.parent))
        told = _ready(self._start("up", "--host", SERVER, "--slots", "2", *first))
        credentials = Credentials.load(folder / "first" / "client.json")
        assert credentials
        assert told["join"]["url"] == credentials.url == URL
        self.token_file = folder / "join-token"
        self.token_file.touch(0o600)
        self.token_file.write_text(told["join"]["token"])
        self.client = cleanup.enter_context(Client(credentials, timeout=TIMEOUT))
        [node] = self.client.nodes()
        self.first = node.name
        self.joined: subprocess.Popen[str] | None = None

    def join(self) -> None:
        """The second machine, unless it has joined already."""
        if self.joined is None or self.joined.poll() is not None:
            arguments = (
                "join",
                URL,
                "--token-file",
                str(self.token_file),
                "--name",
                SECOND,
                "--slots",
                "1",
                "--work-dir",
                str(self._folder / SECOND),
                "--writable",
                str(self._folder.parent),
            )
            with self.hosts.workers():
                self.joined = self._start(*arguments)
            told = _ready(self.joined)
            assert told == {"node": SECOND, "slots": 1, "url": URL, "pid": self.joined.pid}
        for name in (self.first, SECOND):
            self.client.resume(name)
        assert {node.name: node.status for node in self.client.nodes()} == {self.first: "ready", SECOND: "ready"}

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GRADSTREAM_")}
        environment |= {"GRADSTREAM_CONFIG_DIR": str(self._folder / "config"), "NO_COLOR": "1"}
        log = self._cleanup.enter_context((self._folder / f"{arguments[0]}.log").open("a"))
        command = [sys.executable, "-m", "gradstream", *arguments, "--json"]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
        self._cleanup.enter_context(process)
        self._cleanup.callback(_end, process)
        return process

    def node(self, name: str) -> Node:
        return next(node for node in self.client.nodes() if node.name == name)

    def submit(self, name: str, go: Path, workers: int, servers: int = 2, group: Any = 1, **fields: Any) -> Job:
        """It is slow until the file is there, so that what happens meanwhile happens in time."""
        return self.client.submit(
            JobSpec.model_validate(
                {
                    "name": name,
                    "workload": {"entrypoint": "steady:Steady", "args": slow_until(go) | {"pause": 1.0}},
                    "strategy": {"name": "adag", "lr": 0.05},
                    "stop": {"epochs": 60},
                    "checkpoint": {"every": 0.5},
                    "roles": {"worker": {"count": workers, "device": "cpu", "group": group}, "server": {"count": servers}},
                    **fields,
                }
            ),
            code=USERLAND,
        )

    def wait_for_places(self, job: Job, places: dict[str, list[str]], attempt: int = 1) -> None:
        """Wait until each of its workers and servers runs where it should: node -> roles."""

        def found() -> dict[str, list[str]]:
            of: dict[str, list[str]] = {}
            for process in self.client.processes(job.id):
                if process.attempt == attempt and process.status == "running" and process.role != "evaluator":
                    of.setdefault(process.node, []).append(process.role)
            return {node: sorted(roles) for node, roles in of.items()}

        self.eventually(job, lambda: found() == places, f"{places} in attempt {attempt}")

    def wait_for_attempt(self, job: Job, attempt: int) -> None:
        """Wait until all processes of this attempt run, wherever: those of the last one may still take a machine's room."""

        def runs() -> bool:
            now = self.client.job(job.id)
            return (now.status, now.attempt) == ("running", attempt)

        self.eventually(job, runs, f"attempt {attempt}")

    def kill_worker(self, rank: int) -> None:
        """Kill it as the kernel does where memory is short, on whichever machine it runs."""
        [worker] = self.running(f"worker-{rank}")
        worker.kill()

    def running(self, label: str) -> list[psutil.Process]:
        """Return the processes of this label, such as `worker-0/1`, on whichever machine they run."""
        name = f"gs {label}"[:15]
        return [each for each in psutil.Process().children(recursive=True) if is_alive(each) and each.name() == name]

    def weights(self, job: Job, folder: Path) -> dict[str, torch.Tensor]:
        (target := folder / str(job.id)).mkdir()
        return load_file(self.client.download(job.id, "model.safetensors", into=target))

    def wait_for_checkpoint(self, job: Job) -> None:
        self.eventually(job, lambda: "checkpoint 1 " in self.messages(job), "the first checkpoint")

    def ended(self, job: Job, go: Path) -> Job:
        go.touch()
        self.eventually(job, lambda: self.client.job(job.id).ended, "its end")
        return self.client.job(job.id)

    def eventually(self, job: Job, condition: Any, what: str) -> None:
        try:
            eventually(condition, what, timeout=2 * TIMEOUT)
        except AssertionError as error:
            raise AssertionError(f"{error}; {job.name}:\n{self.messages(job)}") from error

    def messages(self, job: Job) -> str:
        return "\n".join(f"{event.time:%H:%M:%S.%f} {event.message}" for event in self.client.events(job.id))


def _ready(process: subprocess.Popen[str]) -> dict[str, Any]:
    readable, _, _ = select.select([process.stdout], [], [], TIMEOUT)
    assert readable, f"waited {TIMEOUT:g} s for the line that says it is ready"
    line = process.stdout.readline()
    assert line, f"ended with {process.wait(TIMEOUT)}"
    told: dict[str, Any] = json.loads(line)
    return told


def _end(process: subprocess.Popen[str]) -> None:
    """Orderly if it can, so that nothing of it is left."""
    process.terminate()
    try:
        process.wait(TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
