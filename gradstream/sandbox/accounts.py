"""User ids that job processes run under, one for each while it lives."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
from pathlib import Path
from typing import NoReturn

FIRST, COUNT = 60_600, 500
"""Ids that Debian, systemd and containers leave free (60578 to 61183). They need no entry in /etc/passwd."""
_SHARED = ("/dev/shm", "/tmp", "/var/tmp")
"""Where any account may leave files."""


class LeasedUser:
    """A user id that no other job process of this machine has. A socket's name, which the kernel keeps, holds it: it is free again
    when its holder is gone."""

    def __init__(self, uid: int, lease: socket.socket) -> None:
        self.uid, self._lease = uid, lease

    def free(self) -> None:
        self._lease.close()


def lease_account() -> LeasedUser:
    """Raises: RuntimeError: all are taken."""
    for uid in range(FIRST, FIRST + COUNT):
        lease = socket.socket(socket.AF_UNIX)
        try:
            lease.bind(f"\0gradstream-account-{uid}")
        except OSError:
            lease.close()
            continue
        return LeasedUser(uid, lease)
    raise RuntimeError(f"all {COUNT} accounts for job processes of this machine are in use")


def clear_account(uid: int) -> NoReturn:
    """In a process of its own, made for this: end all processes of the account, and remove what it has left in shared folders."""
    try:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)  # all that we may signal, at once: no fork is faster
        for place in _SHARED:
            _remove_files_of(uid, Path(place))
    finally:
        os._exit(0)


def _remove_files_of(uid: int, place: Path) -> None:
    with contextlib.suppress(OSError):
        for entry in os.scandir(place):
            with contextlib.suppress(OSError, RecursionError):
                if entry.stat(follow_symlinks=False).st_uid != uid:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)
