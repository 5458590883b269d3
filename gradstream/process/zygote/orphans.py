"""Processes that user code has detached (`setsid`, double forks, daemons): they end with the job process that started them.

Three levels adopt orphans, each what the one below it leaves (PR_SET_CHILD_SUBREAPER): a job process, the zygote, and the guard, a
small program that starts the zygote. While a job process lives, it adopts what its children leave. When it ends, all of that
becomes the zygote's, whose other children are job processes; so an unknown child is an orphan, and is killed. When the zygote is
killed, or the agent, the guard does the same. A child that is not reaped keeps its number, so no other process is ever hit.

    python -I -S orphans.py COMMAND...       the guard: run COMMAND; at its end, or after SIGTERM, end all that is left of it

Should all three be killed at once, the environment still says whose a process is (`OWNER`): the agent's next start ends it.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

OWNER = "GRADSTREAM_PROCESS_OWNER"
"""The environment variable that says which agent's job a process belongs to."""
WITHIN = 10.0
"""Seconds that the kernel may take to end processes that were killed."""
_PR_SET_CHILD_SUBREAPER = 36
_POLL_INTERVAL = 0.002
"""Seconds."""


def adopt(wanted: bool = True) -> None:
    """From now on, orphans among the descendants of this process become its children, or do no longer."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(wanted))


def kill_orphans(known: Container[int] = ()) -> bool:
    """Kill and reap the children of this process that are not `known`; False: there is none. Their own children follow them
    here, so call it again when SIGCHLD comes. This process must have one thread."""
    unknown = [pid for pid in _children() if pid not in known]
    for pid in unknown:
        with contextlib.suppress(PermissionError):  # another user's, started by a program with the right to become one
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return bool(unknown)


def end_all(within: float = WITHIN, known: Container[int] = ()) -> None:
    """Kill all descendants of this process, generation by generation, and reap them, but for the children that are `known`."""
    deadline = time.monotonic() + within
    while kill_orphans(known) and time.monotonic() < deadline:
        time.sleep(_POLL_INTERVAL)


@contextlib.contextmanager
def leaving_none() -> Iterator[None]:
    """End what the body has started and left, for user code that runs in a process of ours."""
    from multiprocessing.resource_tracker import _resource_tracker

    before = set(_children())
    adopt()
    try:
        yield
    finally:
        tracker = getattr(_resource_tracker, "_pid", None)  # it ends by itself, and cleans up before
        end_all(known=before | {tracker or 0})
        adopt(False)


def owner_of(folder: "Path") -> str:
    """The name under which an agent's processes are found again: kept in its folder, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "owner"
    if not file.exists():
        file.write_text(os.urandom(16).hex())
    return file.read_text()


def end_owned(owner: str, within: float = WITHIN) -> int:
    """End what an agent has left of which not even a guard is there any more; returns how many processes that were.

    Each is held by a file descriptor while its environment is read, so its number cannot become another one's in between."""
    deadline, found = time.monotonic() + within, set[int]()
    if sys.platform != "linux":
        return 0
    while (now := _owned_killed(owner)) and time.monotonic() < deadline:
        found |= now
        time.sleep(_POLL_INTERVAL)
    return len(found)


def _owned_killed(owner: str) -> set[int]:
    mark, killed = f"{OWNER}={owner}".encode(), set[int]()
    for pid in _processes():
        with contextlib.suppress(OSError):  # it has ended meanwhile, or is another user's
            handle = os.pidfd_open(pid)
            try:
                with open(f"/proc/{pid}/environ", "rb") as environment:
                    if mark in environment.read().split(b"\0") and pid != os.getpid():
                        signal.pidfd_send_signal(handle, signal.SIGKILL)
                        killed.add(pid)
            finally:
                os.close(handle)
    return killed


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:  # a kernel that does not list them
        return [pid for pid in _processes() if _parent(pid) == os.getpid()]


def _processes() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _guard(command: list[str]) -> None:
    """Run the command, and leave nothing of it behind: when it has ended, or when SIGTERM says that our own parent has."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    adopt()
    launch = os.path.join(os.path.dirname(__file__), "launch.py")
    try:
        started = [sys.executable, "-I", "-S", launch, str(os.getpid()), str(int(signal.SIGTERM)), "-", *command]
        program = subprocess.Popen(started, close_fds=False)
        os.closerange(3, 256)  # the program's socket is the program's alone: its end must be seen when it is killed
        while os.waitpid(-1, 0)[0] != program.pid:
            pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end_all()
        os._exit(0)


if __name__ == "__main__":
    _guard(sys.argv[1:])
