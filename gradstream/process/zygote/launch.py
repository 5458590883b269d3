"""Start a program that dies with its parent: `python -I -S launch.py PARENT SIGNAL USER PROGRAM ARGS...`

A file of its own, run before the program by `exec`: `preexec_fn` is not safe in a parent that has threads. The signal is
Linux only, and it also comes when the *thread* that started the program ends. USER is a number, or `-` for no change; it is
changed here, since another user could not start a Python that lies below /root.
"""

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int, signal_number: int) -> None:
    """Ask the kernel for `signal_number` at the end of the process `parent`, and end now if it is gone already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal_number)
        if os.getppid() != parent:
            os._exit(1)


if __name__ == "__main__":
    parent, signal_number, user, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    os.setsid()
    if user != "-":
        os.setgroups([])
        os.setgid(int(user))
        os.setuid(int(user))
    die_with_parent(parent, signal_number)  # after the change of user, which disarms it
    os.execv(command[0], command)
