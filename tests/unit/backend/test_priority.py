"""The priority of the API, in a process of its own: the kernel lets only some accounts raise it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from backend.priority import NICE

_SAY = """
import os, sys
from backend.priority import go_first
if sys.argv[1:]:
    os.setuid(int(sys.argv[1]))
go_first()
words = open("/proc/self/autogroup").read().split() if os.path.exists("/proc/self/autogroup") else []
print(os.getpriority(os.PRIO_PROCESS, 0), words[-1] if words else "none")
"""


def _priority(*accounts: int, of_own_session: bool) -> tuple[int, str]:
    command = [sys.executable, "-c", _SAY, *map(str, accounts)]
    said = subprocess.run(command, check=True, capture_output=True, text=True, start_new_session=of_own_session)
    nice, session = said.stdout.split()
    return int(nice), session


def _may_go_first() -> bool:
    ask = f"import os; os.setpriority(os.PRIO_PROCESS, 0, {NICE})"
    return subprocess.run([sys.executable, "-c", ask], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not _may_go_first(), reason="this account may not raise a priority")
def test_api_goes_before_other_programs() -> None:
    nice, session = _priority(of_own_session=True)
    assert nice == NICE
    assert session in (str(NICE), "none")


def test_session_of_another_program_keeps_its_priority() -> None:
    session = Path("/proc/self/autogroup")
    words = session.read_text().split() if session.exists() else []  # the file is empty in a control group
    assert _priority(of_own_session=False)[1] == (words[-1] if words else "none")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another account")
def test_account_without_the_right_changes_nothing() -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    assert _priority(65534, of_own_session=True)[0] == before
