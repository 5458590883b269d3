"""The zygote with real forks: what a job process finds when it begins, and how its end is told."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from uuid import UUID

import psutil
import pytest

from gradstream.errors import Unavailable
from gradstream.process import exits
from gradstream.process.exits import ExitReason
from gradstream.process.order import ProcessOrder, Role
from gradstream.process.zygote.zygote import Event, Exited, Refused, Started, Zygote
from tests.orders import make_order
from tests.support import eventually

pytestmark = pytest.mark.xdist_group("zygote")  # each process that runs some of these tests starts a zygote of its own
LIGHT = ("torch", "numpy", "?a_package_that_is_not_there.at_all")


class Bench:
    """A zygote with one folder per process, and what was heard from it."""

    def __init__(self, zygote: Zygote, folder: Path) -> None:
        self.zygote, self.folder, self.heard = zygote, folder, list[Event]()

    def fork(self, code: str, order: ProcessOrder | None = None) -> ProcessOrder:
        """Run `code` as the module of the process's `main`."""
        order = order or make_order()
        place = self.place(order.id) / "code"
        place.mkdir(parents=True)
        (place / "body.py").write_text(dedent(code))
        self.zygote.fork(order, place.parent, entrypoint="body:main")
        return order

    def place(self, id: UUID) -> Path:
        return self.folder / str(id)

    def log(self, order: ProcessOrder) -> str:
        return (self.place(order.id) / "log").read_text()

    def pid(self, order: ProcessOrder) -> int:
        return self.hear(lambda e: isinstance(e, Started) and e.id == order.id, "the start").pid  # type: ignore[union-attr]

    def exit(self, order: ProcessOrder) -> int:
        return self.hear(lambda e: isinstance(e, Exited) and e.id == order.id, "the exit").code  # type: ignore[union-attr]

    def hear(self, wanted: Callable[[Event], bool], what: str) -> Event:
        def look() -> Event | None:
            self.heard += self.zygote.events(0.05)
            return next((event for event in self.heard if wanted(event)), None)

        found = eventually(look, what)
        assert found
        return found


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    zygote = Zygote(preload=LIGHT, fork=True)
    zygote.start()
    yield Bench(zygote, tmp_path_factory.mktemp("processes"))
    zygote.close()


@pytest.fixture(params=["fork", "spawn"])
def any_bench(request: pytest.FixtureRequest, bench: Bench, tmp_path: Path) -> Iterator[Bench]:
    """Also the way of systems where a fork is not safe."""
    if request.param == "fork":
        yield bench
        return
    zygote = Zygote(fork=False)
    zygote.start()
    yield Bench(zygote, tmp_path)
    zygote.close()


@pytest.fixture
def own_bench(tmp_path: Path) -> Iterator[Bench]:
    """One whose zygote the test may kill."""
    zygote = Zygote(preload=("numpy",))
    zygote.start()
    yield Bench(zygote, tmp_path)
    zygote.close()


@pytest.mark.parametrize(("role", "threads"), [("worker", "2"), ("evaluator", "1")])
def test_each_process_has_the_threads_of_its_role(role: Role, threads: str, bench: Bench) -> None:
    code = """
        import os, torch
        def main(order, folder):
            print(torch.get_num_threads(), *(os.environ[f"{name}_NUM_THREADS"] for name in ("OMP", "MKL", "OPENBLAS")))
            return 0
    """
    order = bench.fork(code, make_order(role))
    assert bench.exit(order) == 0
    assert bench.log(order).split() == [threads] * 4


def test_five_processes_compute_in_parallel_and_draw_their_own_numbers(bench: Bench) -> None:
    code = """
        import torch
        def main(order, folder):
            m = torch.rand(256, 256, requires_grad=True)
            (m @ m).sum().backward()   # hangs in a child of a parent that has computed
            print(torch.get_num_threads(), m[0, 0].item())
            return 0
    """
    job = make_order().job_id
    orders = [bench.fork(code, make_order(rank=rank, job_id=job)) for rank in range(5)]
    assert [bench.exit(order) for order in orders] == [0] * 5
    lines = [bench.log(order).split() for order in orders]
    assert {threads for threads, _ in lines} == {"2"}
    assert len({number for _, number in lines}) == 5
    again = bench.fork(code, make_order(rank=3, job_id=job))
    assert bench.exit(again) == 0
    assert bench.log(again).split() == lines[3]


@pytest.mark.more
def test_what_else_is_imported_ahead_may_be_missing_or_broken(tmp_path: Path) -> None:
    with (tmp_path / "zygote.log").open("wb") as log:
        zygote = Zygote(preload=(*LIGHT, "?colorsys", "?no_such_module", "?gradstream.spec:typo"), log=log)
        zygote.start()
        try:
            bench = Bench(zygote, tmp_path)
            order = bench.fork(
                """
                import sys
                def main(order, folder):
                    print("colorsys" in sys.modules)
                    return 0
            """,
                make_order(),
            )
            assert bench.exit(order) == 0
        finally:
            zygote.close()
    assert bench.log(order).split() == ["True"]
    told = (tmp_path / "zygote.log").read_text()
    assert "cannot import no_such_module ahead of jobs" in told
    assert "cannot import gradstream.spec:typo ahead of jobs" in told
    assert "colorsys" not in told


def test_an_import_that_starts_threads_is_named_as_what_forbids_a_fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "noisy.py").write_text(
        "import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
    )
    monkeypatch.chdir(tmp_path)  # which a program that is started as a module finds modules in
    zygote = Zygote(preload=("numpy", "?noisy"))
    zygote.start()
    try:
        bench = Bench(zygote, tmp_path)
        order = bench.fork("def main(order, folder): return 0", make_order())
        refused = bench.hear(lambda event: isinstance(event, Refused) and event.id == order.id, "the refusal")
        assert isinstance(refused, Refused)
        assert "GRADSTREAM_PRELOAD" in refused.message
    finally:
        zygote.close()


def test_a_process_sees_only_what_it_may(any_bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
        import json, os, sys
        def main(order, folder):
            leads = os.getsid(0) == os.getpid()
            print(json.dumps({"env": dict(os.environ), "cwd": os.getcwd(), "argv": sys.argv, "leads": leads}))
            os.system("echo from a shell; echo to stderr >&2")
            return 0
    """
    order = any_bench.fork(code, make_order(gpus=[1]))
    assert any_bench.exit(order) == 0
    first, *others = any_bench.log(order).splitlines()
    seen = json.loads(first)
    assert others == ["from a shell", "to stderr"]
    assert seen["env"]["COLOUR"] == "red"
    assert seen["env"]["CUDA_VISIBLE_DEVICES"] == "1"
    assert seen["env"]["PATH"] == os.environ["PATH"]
    assert "PYTEST_CURRENT_TEST" not in seen["env"]
    assert (seen["cwd"], seen["argv"], seen["leads"]) == (str(any_bench.place(order.id) / "work"), ["worker-0"], True)


def test_a_server_gets_neither_user_code_nor_its_environment(bench: Bench) -> None:
    order = bench.fork("def main(order, folder): return 0", make_order("server"))
    assert bench.exit(order) == exits.CANNOT_BEGIN
    found = exits.read(bench.place(order.id), exits.CANNOT_BEGIN)
    assert "No module named 'body'" in found.message
    assert found.reason is ExitReason.NODE_UNFIT, "what cannot even be imported is missing on the machine"


def test_no_secret_stands_in_an_argument_list_or_environment(bench: Bench) -> None:
    order = bench.fork("import time\ndef main(order, folder): time.sleep(600)")
    process = psutil.Process(bench.pid(order))
    shown = " ".join(process.cmdline()) + Path(f"/proc/{process.pid}/environ").read_bytes().decode()
    assert "secret" not in shown
    bench.zygote.signal(order.id, signal.SIGKILL)
    assert bench.exit(order) == -9


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("raise ValueError('no luck')", 70, "ValueError: no luck"),
        ("import sys; sys.exit(3)", 3, "ended with exit code 3 and left no reason"),
        ("import sys; sys.exit('so long')", 1, "ended with exit code 1 and left no reason"),
        ("return 0", 0, "ended with exit code 0 and left no reason"),
    ],
)
def test_every_way_to_end_is_told(bench: Bench, body: str, code: int, message: str) -> None:
    order = bench.fork(f"def main(order, folder):\n    {body}")
    assert bench.exit(order) == code
    told = exits.read(bench.place(order.id), code)
    assert told.message == message
    assert told.reason is ExitReason.INTERNAL


def test_a_signal_reaches_the_process_and_what_it_started(any_bench: Bench) -> None:
    order = any_bench.fork("""
        import subprocess, time
        def main(order, folder):
            child = subprocess.Popen(["sleep", "600"])
            (folder / "child").write_text(str(child.pid))
            time.sleep(600)
    """)
    child = eventually(lambda: _number(any_bench.place(order.id) / "child"), "the grandchild's pid")
    any_bench.zygote.signal(order.id, signal.SIGTERM)
    assert any_bench.exit(order) == -15
    eventually(lambda: _gone(child), "the grandchild's end")


def test_what_a_process_leaves_behind_ends_with_it(bench: Bench) -> None:
    order = bench.fork("""
        import subprocess
        def main(order, folder):
            (folder / "child").write_text(str(subprocess.Popen(["sleep", "600"]).pid))
            return 0
    """)
    assert bench.exit(order) == 0
    child = _number(bench.place(order.id) / "child")
    assert child
    eventually(lambda: _gone(child), "the end of the process left behind")


def test_when_the_zygote_dies_its_processes_die_and_a_new_one_goes_on(own_bench: Bench) -> None:
    order = own_bench.fork("import time\ndef main(order, folder): time.sleep(600)")
    pid = own_bench.pid(order)
    os.kill(psutil.Process(pid).ppid(), signal.SIGKILL)
    assert own_bench.exit(order) == -9
    assert not own_bench.zygote.alive
    eventually(lambda: _gone(pid), "the end of the zygote's child")
    with pytest.raises(Unavailable):
        own_bench.fork("")
    own_bench.zygote.start()
    assert own_bench.exit(own_bench.fork("def main(order, folder): return 0")) == 0


def test_closing_kills_what_runs(own_bench: Bench) -> None:
    order = own_bench.fork("""
        import signal, time
        def main(order, folder):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(600)
    """)
    pid = own_bench.pid(order)
    own_bench.zygote.close()
    eventually(lambda: _gone(pid), "the end of the child of a closed zygote")


def _number(path: Path) -> int | None:
    return int(path.read_text()) if path.exists() and path.read_text() else None


def _gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


DETACH = {
    "a session of its own": "subprocess.Popen([*SLEEP], start_new_session=True)",
    "setsid": "subprocess.run('setsid -f sleep 600 && true', shell=True)",
    "nohup in the background": "subprocess.run('nohup sleep 600 >/dev/null 2>&1 &', shell=True)",
    "a double fork that executes nothing": "daemon(lambda: time.sleep(600))",
    "a daemon that hides: other name, no files, deaf to signals": "daemon(hide)",
    "a grandchild, when its parent has ended": "daemon(lambda: (subprocess.Popen([*SLEEP], start_new_session=True),))",
    "a chain of sessions": "daemon(lambda: daemon(lambda: daemon(lambda: time.sleep(600))))",
    "a pool": "import multiprocessing as mp; mp.current_process()._config['semprefix'] = f'/detached-{os.getpid()}'; "
    "mp.get_context('spawn').Pool(2).map_async(time.sleep, [600] * 4)",
    "an emptied environment": "subprocess.Popen([*SLEEP], start_new_session=True, env={})",
}
"""Ways to detach a process, as user code would take them."""
DAEMONS = """
    import ctypes, os, signal, subprocess, sys, time
    from pathlib import Path
    SLEEP = ("sleep", "600")
    def daemon(work):
        if os.fork():
            return
        os.setsid()
        if os.fork():
            os._exit(0)
        work()
        time.sleep(600)
    def hide():
        ctypes.CDLL(None).prctl(15, b"sshd")
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        os.closerange(0, 256)
        os.chdir("/")
        os.setpgid(0, 0) if os.getpid() != os.getsid(0) else None
        time.sleep(600)
    def main(order, folder):
        {detach}
        (folder / "detached").touch()
        while not (folder / "go").exists():
            time.sleep(0.01)
        return 0
"""


def detached(bench: Bench, how: str) -> tuple[ProcessOrder, list[psutil.Process]]:
    """A process that has detached something, and all that it has started."""
    order = bench.fork(dedent(DAEMONS).format(detach=how))
    pid = bench.pid(order)
    eventually(lambda: (bench.place(order.id) / "detached").exists(), "the detaching")

    def settled() -> list[psutil.Process]:
        """Nobody between those that sleep and their job process goes on forking; some sleep."""
        found = psutil.Process(pid).children(recursive=True)
        seen = {status(process) for process in found}
        return found if {psutil.STATUS_SLEEPING} <= seen <= {psutil.STATUS_SLEEPING, psutil.STATUS_ZOMBIE} else []

    return order, eventually(settled, "what was detached")


def status(process: psutil.Process) -> str:
    try:
        return process.status() if process.is_running() else psutil.STATUS_DEAD
    except psutil.NoSuchProcess:
        return psutil.STATUS_DEAD


def gone(processes: list[psutil.Process]) -> bool:
    return all(status(process) in (psutil.STATUS_DEAD, psutil.STATUS_ZOMBIE) for process in processes)


@pytest.mark.parametrize("how", DETACH.values(), ids=DETACH.keys())
def test_what_user_code_detaches_ends_with_its_process(how: str, bench: Bench) -> None:
    order, left = detached(bench, how)
    pid = bench.pid(order)
    assert not gone(left), "it lives as long as its process does"
    (bench.place(order.id) / "go").touch()
    assert bench.exit(order) == 0
    eventually(lambda: gone(left), "the end of what was detached")
    for semaphore in Path("/dev/shm").glob(f"sem.detached-{pid}-*"):  # of the pool, which was killed
        semaphore.unlink()


def test_what_is_detached_ends_with_a_killed_process_and_others_go_on(bench: Bench) -> None:
    calm, calm_left = detached(bench, DETACH["a chain of sessions"])
    order, left = detached(bench, DETACH["a daemon that hides: other name, no files, deaf to signals"])
    os.kill(bench.pid(order), signal.SIGKILL)
    assert bench.exit(order) == -signal.SIGKILL
    eventually(lambda: gone(left), "the end of what was detached")
    assert not gone(calm_left), "another process's children are not touched"
    (bench.place(calm.id) / "go").touch()
    assert bench.exit(calm) == 0
    eventually(lambda: gone(calm_left), "the end of the other's")


@pytest.mark.few(1)
@pytest.mark.parametrize("victim", ["the zygote", "its guard"])
def test_what_is_detached_ends_when_a_program_of_ours_is_killed(victim: str, own_bench: Bench) -> None:
    order, left = detached(own_bench, DETACH["a chain of sessions"])
    zygote = psutil.Process(own_bench.pid(order)).parent()
    assert zygote
    guard = zygote.parent()
    assert guard
    (zygote if victim == "the zygote" else guard).kill()
    assert own_bench.exit(order) == -signal.SIGKILL
    eventually(lambda: gone([zygote, guard, *left]), "the end of all")


def test_closing_ends_what_was_detached(own_bench: Bench) -> None:
    _, left = detached(own_bench, DETACH["setsid"])
    own_bench.zygote.close()
    assert gone(left)
