"""MPS where an operator turns it on. A small program stands in for NVIDIA's daemon: the agent starts it, and ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import psutil
import pytest

from gradstream.process.order import MpsShare
from gradstream.sandbox.probe import Lacking
from gradstream.sandbox.sandbox import Isolation, Level
from tests.orders import make_order
from tests.support import eventually
from worker_agent.machine.gpus import Gpu
from worker_agent.machine.mps import PROGRAM, Mps

DAEMON = """\
#!{python}
import json, os, sys, time
pipe = os.path.join(os.environ["CUDA_MPS_PIPE_DIRECTORY"], "control")
if sys.argv[1:] == ["-f"]:
    os.mkfifo(pipe)
    own = {{name: value for name, value in os.environ.items() if name.startswith(("CUDA", "GRADSTREAM"))}}
    with open(os.path.join(os.environ["CUDA_MPS_LOG_DIRECTORY"], "started.json"), "w") as file:
        json.dump(own, file)
    while (said := open(pipe).read()) != "quit\\n" or {deaf}:
        pass
else:
    with open(pipe, "w") as file:
        file.write(sys.stdin.read())
"""
GPUS = [Gpu(0, "one", 80 * 2**30), Gpu(1, "other", 40 * 2**30)]


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, *, deaf: bool = False) -> None:
    """Put the stand-in on PATH. `deaf`: it does not end when it is asked to."""
    folder.mkdir()
    program = folder / PROGRAM
    program.write_text(DAEMON.format(python=sys.executable, deaf=deaf))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def started(work: Path) -> dict[str, str]:
    def look() -> dict[str, str] | None:
        file = work / "mps" / "started.json"
        return json.loads(file.read_text()) if file.exists() and file.stat().st_size else None

    found = eventually(look, "the daemon to start")
    assert found
    return found


def test_the_daemon_has_folders_of_its_own_and_ends_with_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "bin", monkeypatch)
    monkeypatch.setenv("GRADSTREAM_SECRET", "none of its business")
    mps = Mps(tmp_path / "work", Isolation())
    mps.start([])
    assert mps.pid is None, "no GPU is here"
    mps.start(GPUS)
    pid = mps.pid
    mps.start(GPUS)
    assert pid is not None
    assert mps.pid == pid, "one is enough"
    found = started(tmp_path / "work")
    pipes = Path(found.pop("CUDA_MPS_PIPE_DIRECTORY"))
    assert found == {"CUDA_MPS_LOG_DIRECTORY": str(tmp_path / "work" / "mps"), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert pipes.stat().st_mode & 0o777 == 0o700
    mps.close()
    assert not psutil.pid_exists(pid)
    assert not pipes.exists()


def test_shares_of_gpus_are_bounded_and_whole_ones_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "bin", monkeypatch)
    mps = Mps(tmp_path / "work", Isolation())
    mps.start(GPUS)
    pipes = started(tmp_path / "work")["CUDA_MPS_PIPE_DIRECTORY"]
    whole, none = make_order(gpus=[1]), make_order()
    assert (mps.told(whole), mps.told(none)) == (whole, none)
    assert mps.told(make_order("server", gpus=[1], gpu_share=4)).mps == MpsShare(pipes=pipes, memory=[10 * 2**30])
    assert mps.told(make_order(gpus=[1, 1, 0], gpu_share=2)).mps == MpsShare(pipes=pipes, memory=[20 * 2**30, 40 * 2**30])
    assert mps.pid
    os.kill(mps.pid, signal.SIGKILL)
    eventually(lambda: mps.pid is None, "the end of the daemon")
    assert mps.told(make_order(gpus=[1], gpu_share=4)).mps is None, "kernels take turns without it"
    mps.close()


def test_a_daemon_that_does_not_listen_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "bin", monkeypatch, deaf=True)
    monkeypatch.setattr("worker_agent.machine.mps._END_TIMEOUT", 0.5)
    mps = Mps(tmp_path / "work", Isolation())
    mps.start(GPUS)
    started(tmp_path / "work")
    pid = mps.pid
    mps.close()
    assert pid
    assert not psutil.pid_exists(pid)


def test_the_daemon_of_a_killed_agent_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "bin", monkeypatch)
    agent = f"""
        import os, signal, time
        from pathlib import Path
        from gradstream.sandbox.sandbox import Isolation
        from worker_agent.machine.gpus import Gpu
        from worker_agent.machine.mps import Mps
        mps = Mps(Path({str(tmp_path / "work")!r}), Isolation())
        mps.start([Gpu(0, "one", 2**30)])
        while not Path({str(tmp_path / "work" / "mps" / "started.json")!r}).exists():
            time.sleep(0.01)
        print(mps.pid, mps._pipes, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", dedent(agent)], capture_output=True, text=True, timeout=60, check=False)
    pid, pipes = done.stdout.split()[-2:]
    eventually(lambda: not psutil.pid_exists(int(pid)), "the end of the daemon")
    (Path(pipes) / "control").unlink()
    Path(pipes).rmdir()


def test_a_machine_without_the_program_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Lacking, match=rf"--mps: {PROGRAM} is not on the PATH of the agent"):
        Mps(tmp_path / "work", Isolation())


@pytest.mark.parametrize("level", [Level.USER, Level.NAMESPACE])
def test_processes_with_accounts_or_memory_of_their_own_cannot_be_clients(
    level: Level, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "bin", monkeypatch)
    with pytest.raises(Lacking, match=rf"the isolation '{level}' .* set --isolation none"):
        Mps(tmp_path / "work", Isolation(level))


def test_an_agent_without_the_program_does_not_start(tmp_path: Path) -> None:
    settings = {"API_URL": "http://127.0.0.1:9", "LIVE_REDIS_URL": "redis://127.0.0.1:9", "WORK_DIR": tmp_path / "work"}
    settings |= {"MPS": True, "ISOLATION": "none"}
    environment = {**os.environ, "PATH": str(tmp_path), **{f"GRADSTREAM_{name}": str(value) for name, value in settings.items()}}
    command = [sys.executable, "-m", "worker_agent"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert f"{PROGRAM} is not on the PATH" in done.stderr
