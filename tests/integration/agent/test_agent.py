"""The agent as its own process, with a real broker, a real plane and real forks, told what to do by a tiny control plane."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from uuid import UUID

import psutil
import pytest
import redis

from gradstream.local.servers.redis import Redis
from gradstream.process.machine import REMOVED_EXIT_CODE
from gradstream.process.order import PlaneAccess
from gradstream.wire import plane
from gradstream.wire.redis import keys
from tests.integration.agent.agent_process import NODE, SLEEPER, Node, registered_node
from tests.integration.agent.control_plane import ControlPlane
from tests.orders import make_order
from tests.support import TIMEOUT, eventually

pytestmark = pytest.mark.xdist_group("agent")  # each process that runs some of these tests starts an agent of its own
STUCK_DRIVER = """
    import time, types
    from pathlib import Path

    class NVMLError(Exception): ...

    def nvmlInit(): ...
    def nvmlShutdown(): ...
    def nvmlDeviceGetCount():
        time.sleep({counting})
        return 1

    def nvmlDeviceGetHandleByIndex(index): return index
    def nvmlDeviceGetName(handle): return "stuck"
    def nvmlDeviceGetComputeRunningProcesses(handle): return []
    def nvmlDeviceGetMemoryInfo(handle): return types.SimpleNamespace(total=1 << 30, used=0)

    def nvmlDeviceGetUtilizationRates(handle):
        Path(__file__).with_name("asked").touch()
        time.sleep(3600)
"""
"""In place of NVML: it knows of a GPU after `counting` seconds, and hangs when it is asked how busy that is."""


@pytest.fixture(scope="module")
def control() -> Iterator[ControlPlane]:
    control = ControlPlane()
    yield control
    control.close()


@pytest.fixture(scope="module")
def node(control: ControlPlane, shared_redis: Redis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """One that the tests of this module share; what they leave running is ended."""
    node = Node(tmp_path_factory.mktemp("node"), control, shared_redis)
    node.start()
    eventually(lambda: control.registrations, "the registration")
    yield node
    assert node.end() == 0, node.log()


@pytest.fixture
def own_node(redis_server: Callable[..., Redis], tmp_path: Path) -> Iterator[Node]:
    with registered_node(tmp_path, redis_server()) as node:
        yield node


def test_registers_with_what_the_machine_has(node: Node) -> None:
    told = node.control.registrations[0]
    assert told["name"] == NODE
    assert told["cpus"] == os.cpu_count()
    assert told["slots"] == max(4, os.cpu_count() or 1)
    assert told["memory"] == psutil.virtual_memory().total


def test_runs_what_is_desired_and_tells_its_end_after_its_output(node: Node) -> None:
    order = node.run("print('größer', flush=True)\nraise ValueError('no luck')")
    told = node.state(order, "exited")
    assert told["exit"]["reason"] == "user_error", node.control.log(order.id)
    assert told["exit"]["code"] == 1
    assert "no luck" in told["exit"]["message"]
    assert "größer\n" in node.control.at_exit[order.id]


@pytest.mark.more
def test_messages_from_the_future_and_junk_end_neither_the_agent_nor_what_runs(own_node: Node) -> None:
    control = own_node.control
    control.more = {"moon": {"phase": "full"}}
    order = own_node.run(SLEEPER)
    pid = own_node.state(order, "running")["pid"]
    control.junk = [b"<html>a proxy</html>", b"[1, 2]", b'{"desired": [{"role": "worker"}], "heartbeat_every": 1}', b"null"]
    eventually(lambda: not control.junk, "the junk's way")
    spec = order.spec.model_dump(mode="json") | {"levitation": 3}
    control.more |= {"spec": spec}
    other = own_node.run(SLEEPER)
    told = own_node.state(other, "exited")["exit"]
    assert told["reason"] == "cannot_start"
    assert "'levitation' in spec" in told["message"]
    assert not _gone(pid), "and its order, which has become unreadable meanwhile, does not end what runs"
    assert len(control.registrations) == 1


@pytest.mark.more
def test_output_holds_up_no_heartbeat_and_no_exit_and_is_bounded(node: Node) -> None:
    """Two processes print 96 MiB each and end; a third prints a line in between."""
    flood = """
        import sys
        for number in range(96):
            sys.stdout.write(f"{number:07} {'x' * 55}\\n" * 2**14)
        print("the very end")
    """
    chatty = [node.run(flood), node.run(flood, rank=1)]
    quiet = node.run("print('a line')", rank=2)
    for order in (*chatty, quiet):
        node.state(order, "exited")
    assert node.control.at_exit[quiet.id].startswith("a line\n"), "it waits for nobody's output"
    since = len(node.control.beat_times)
    for order in chatty:
        eventually(lambda order=order: "the very end\n" in node.control.log(order.id), "the end of the output", 3 * TIMEOUT)
        text = node.control.log(order.id)
        assert text.startswith("0000000 xxx")
        assert len(text) < 72 * 2**20
    times = node.control.beat_times[since - 1 :]
    assert max((b - a for a, b in itertools.pairwise(times)), default=0.0) < 5, "heartbeats go on"
    node.control.desired = [each for each in node.control.desired if each not in (*chatty, quiet)]
    node.hint()
    folders = [node.folder / "work" / "processes" / str(order.id) for order in (*chatty, quiet)]
    eventually(lambda: not any(folder.exists() for folder in folders), "the folders to be removed")


def test_a_killed_process_is_reported_at_once(own_node: Node) -> None:
    own_node.control.heartbeat_every = 600.0  # so that only the death can be the reason for a report
    order = own_node.run(SLEEPER)
    pid = own_node.state(order, "running")["pid"]
    os.kill(pid, signal.SIGKILL)
    assert own_node.state(order, "exited")["exit"]["reason"] == "killed"


def test_the_end_of_a_worker_is_posted_on_its_plane(node: Node, shared_redis: Redis) -> None:
    client = redis.Redis.from_url(shared_redis.url, password=shared_redis.password)
    job = make_order().job_id
    order = node.order(SLEEPER, job_id=job)
    plane.create(client, order.plane_id, password="of the attempt")
    access = PlaneAccess(url=shared_redis.url, user=plane.account(order.plane_id), password="of the attempt")
    order = order.model_copy(update={"plane": access})
    node.control.desired = [*node.control.desired, order]
    node.hint()
    os.kill(node.state(order, "running")["pid"], signal.SIGKILL)

    def entries() -> list[bytes]:
        return [b" ".join(fields.values()) for _, fields in client.xrange(keys.log(order.plane_id))]

    eventually(lambda: any(b"lost" in entry for entry in entries()), "the worker's leave")
    plane.destroy(client, order.plane_id)
    client.close()


def test_what_is_no_longer_desired_is_ended_and_its_folder_removed(node: Node) -> None:
    order = node.run("import signal, time\nsignal.signal(signal.SIGTERM, lambda *_: None)\n" + SLEEPER)
    pid = node.state(order, "running")["pid"]
    folder = node.folder / "work" / "processes" / str(order.id)
    eventually(lambda: "here I am" in node.control.log(order.id), "its output")
    node.control.desired = []
    node.hint()
    eventually(lambda: _gone(pid), "the end of a process that ignores SIGTERM")
    eventually(lambda: not folder.exists(), "its folder's removal")


def test_a_bundle_is_fetched_once_for_all_processes(node: Node) -> None:
    order = node.order("raise ValueError('enough')")
    orders = [order.model_copy(update={"id": UUID(int=order.id.int + n), "rank": n}) for n in range(3)]
    node.control.desired = [*node.control.desired, *orders]
    node.hint()
    for each in orders:
        node.state(each, "exited")
    assert node.control.fetched.count(str(order.bundle)) == 1


def test_a_damaged_bundle_is_the_reason_that_is_told(node: Node) -> None:
    order = node.order("# a bundle of its own\n" + SLEEPER)
    node.control.bundles[str(order.bundle)] = b"something else"
    node.control.desired = [*node.control.desired, order]
    told = node.state(order, "exited")["exit"]
    assert told["reason"] == "cannot_start"
    assert "arrived damaged" in told["message"]


def test_while_the_control_plane_is_away_processes_go_on_and_nothing_is_lost(node: Node) -> None:
    code = """
        import time
        from pathlib import Path
        for number in range(400):
            print("line", number, flush=True)
            time.sleep(0.005)
        while not Path("go on").exists():
            time.sleep(0.01)
        print("the last line")
        raise ValueError("enough")
    """
    order = node.run(code)
    node.state(order, "running")
    eventually(lambda: "line 3\n" in node.control.log(order.id), "its first output")
    node.control.close()
    folder = node.folder / "work" / "processes" / str(order.id)
    eventually(lambda: "line 399" in (folder / "log").read_text(), "output that nobody fetches")
    (folder / "work" / "go on").touch()
    eventually(lambda: (folder / "exit.json").exists(), "its end")
    node.control.open()
    node.state(order, "exited")
    lines = [line for line in node.control.at_exit[order.id].splitlines() if line.startswith(("line", "the last"))]
    assert lines == [*(f"line {number}" for number in range(400)), "the last line"]


def test_registers_again_when_it_is_not_known_any_more(node: Node) -> None:
    before = len(node.control.registrations)
    node.control.token = "another"
    eventually(lambda: len(node.control.registrations) > before, "another registration")
    beats = node.control.beats
    eventually(lambda: node.control.beats > beats, "a heartbeat with the new token")


@pytest.mark.more
def test_a_hint_gets_through_again_after_the_broker_was_restarted_empty(own_node: Node) -> None:
    own_node.control.heartbeat_every = 600.0  # so that only a hint can be the reason for a start
    first = own_node.run(SLEEPER)
    own_node.state(first, "running")
    _kill_and_restart(own_node.live)
    own_node.open_account()  # as the controller does
    second = own_node.order(SLEEPER)
    own_node.control.desired = [first, second]

    def hinted() -> bool:
        own_node.hint()
        return second.id in own_node.control.reported

    eventually(hinted, "the start of what a hint was sent for")
    assert not _gone(own_node.state(first, "running")["pid"])


def _kill_and_restart(server: Redis) -> None:
    os.kill(server.child.pid or 0, signal.SIGKILL)
    eventually(lambda: server.child.poll() is not None, "the broker's end")
    server.start()
    server.wait()


@pytest.mark.more
def test_after_the_zygote_died_the_next_one_runs_what_is_asked(own_node: Node) -> None:
    order = own_node.run(SLEEPER)
    pid = own_node.state(order, "running")["pid"]
    os.kill(psutil.Process(pid).ppid(), signal.SIGKILL)
    assert own_node.state(order, "exited")["exit"]["reason"] == "node_lost"
    eventually(lambda: _gone(pid), "the end of what the zygote had forked")
    own_node.state(own_node.run(SLEEPER), "running")


def test_a_killed_agent_takes_its_processes_with_it(own_node: Node) -> None:
    order = own_node.run(SLEEPER)
    pid = own_node.state(order, "running")["pid"]
    own_node.end(signal.SIGKILL)
    eventually(lambda: _gone(pid), "the end of the orphan")
    own_node.start()
    eventually(lambda: len(own_node.control.registrations) == 2, "the next agent")
    eventually(lambda: not (own_node.folder / "work" / "processes" / str(order.id) / "exit.json").exists(), "a clean folder")


DAEMON = """
    import os, subprocess, time
    if not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        subprocess.Popen(["sleep", "600"], start_new_session=True)
        time.sleep(600)
    time.sleep(600)
"""


def _detached(node: Node) -> list[psutil.Process]:
    """A job process, and the processes that it has detached."""
    pid = node.state(node.run(DAEMON), "running")["pid"]

    def found() -> list[psutil.Process]:
        below = psutil.Process(pid).children(recursive=True)
        return [psutil.Process(pid), *below] if any(process.name() == "sleep" for process in below) else []

    return eventually(found, "the daemon and its child")


@pytest.mark.more
def test_what_was_detached_ends_with_a_killed_agent(own_node: Node) -> None:
    left = _detached(own_node)
    own_node.end(signal.SIGKILL)
    eventually(lambda: all(_gone(process.pid) for process in left), "the end of the daemon and its child")


def test_what_nobody_is_left_to_end_is_ended_by_the_next_agent(own_node: Node) -> None:
    left = _detached(own_node)
    zygote = left[0].parent()
    assert zygote
    ours = [psutil.Process(own_node.pid), *zygote.parents()[:1], zygote]
    for process in ours:
        process.suspend()  # so that none of them hears of another's end
    for process in ours:
        process.kill()
    own_node.end(signal.SIGKILL)
    assert not _gone(left[-1].pid), "this is what the test is about"
    own_node.start()
    eventually(lambda: all(_gone(process.pid) for process in left), "the end of the daemon and its child")
    eventually(lambda: "ended what a former agent had left running" in own_node.log(), "the line that tells of it")


def test_a_stopped_agent_ends_its_processes_and_says_so(own_node: Node) -> None:
    order = own_node.run(SLEEPER)
    pid = own_node.state(order, "running")["pid"]
    assert own_node.end() == 0
    assert _gone(pid)
    told = own_node.control.reported[order.id]
    assert told["exit"]["reason"] == "node_lost"


@pytest.mark.more
def test_a_gpu_driver_that_does_not_answer_holds_up_nothing(own_node: Node) -> None:
    driver = _with_driver(own_node, counting=0)
    eventually(lambda: len(own_node.control.registrations) == 2, "the agent with a GPU")
    assert [gpu["name"] for gpu in own_node.control.registrations[1]["gpus"]] == ["stuck"]
    order = own_node.run(SLEEPER, gpus=[0])
    own_node.state(order, "running")
    eventually((driver / "asked").exists, "the driver to be asked")
    beats = own_node.control.beats
    eventually(lambda: own_node.control.beats > beats + 3, "heartbeats")
    assert own_node.end() == 0


@pytest.mark.more
def test_a_gpu_driver_that_never_says_which_gpus_there_are_costs_the_node_only_those(own_node: Node) -> None:
    _with_driver(own_node, counting=3600, GRADSTREAM_GPUS_WITHIN="0.5")
    eventually(lambda: len(own_node.control.registrations) == 2, "the agent without its GPU")
    assert own_node.control.registrations[1]["gpus"] == []
    assert "this node is used without its GPUs" in own_node.log()
    beats = own_node.control.beats
    eventually(lambda: own_node.control.beats > beats + 2, "heartbeats")
    assert own_node.end() == 0


@pytest.mark.more
def test_an_agent_that_waits_for_its_gpus_can_be_stopped(own_node: Node) -> None:
    _with_driver(own_node, counting=3600)
    eventually(lambda: _catches(own_node.pid, signal.SIGTERM), "the agent that listens to signals")
    assert len(own_node.control.registrations) == 1
    assert own_node.end() == 0


def _with_driver(node: Node, *, counting: float, **environment: str) -> Path:
    """Start the agent again on a machine with such a driver; the driver's folder."""
    eventually(lambda: "agent ready" in node.log(), "the agent before")
    node.end()
    driver = node.folder / "driver"
    driver.mkdir()
    (driver / "pynvml.py").write_text(dedent(STUCK_DRIVER).replace("{counting}", str(counting)))
    node.start(PYTHONPATH=str(driver), **environment)
    return driver


def _catches(pid: int, number: signal.Signals) -> bool:
    status = Path(f"/proc/{pid}/status").read_text().split()
    return bool(int(status[status.index("SigCgt:") + 1], 16) >> (number - 1) & 1)


def _gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.more
def test_the_agent_of_a_removed_node_ends_its_processes_and_itself(own_node: Node) -> None:
    order = own_node.run(SLEEPER)
    pid = own_node.state(order, "running")["pid"]
    registrations = len(own_node.control.registrations)
    own_node.control.removed = True
    assert own_node._process
    assert own_node._process.wait(TIMEOUT) == REMOVED_EXIT_CODE
    assert not psutil.pid_exists(pid)
    assert len(own_node.control.registrations) == registrations, "it does not register again"
    log = (own_node.folder / "agent.log").read_text()
    assert log.count("this node was removed") == 1
    assert "The node was removed." in log
