"""The zygote: a process that has imported torch and everything else a job process needs, and forks them on request.

    python -m gradstream.process.zygote.forkserver FD fork|spawn|fork-apart MODULE...

`fork-apart`: in namespaces of its own, so that it may make some for job processes without being root.

It never computes and never asks for a GPU: a parent that ran one parallel tensor operation gives children that hang in
their first, and a parent that initialised CUDA gives children that cannot use it. It has one thread, checked before each
fork. Five processes are at their first optimiser step 0.1 s after the request instead of 9 s.

Over the socket FD, one JSON object a line:

| in                                                | out                                     |
|---------------------------------------------------|-----------------------------------------|
|                                                   | {ready: true} once everything is imported |
| {fork: id, folder, entrypoint, sandbox, tables}, and a descriptor | {started: id, pid} or {refused: id, message} |
| {signal: id, number}                              |                                         |
|                                                   | {exited: id, code}: negative for a signal |

The order comes as a file, which only the forked process reads: what the zygote has read, all its children have in their memory.
When the socket closes, or its guard (`orphans`) is gone, it kills its children and what they have left behind, and ends.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import setproctitle

from gradstream.center.tables import kernel_cache
from gradstream.process.begin import begin
from gradstream.process.exits import CANNOT_BEGIN
from gradstream.process.zygote import orphans
from gradstream.programs.imports import without_collector
from gradstream.sandbox import pids
from gradstream.sandbox.accounts import LeasedUser, clear_account, lease_account
from gradstream.sandbox.sandbox import Level, Sandbox


@dataclass(frozen=True, slots=True)
class _Child:
    id: str
    first: int | None
    """The first process of its namespace."""
    account: LeasedUser | None


class ForkServer:
    def __init__(self, connection: socket.socket, fork: bool, machine: int | None = None) -> None:
        """`machine`: the folder /proc of the machine, if this process is in a namespace of its own."""
        self._connection, self._fork, self._machine = connection, fork, machine
        connection.set_inheritable(False)
        self._orders = deque[int]()
        """Descriptors that came, for the requests that come with them."""
        self._children: dict[int, _Child] = {}
        self._beside: dict[int, LeasedUser | None] = {}
        """Children that are no job processes, with the account that is free when they have ended."""
        self._wake, self._woken = os.pipe()
        for end in (self._wake, self._woken):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # a handler, so that the wake-up pipe below gets its byte
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        self._guard_gone = False
        signal.signal(signal.SIGTERM, self._end)
        orphans.adopt()

    def serve(self) -> None:
        """Until the other side closes the socket, or SIGTERM."""
        rest = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._connection, selectors.EVENT_READ)
            selector.register(self._wake, selectors.EVENT_READ)
            while not self._guard_gone:
                ready = {key.fileobj for key, _ in selector.select()}
                if self._wake in ready:
                    os.read(self._wake, 4096)
                    self._reap()
                if self._connection in ready:
                    received = self._receive()
                    if not received:
                        break
                    *lines, rest = (rest + received).split(b"\n")
                    for line in lines:
                        self._handle(json.loads(line))
        for pid in self._children:
            if not _signal_group(pid, signal.SIGKILL):
                os.kill(pid, signal.SIGKILL)
        if sys.platform == "linux":
            orphans.end_all()

    def _end(self, *_: object) -> None:
        self._guard_gone = True

    def say(self, **message: object) -> None:
        try:
            self._connection.sendall(json.dumps(message).encode() + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            pass  # nobody listens any more: `serve` finds the socket closed and ends

    def _receive(self) -> bytes:
        try:
            received, orders, _, _ = socket.recv_fds(self._connection, 65536, 16)
        except ConnectionResetError:
            return b""
        self._orders.extend(orders)
        return received

    def _handle(self, request: dict[str, Any]) -> None:
        if "signal" in request:
            for pid, child in self._children.items():
                if child.id == request["signal"] and not _signal_group(pid, request["number"]):
                    os.kill(pid, request["number"])  # not reaped yet, so the number is still its own
            return
        if "fork" not in request:
            return  # of a version that asks for more
        id, order = request["fork"], self._orders.popleft()
        try:
            pid = self._start(request, order)
        except (OSError, RuntimeError) as error:
            self.say(refused=id, message=f"{type(error).__name__}: {error}")
        else:
            self.say(started=id, pid=pid)
        finally:
            os.close(order)

    def _start(self, request: dict[str, Any], order: int) -> int:
        """Returns the process's number on this machine."""
        if not self._fork:
            pid = _spawn(request, order)
            self._children[pid] = _Child(request["fork"], None, None)
            return pid
        if request.get("tables"):
            load_kernels()
        if (threads := _threads()) != 1:
            raise RuntimeError(
                f"the zygote has {threads} threads, so a fork could hang: something that it imports starts them "
                "(see GRADSTREAM_PRELOAD of this machine's agent)"
            )
        sandbox = Sandbox.from_json(request["sandbox"]) if request.get("sandbox") else None
        account = lease_account() if sandbox and sandbox.account else None
        try:
            with ExitStack() as stack:
                apart = sandbox is not None and sandbox.level is Level.NAMESPACE
                first = stack.enter_context(pids.new_process_namespace()) if apart else None
                parent = 0 if apart else os.getpid()
                told, tell = os.pipe()
                if not (pid := os.fork()):
                    try:
                        self._leave(tell, order)
                        uid = account.uid if account else None
                        begin(_read(order), Path(request["folder"]), request["entrypoint"], parent, sandbox, uid)
                    finally:
                        os._exit(CANNOT_BEGIN)  # nothing may unwind into the zygote's loop
        except BaseException:
            if account:
                account.free()
            raise
        self._children[pid] = _Child(request["fork"], first, account)
        if first is not None:
            self._beside[first] = None
        os.close(tell)
        with os.fdopen(told, "rb") as number:
            return int(number.read() or pid)

    def _leave(self, tell: int, order: int) -> None:
        """In the child: let go of what is the zygote's."""
        number = os.readlink("self", dir_fd=self._machine) if self._machine is not None else ""
        os.write(tell, number.encode())
        os.close(tell)
        signal.set_wakeup_fd(-1)
        for reset in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM):
            signal.signal(reset, signal.SIG_DFL)
        for descriptor in map(int, os.listdir("/proc/self/fd")):
            if descriptor > 2 and descriptor != order:  # sockets that hold accounts, orders of others, what the zygote waits with
                with contextlib.suppress(OSError):
                    os.close(descriptor)

    def _reap(self) -> None:
        """Report processes that ended. Their descendants end with them, also detached ones."""
        for pid in list(self._children):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                _signal_group(pid, signal.SIGKILL)
                child = self._children.pop(pid)
                self._end_rest(child)
                self.say(exited=child.id, code=os.waitstatus_to_exitcode(status))
        for pid in list(self._beside):
            if os.waitpid(pid, os.WNOHANG)[0] and (account := self._beside.pop(pid)):
                account.free()
        if sys.platform == "linux":
            orphans.kill_orphans({*self._children, *self._beside})

    def _end_rest(self, child: _Child) -> None:
        """End what runs on in its namespace, or under its account."""
        if child.first in self._beside:
            os.kill(child.first, signal.SIGKILL)
            self._beside[child.first] = child.account
        elif child.first is not None and child.account:
            child.account.free()  # the namespace has ended already
        elif child.account:
            self._beside[self._start_clearing(child.account.uid)] = child.account

    def _start_clearing(self, uid: int) -> int:
        if pid := os.fork():
            return pid
        clear_account(uid)


def _read(order: int) -> str:
    """Its text; the descriptor is the caller's no more."""
    with os.fdopen(order, encoding="utf-8") as file:
        return file.read()


def _spawn(request: dict[str, Any], order: int) -> int:
    process = subprocess.Popen([sys.executable, "-m", "gradstream.process.begin"], stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(json.dumps({**request, "order": _read(os.dup(order)), "parent": os.getpid()}).encode() + b"\n")
    process.stdin.close()
    process.returncode = 0  # the exit is collected by `_reap`, which needs the status that Popen would swallow
    return process.pid


def _signal_group(pid: int, number: int) -> bool:
    """False if there is no such group: the process has not made it yet, or all of it is gone."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # what macOS says of a group of zombies
        return True
    return True


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))


def _preload(modules: list[str]) -> None:
    """Import `modules`; of those with a leading `?`, report and leave out any that cannot be imported."""
    with without_collector():  # a collection in a child would else touch, and so copy, every page
        for name in modules:
            try:
                importlib.import_module(name.lstrip("?"))
            except Exception as error:
                if not name.startswith("?"):
                    raise
                sys.stderr.write(f"zygote: cannot import {name[1:]} ahead of jobs: {type(error).__name__}: {error}\n")


def load_kernels() -> None:
    """Load the kernels of embedding tables, which each process of such a job would else do (1 to 2 s of CPU). Jobs without tables
    neither wait for them nor have them in their memory. As long as a program of the agent compiles them, this does nothing."""
    if "gradstream.center.tables.compiling" in sys.modules or not kernel_cache.is_complete():
        return
    try:
        with without_collector():
            importlib.import_module("gradstream.model.compile_kernels")
            sys.modules["gradstream.center.tables.compiling"].load_kernels()
    except Exception as error:  # a damaged cache: then processes compile what they call
        sys.stderr.write(f"zygote: cannot load kernels ahead of jobs: {type(error).__name__}: {error}\n")


def main(argv: list[str]) -> None:
    fd, how, modules = int(argv[0]), argv[1], argv[2:]
    setproctitle.setproctitle(f"gradstream zygote ({how})")  # a job process could not any more: it empties its environment first
    machine = None
    if how == "fork-apart":
        machine = os.open("/proc", os.O_PATH | os.O_DIRECTORY)
        pids.move_into_own_namespaces()
    if how != "spawn":
        _preload(modules)
    server = ForkServer(socket.socket(fileno=fd), fork=how != "spawn", machine=machine)
    server.say(ready=True)
    server.serve()
    os._exit(0)  # without taking torch apart, which takes a second


if __name__ == "__main__":
    main(sys.argv[1:])
