"""The zygote: a process that has imported torch and everything else a job process needs, and forks them on request.

    python -m gradstream.process.forkserver FD fork|spawn MODULE...

It never computes and never asks for a GPU: a parent that ran one parallel tensor operation gives children that hang in
their first, and a parent that initialised CUDA gives children that cannot use it. It has one thread, checked before each
fork. Five processes are at their first optimiser step 0.1 s after the request instead of 9 s.

Over the socket FD, one JSON object a line:

| in                                                | out                                     |
|---------------------------------------------------|-----------------------------------------|
|                                                   | {ready: true} once everything is imported |
| {fork: id, order: json, folder, entrypoint}       | {started: id, pid} or {refused: id, message} |
| {signal: id, number}                              |                                         |
|                                                   | {exited: id, code}: negative for a signal |

When the socket closes, or its guard (`orphans`) is gone, it kills its children and what they have left behind, and ends.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import setproctitle

from gradstream.process import orphans
from gradstream.process.begin import begin


class ForkServer:
    def __init__(self, connection: socket.socket, fork: bool) -> None:
        self._connection, self._fork = connection, fork
        self._ids: dict[int, str] = {}
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
        for pid in self._ids:
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
            return self._connection.recv(65536)
        except ConnectionResetError:
            return b""

    def _handle(self, request: dict[str, Any]) -> None:
        if "signal" in request:
            for pid, id in self._ids.items():
                if id == request["signal"] and not _signal_group(pid, request["number"]):
                    os.kill(pid, request["number"])  # not reaped yet, so the number is still its own
            return
        if "fork" not in request:
            return  # of a version that asks for more
        id = request["fork"]
        try:
            pid = self._start(request)
        except (OSError, RuntimeError) as error:
            self.say(refused=id, message=f"{type(error).__name__}: {error}")
        else:
            self._ids[pid] = id
            self.say(started=id, pid=pid)

    def _start(self, request: dict[str, Any]) -> int:
        if not self._fork:
            return _spawn(request)
        if (threads := _threads()) != 1:
            raise RuntimeError(
                f"the zygote has {threads} threads, so a fork could hang: something that it imports starts them "
                "(see GRADSTREAM_PRELOAD of this machine's agent)"
            )
        parent = os.getpid()
        if pid := os.fork():
            return pid
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        for end in (self._wake, self._woken):
            os.close(end)
        self._connection.close()
        begin(request["order"], Path(request["folder"]), request["entrypoint"], parent)

    def _reap(self) -> None:
        """Report who ended. What it started itself, and left behind, ends with it, also what it had detached."""
        for pid in list(self._ids):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                _signal_group(pid, signal.SIGKILL)
                self.say(exited=self._ids.pop(pid), code=os.waitstatus_to_exitcode(status))
        if sys.platform == "linux":
            orphans.kill_orphans(self._ids)


def _spawn(request: dict[str, Any]) -> int:
    process = subprocess.Popen([sys.executable, "-m", "gradstream.process.begin"], stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(json.dumps({**request, "parent": os.getpid()}).encode() + b"\n")
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
    """Import `modules`; of those with a leading `?`, what cannot be imported is told and left out."""
    for name in modules:
        try:
            importlib.import_module(name.lstrip("?"))
        except Exception as error:
            if not name.startswith("?"):
                raise
            sys.stderr.write(f"zygote: cannot import {name[1:]} ahead of jobs: {type(error).__name__}: {error}\n")
    gc.collect()
    gc.freeze()  # a collection in a child would else touch, and so copy, every page


def main(argv: list[str]) -> None:
    fd, how, modules = int(argv[0]), argv[1], argv[2:]
    setproctitle.setproctitle(f"gradstream zygote ({how})")  # a job process could not any more: it empties its environment first
    if how == "fork":
        _preload(modules)
    server = ForkServer(socket.socket(fileno=fd), fork=how == "fork")
    server.say(ready=True)
    server.serve()
    os._exit(0)  # without taking torch apart, which takes a second


if __name__ == "__main__":
    main(sys.argv[1:])
