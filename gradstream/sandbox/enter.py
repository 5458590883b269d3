"""From a bare fork into the sandbox: the last code that has the agent's rights."""

from __future__ import annotations

import os
import resource
import tempfile
from pathlib import Path

from gradstream.sandbox import door, kernel, view
from gradstream.sandbox.sandbox import Level, Network, Sandbox

_MAX_PROCESSES = 8192
"""Processes and threads of one job process together, where it has an account of its own."""


def enter(sandbox: Sandbox, folder: Path, uid: int | None) -> None:
    """Bring this process into its sandbox. It has one thread, `folder` is its own, and file descriptors 1 and 2 are its log. `uid`:
    the account that was leased for it.

    The kernel's death signal is gone afterwards if the account has changed: arm it again. Raises: OSError, naming the call."""
    _own(folder, uid)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sandbox.level is Level.NAMESPACE:
        _enter_namespaces(sandbox, folder, uid)
        os.chdir(folder)  # by its path in the new file system, no longer by the old one's
    elif sandbox.door:
        _own_door(sandbox.door, uid)
    if uid is not None:
        resource.setrlimit(resource.RLIMIT_NPROC, (_MAX_PROCESSES, _MAX_PROCESSES))
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        os.environ["USER"] = os.environ["LOGNAME"] = "gradstream"  # no table of users knows this one
    if sandbox.level is not Level.NONE:
        kernel.drop_capabilities()
        kernel.stay_inspectable()


def _own(folder: Path, uid: int | None) -> None:
    if uid is None:
        return
    os.chown(folder, uid, uid)
    for log in (1, 2):
        os.fchown(log, uid, uid)


def _own_door(path: str, uid: int | None) -> None:
    """The sockets of the platform lie in folders that are closed to this account, so it needs a door, which is for it alone."""
    if uid is not None:
        os.chown(path, uid, uid)
        os.chmod(path, 0o600)
    door.use(path)


def _enter_namespaces(sandbox: Sandbox, folder: Path, uid: int | None) -> None:
    kernel.unshare(kernel.NEW_MOUNTS)
    kernel.keep_mounts_private()
    kernel.mount("proc", "/proc", kernel.NO_SETUID | kernel.NO_DEVICES | kernel.NO_PROGRAMS)
    if os.geteuid() != 0:
        kernel.own_user_namespace()  # below the zygote's, so that no other process of this account can be looked into
    own_network = kernel.NEW_NETWORK if sandbox.network is Network.PLATFORM else 0
    kernel.unshare(kernel.NEW_MOUNTS | kernel.NEW_IPC | kernel.NEW_UTS | own_network)
    if own_network:
        kernel.raise_loopback()
    view.build(sandbox, folder, uid)
    os.environ["TMPDIR"], tempfile.tempdir = "/tmp", None
    os.environ["TRITON_CACHE_DIR"] = "/tmp/triton"  # by default below the home folder, which cannot be written to
    if sandbox.door:
        door.use(view.DOOR)
