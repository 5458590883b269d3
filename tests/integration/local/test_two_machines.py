"""`gradstream up --host` and `gradstream join` on two machines: network namespaces that share nothing but a line."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from safetensors.torch import load_file

from benchmarks.network import SERVER, Forbidden, Hosts, two_hosts
from gradstream.api.jobs import Job
from gradstream.api.platform import Node
from gradstream.client import Client, Credentials
from gradstream.spec import JobSpec
from tests.platforms import USERLAND, slow_until
from tests.support import TIMEOUT, eventually

pytestmark = pytest.mark.xdist_group("two_machines")  # each process that runs some of these tests starts machines of its own
URL, PLANE_PORT = f"http://{SERVER}:8000", 8002
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

    def submit(self, name: str, go: Path, workers: int, servers: int = 2, **fields: Any) -> Job:
        """It is slow until the file is there, so that what happens meanwhile happens in time."""
        return self.client.submit(
            JobSpec.model_validate(
                {
                    "name": name,
                    "workload": {"entrypoint": "steady:Steady", "args": slow_until(go) | {"pause": 1.0}},
                    "strategy": {"name": "adag", "lr": 0.05},
                    "stop": {"epochs": 60},
                    "checkpoint": {"every": 0.5},
                    "roles": {"worker": {"count": workers, "device": "cpu"}, "server": {"count": servers}},
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

    def kill_worker(self, rank: int) -> None:
        """Kill it as the kernel does where memory is short, on whichever machine it runs."""
        name = f"gs worker-{rank}"[:15]
        running = [process for process in psutil.Process().children(recursive=True) if _lives(process)]
        [worker] = [process for process in running if process.name() == name]
        worker.kill()

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


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with ExitStack() as cleanup:
        try:
            hosts = cleanup.enter_context(two_hosts())
        except Forbidden as error:
            pytest.skip(f"NO TEST OF TWO MACHINES: {error}")
        yield Machines(hosts, tmp_path_factory.mktemp("machines"), cleanup)


@pytest.fixture
def machines(both: Machines) -> Machines:
    both.join()
    return both


@pytest.fixture
def go(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "go"
    (tmp_path / "go").touch()


@pytest.mark.more
def test_a_job_spreads_over_both_machines_and_trains(machines: Machines, go: Path) -> None:
    job = machines.submit("spread", go, workers=3)
    machines.wait_for_places(job, {machines.first: ["server", "worker", "worker"], SECOND: ["server", "worker"]})
    plane = f"{SERVER}:{PLANE_PORT}"
    with machines.hosts.workers():
        eventually(lambda: _connections().count(plane) >= 2, "its processes reach the data plane over the line")
    assert plane not in _connections(), "the first machine's own processes keep to the socket"
    job = machines.ended(job, go)
    assert (job.status, job.attempt, job.progress.samples) == ("succeeded", 1, job.progress.total_samples)


@pytest.mark.more
def test_a_killed_machine_is_lost_its_job_goes_on_elsewhere_and_it_joins_again(machines: Machines, go: Path) -> None:
    short = machines.submit("short", go.with_name("short"), workers=1)
    machines.wait_for_places(short, {machines.first: ["server", "server", "worker"]})
    job = machines.submit("long", go, workers=2)
    machines.wait_for_places(job, {machines.first: ["server", "worker"], SECOND: ["server", "worker"]})
    assert machines.ended(short, go.with_name("short")).status == "succeeded"
    machines.wait_for_checkpoint(job)
    assert machines.joined
    [agent] = psutil.Process(machines.joined.pid).children()
    family = [agent, *agent.children(recursive=True)]
    for program in (machines.joined, agent):
        program.kill()
    eventually(lambda: not any(_lives(process) for process in family), "the end of its processes")
    eventually(lambda: machines.node(SECOND).status == "lost", "the loss of the second machine")
    machines.wait_for_places(job, {machines.first: ["server", "server", "worker", "worker"]}, attempt=2)
    machines.join()
    job = machines.ended(job, go)
    assert (job.status, job.attempt, job.retries_used) == ("succeeded", 2, 0)
    assert job.progress.samples == job.progress.total_samples
    assert f" of attempt 1, on {machines.first}." in machines.messages(job), "from a checkpoint"


@pytest.mark.more
def test_a_drained_machine_gets_no_job_and_one_that_leaves_hands_its_jobs_on(machines: Machines, go: Path) -> None:
    machines.client.drain(machines.first)
    job = machines.submit("moved", go, workers=1)
    roles = ["server", "server", "worker"]
    machines.wait_for_places(job, {SECOND: roles})
    machines.client.resume(machines.first)
    machines.wait_for_checkpoint(job)
    assert machines.joined
    machines.joined.send_signal(signal.SIGINT)
    assert machines.joined.wait(TIMEOUT) == 0
    machines.wait_for_places(job, {machines.first: roles}, attempt=2)
    job = machines.ended(job, go)
    assert (job.status, job.retries_used) == ("succeeded", 0)
    assert f" of attempt 1, on {machines.first}." in machines.messages(job), "from a checkpoint"


BSP: dict[str, Any] = {"gate": "bsp", "optimizer": {"name": "adam"}, "strategy": {"name": "adag", "lr": 0.02}}


def test_workers_without_servers_train_on_both_machines_and_one_is_killed(machines: Machines, go: Path, tmp_path: Path) -> None:
    job = machines.submit("by-gloo", go, workers=3, servers=0, **BSP)
    machines.wait_for_places(job, {machines.first: ["worker", "worker"], SECOND: ["worker"]})
    machines.wait_for_checkpoint(job)
    machines.kill_worker(2)
    machines.wait_for_places(job, {machines.first: ["worker", "worker"], SECOND: ["worker"]}, attempt=2)
    job = machines.ended(job, go)
    assert (job.status, job.attempt, job.retries_used, job.shards) == ("succeeded", 2, 1, 1)
    assert job.progress.samples == job.progress.total_samples
    said = machines.messages(job)
    assert "They combine pushes by gloo." in said
    assert "killed by signal 9" in said
    assert "the connection to another worker broke" not in said, "the others wait for the cause"
    with_servers = machines.ended(machines.submit("by-servers", go, workers=3, servers=1, **BSP), go)
    one, other = machines.weights(job, tmp_path), machines.weights(with_servers, tmp_path)
    for name, values in one.items():
        torch.testing.assert_close(other[name], values, rtol=1e-4, atol=1e-5)


@pytest.mark.more
def test_workers_without_servers_move_from_shared_memory_to_gloo(machines: Machines, go: Path) -> None:
    machines.client.drain(SECOND)
    job = machines.submit("moves", go, workers=2, servers=0, **BSP)
    machines.wait_for_places(job, {machines.first: ["worker", "worker"]})
    assert machines.client.job(job.id).shards == 2, "each worker holds a shard, in shared memory"
    machines.wait_for_checkpoint(job)
    first_in_line = machines.submit("first-in-line", go, workers=1, priority=90)
    machines.kill_worker(1)
    machines.wait_for_places(first_in_line, {machines.first: ["server", "server", "worker"]})
    machines.client.resume(SECOND)
    machines.wait_for_places(job, {machines.first: ["worker"], SECOND: ["worker"]}, attempt=2)
    assert machines.client.job(job.id).shards == 1, "each worker holds the whole model"
    job = machines.ended(job, go)
    assert (job.status, job.attempt, job.retries_used) == ("succeeded", 2, 1)
    assert job.progress.samples == job.progress.total_samples
    assert " of attempt 1, on " in machines.messages(job), "from a checkpoint"


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


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _connections() -> list[str]:
    """Where the open TCP connections of this thread's network lead."""
    rows = [line.split() for line in Path("/proc/thread-self/net/tcp").read_text().splitlines()[1:]]
    return [_address(remote) for _, _, remote, state, *_ in rows if state == "01"]


def _address(hexadecimal: str) -> str:
    host, port = hexadecimal.split(":")
    return f"{socket.inet_ntoa(bytes.fromhex(host)[::-1])}:{int(port, 16)}"
