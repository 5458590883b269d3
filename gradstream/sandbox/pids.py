"""A process namespace for each job process: when its first process ends, the kernel kills all others in it, detached or not.

The first process is a `sleep` beside the job process, not that one itself: for the kernel, signals mean less to the first process
of a namespace (`os.abort()` and `kill -9` of itself would do nothing)."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from gradstream.sandbox import kernel

_OUT = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]


@contextmanager
def new_process_namespace() -> Iterator[int]:
    """Forks inside of this context go into a new process namespace; it gives the pid of the first process there. It needs the right
    to make one, and one thread. The namespace ends if the body fails. Raises: OSError."""
    here = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    forker = os.getpid()
    kernel.unshare(kernel.NEW_PIDS)
    first = None
    try:
        first = _start_first()
        yield first
    except BaseException:
        if first is not None and os.getpid() == forker:
            end_first(first)
        raise
    finally:
        if os.getpid() == forker:
            kernel.enter_namespace(here, kernel.NEW_PIDS)
        os.close(here)


def move_into_own_namespaces() -> None:
    """For a program without root's rights that is to make process namespaces: only its caller's child goes on, in a user and a
    process namespace of its own, in which it has all capabilities. The caller stays outside, and ends as its child does.

    Raises: OSError: this machine lets only root do that."""
    kernel.own_user_namespace()
    kernel.unshare(kernel.NEW_PIDS | kernel.NEW_MOUNTS)
    kernel.keep_mounts_private()
    first = _start_first()
    if inner := os.fork():
        signal.signal(signal.SIGTERM, lambda *_: os.kill(inner, signal.SIGKILL))
        code = os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1])
        end_first(first)
        os._exit(code if code >= 0 else 128 - code)
    kernel.die_with_parent()
    kernel.mount("proc", "/proc", kernel.NO_SETUID | kernel.NO_DEVICES | kernel.NO_PROGRAMS)


def end_first(first: int) -> None:
    """Kill it, and with it all of its namespace, and reap it."""
    os.kill(first, signal.SIGKILL)
    os.waitpid(first, 0)


def _start_first() -> int:
    """With our environment, by which `orphans.end_owned` finds it if everything above it is killed at once."""
    sleep = shutil.which("sleep")
    if sleep:
        return os.posix_spawn(sleep, ["sleep", "infinity"], os.environ, file_actions=_OUT, setsigmask=[])
    waiting = [sys.executable, "-I", "-S", "-c", "import signal\nwhile True: signal.pause()"]
    return os.posix_spawn(sys.executable, waiting, os.environ, file_actions=_OUT, setsigmask=[])
