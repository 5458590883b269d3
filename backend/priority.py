"""The API goes before the jobs of its machine: each answer takes milliseconds, and users and nodes wait for it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

NICE = -10
"""Nine times the share of processor time that a job process gets, where both want it: the API's own threads compute for some
requests, and use up its share. Its event loop then waits for a processor, and all answers with it."""
_OF_SESSION = Path("/proc/self/autogroup")
"""The kernel may share processor time between sessions; then the nice value only counts within one."""


def go_first() -> None:
    """Raise the priority of this program, where its account may do so: as root, as a rule. Called before it has threads."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
        if os.getsid(0) == os.getpid():  # else the session is somebody else's, for example a terminal's
            _OF_SESSION.write_text(str(NICE))
