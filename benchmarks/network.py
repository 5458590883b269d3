"""Two hosts on this machine: network namespaces joined by a line whose rate and delay can be set.

`tc tbf` limits the rate each way; the delay is netem's, or where the kernel has none, that of a small proxy in a process of its
own. Namespaces have no names and belong to the processes in them: when these end, killed or not, nothing is left.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gradstream.process.zygote.launch import die_with_parent

SERVER, WORKER = "10.77.0.1", "10.77.0.2"
_NETWORK = 0x40000000  # CLONE_NEWNET
_NONE_HAS_IT = "02:00:00:00:00:01"
"""A hardware address of no host."""
_CHUNK = 256 * 1024


class Forbidden(Exception):
    """This machine does not let us do that."""


@dataclass(frozen=True)
class Network:
    gbits: float
    """In each direction; 0: no limit."""
    delay_ms: float
    """Added to a round trip."""

    def __str__(self) -> str:
        return f"{f'{self.gbits:g} Gbit/s' if self.gbits else 'no limit'}, {self.delay_ms:g} ms"


def enter(module: str, arguments: list[str]) -> None:
    """Run `python -m module` again, as the first process of a network of its own. Does not return. Raises: Forbidden."""
    _check_tools()
    said_no = ""
    for ways in (["--net"], ["--user", "--map-root-user", "--net"]):
        tried = subprocess.run(["unshare", *ways, "true"], capture_output=True, text=True)
        if not tried.returncode:
            again = [sys.executable, "-m", module, "--inside", *arguments]
            os.execvp("unshare", ["unshare", *ways, *again])
        said_no = tried.stderr.strip()
    raise Forbidden(f"this machine lets nobody like us make network namespaces ({said_no}); run it as root")


def _check_tools() -> None:
    for tool in ("unshare", "ip", "tc"):
        if shutil.which(tool) is None:
            raise Forbidden(f"there is no `{tool}` here; on Debian: apt install util-linux iproute2")


@contextmanager
def two_hosts() -> Iterator[Hosts]:
    """Inside, this thread, and what it starts, is on the servers' host; then it returns to the network where it was.

    Needs root, as only a process without other threads may become root of its own. Raises: Forbidden."""
    _check_tools()
    before = _namespace()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NETWORK):
        os.close(before)
        raise Forbidden(f"unshare: {os.strerror(ctypes.get_errno())}; network namespaces need root")
    try:
        with closing(Hosts()) as hosts:
            yield hosts
    finally:
        _move_to(before)
        os.close(before)


class Hosts:
    """Both ends of the line. This thread is on the servers' host."""

    def __init__(self) -> None:
        """Raises: Forbidden."""
        self._holder = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE)  # ends when we do
        self._here, there = _namespace(), Path(f"/proc/{self._holder.pid}/ns/net")
        deadline = time.monotonic() + 10
        while there.stat().st_ino == os.fstat(self._here).st_ino:
            if time.monotonic() > deadline or self._holder.poll() is not None:
                raise Forbidden("the second network namespace did not come to be")
            time.sleep(0.01)
        self._there = _namespace(str(self._holder.pid))
        _run(f"ip link add gs-server type veth peer name gs-worker netns {self._holder.pid}")
        self._bring_up("gs-server", SERVER)
        with self.workers():
            self._bring_up("gs-worker", WORKER)
        self.has_tbf = self._try("tbf rate 1gbit burst 1mb latency 50ms")
        self.has_netem = self._try("netem delay 1ms")

    def close(self) -> None:
        assert self._holder.stdin is not None
        self._holder.stdin.close()
        self._holder.wait()
        for handle in (self._here, self._there):
            os.close(handle)

    @contextmanager
    def workers(self) -> Iterator[None]:
        """What this thread starts and opens inside is on the workers' host."""
        _move_to(self._there)
        try:
            yield
        finally:
            _move_to(self._here)

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Inside, all packets between the hosts are lost, without an error at either end."""
        lost = f"lladdr {_NONE_HAS_IT} nud permanent"
        self._set_neighbours("replace", lost)
        try:
            yield
        finally:
            self._set_neighbours("del", "")

    def _set_neighbours(self, how: str, settings: str) -> None:
        _run(f"ip neigh {how} {WORKER} dev gs-server {settings}")
        with self.workers():
            _run(f"ip neigh {how} {SERVER} dev gs-worker {settings}")

    def become(self, network: Network) -> None:
        self._shape("gs-server", network)
        with self.workers():
            self._shape("gs-worker", network)

    def bytes(self) -> int:
        """That have crossed the line so far, both ways, with the headers of packets."""
        for line in Path("/proc/thread-self/net/dev").read_text().splitlines():
            name, _, numbers = line.partition(":")
            if name.strip() == "gs-server":
                return int(numbers.split()[0]) + int(numbers.split()[8])
        raise AssertionError("the interface was made")

    def _bring_up(self, name: str, address: str) -> None:
        for command in (f"ip address add {address}/24 dev {name}", f"ip link set {name} up", "ip link set lo up"):
            _run(command)

    def _shape(self, name: str, network: Network) -> None:
        subprocess.run(["tc", "qdisc", "del", "dev", name, "root"], capture_output=True)
        parent = "root"
        if network.gbits and self.has_tbf:
            burst = round(max(256_000, network.gbits * 1e9 / 8 / 1000))  # several packets of 64 KiB, or a millisecond
            limit = round(network.gbits * 1e9 / 8 * 0.05) + burst
            _run(f"tc qdisc add dev {name} root handle 1: tbf rate {network.gbits:g}gbit burst {burst} limit {limit}")
            parent = "parent 1:1"
        if network.delay_ms and self.has_netem:
            _run(f"tc qdisc add dev {name} {parent} handle 10: netem delay {network.delay_ms / 2:g}ms limit 100000")

    def _try(self, what: str) -> bool:
        tried = subprocess.run(f"tc qdisc add dev gs-server root {what}".split(), capture_output=True)
        subprocess.run(["tc", "qdisc", "del", "dev", "gs-server", "root"], capture_output=True)
        return tried.returncode == 0

    def cannot(self, networks: list[Network]) -> list[str]:
        found = []
        if not self.has_tbf and any(network.gbits for network in networks):
            found.append("rates are not limited: this kernel has no tbf (module sch_tbf)")
        if not self.has_netem and any(network.delay_ms for network in networks):
            found.append(
                "delays come from a proxy before Redis, not from netem, which this kernel does not have (module sch_netem): it "
                "uses a processor, and acknowledgements of TCP are not delayed"
            )
        return found


def _namespace(of: str = "thread-self") -> int:
    return os.open(f"/proc/{of}/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _move_to(namespace: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, _NETWORK):
        raise Forbidden(f"setns: {os.strerror(ctypes.get_errno())}")


def _run(command: str) -> None:
    """Raises: Forbidden."""
    done = subprocess.run(command.split(), capture_output=True, text=True)
    if done.returncode:
        raise Forbidden(f"`{command}` was refused: {done.stderr.strip()}")


@contextmanager
def delayed(port: int, delay_ms: float, host: str = SERVER) -> Iterator[tuple[int, int]]:
    """A port of the servers' host whose bytes reach the other `port`, and come from it, half the delay later; and the pid of the
    process that does it."""
    listening = socket.create_server((host, 0), backlog=64)
    child = multiprocessing.get_context("fork").Process(
        target=_proxy, args=(listening, (host, port), delay_ms / 2000, os.getpid()), daemon=True
    )
    child.start()
    own = listening.getsockname()[1]
    listening.close()
    assert child.pid is not None, "it was started"
    try:
        yield own, child.pid
    finally:
        child.kill()
        child.join()


def _proxy(listening: socket.socket, server: tuple[str, int], seconds: float, parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # its parent ends it
    die_with_parent(parent, signal.SIGKILL)
    while True:
        local, _ = listening.accept()
        remote = socket.create_connection(server)
        for a, b in ((local, remote), (remote, local)):
            a.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            waiting: queue.Queue[tuple[float, bytes]] = queue.Queue(maxsize=1024)
            threading.Thread(target=_hear, args=(a, waiting, seconds), daemon=True).start()
            threading.Thread(target=_say, args=(b, waiting), daemon=True).start()


def _hear(source: socket.socket, waiting: queue.Queue[tuple[float, bytes]], seconds: float) -> None:
    data = b"..."
    while data:
        try:
            data = source.recv(_CHUNK)
        except OSError:
            data = b""
        waiting.put((time.monotonic() + seconds, data))


def _say(target: socket.socket, waiting: queue.Queue[tuple[float, bytes]]) -> None:
    with suppress(OSError):
        while True:
            due, data = waiting.get()
            time.sleep(max(0.0, due - time.monotonic()))
            if not data:
                break
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
