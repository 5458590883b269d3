"""System calls of Linux that Python 3.11 has no function for. Each raises OSError, naming the call."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct
from pathlib import Path

NEW_MOUNTS, NEW_UTS, NEW_IPC, NEW_USER, NEW_PIDS, NEW_NETWORK = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
READ_ONLY, NO_SETUID, NO_DEVICES, NO_PROGRAMS = 1, 2, 4, 8
"""Attributes of a mount; `mount` takes the same numbers as flags."""
_MS_REC, _MS_PRIVATE = 0x4000, 1 << 18
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
"""Numbers of system calls that came after all architectures agreed on them."""
_HERE, _EMPTY_PATH, _RECURSIVE, _CLONE, _CLOSE_ON_EXEC, _FROM_DESCRIPTOR = -100, 0x1000, 0x8000, 1, 0x80000, 4
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
_CAPABILITIES_V3 = 0x20080522
_SIOCSIFFLAGS, _UP = 0x8914, 0x41


def unshare(namespaces: int) -> None:
    _check(_libc().unshare(namespaces), "unshare")


def enter_namespace(descriptor: int, kind: int) -> None:
    _check(_libc().setns(descriptor, kind), "setns")


def own_user_namespace() -> None:
    """Enter a new user namespace, in which this process keeps its user and has all capabilities. It must have one thread."""
    uid, gid = os.geteuid(), os.getegid()
    unshare(NEW_USER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def mount(kind: str, target: str, flags: int = 0, options: str = "") -> None:
    """A new file system of this kind."""
    _check(_libc().mount(kind.encode(), target.encode(), kind.encode(), flags, options.encode()), f"mount {kind} on {target}")


def keep_mounts_private() -> None:
    """No mount that is made here or elsewhere from now on is seen on the other side."""
    _check(_libc().mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None), "mount --make-rprivate /")


def clone_mount(path: str) -> int:
    """Return a descriptor for `attach` of what `path` shows now, with all mounts below, whatever hides the path later."""
    flags = _CLONE | _CLOSE_ON_EXEC | _RECURSIVE
    return _check(_libc().syscall(_OPEN_TREE, _HERE, ctypes.c_char_p(os.fsencode(path)), flags), f"open_tree {path}")


def attach(clone: int, target: str) -> None:
    """Mount what was cloned, and close the descriptor."""
    path = ctypes.c_char_p(os.fsencode(target))
    _check(_libc().syscall(_MOVE_MOUNT, clone, ctypes.c_char_p(b""), _HERE, path, _FROM_DESCRIPTOR), f"move_mount to {target}")
    os.close(clone)


def restrict(what: str | int, attributes: int, *, recursive: bool = True) -> None:
    """Add attributes to the mount at a path, or to one that was cloned, and by default to all below."""
    attr = struct.pack("QQQQ", attributes, 0, 0, 0)
    at, path = (what, b"") if isinstance(what, int) else (_HERE, os.fsencode(what))
    flags = (_RECURSIVE if recursive else 0) | (_EMPTY_PATH if isinstance(what, int) else 0)
    done = _libc().syscall(_MOUNT_SETATTR, at, ctypes.c_char_p(path), flags, ctypes.c_char_p(attr), len(attr))
    _check(done, f"mount_setattr {what}")


def raise_loopback() -> None:
    """Switch on the loopback interface of a new network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", _UP))


def drop_capabilities() -> None:
    """All of them, for good: no program that this process starts has or gets any."""
    libc = _libc()
    capability = 0
    while libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    header = struct.pack("Ii", _CAPABILITIES_V3, 0)
    _check(libc.capset(ctypes.c_char_p(header), ctypes.c_char_p(bytes(24))), "capset")
    _check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)")


def die_with_parent() -> None:
    """End by SIGKILL when the parent ends. A process that changes its user has to call it again."""
    _check(_libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL), "prctl(PR_SET_PDEATHSIG)")


def stay_inspectable() -> None:
    """Give a process that has changed its user its own files below /proc/self back."""
    _check(_libc().prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl(PR_SET_DUMPABLE)")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, call: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
    return result
