"""A loop that hangs ends its process, also where the GIL is held; one that is busy does not."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, re, sys, time
from backend.watchdog import watched

async def main():
    async with watched(1.0):
        for _ in range(4):
            await asyncio.sleep(0.3)
            time.sleep(0.1)
        print("went round", flush=True)
        {hang}
    time.sleep(1.5)
    print("is not watched any more", flush=True)

asyncio.run(main())
"""


@pytest.mark.few(1)
@pytest.mark.parametrize("hang", ["time.sleep(60)", "re.match('(a|a)*b', 'a' * 40)"], ids=["waits", "holds the GIL"])
def test_a_loop_that_hangs_ends_its_process_with_its_stack(hang: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(hang=hang)], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (1, "went round\n")
    assert "Timeout" in done.stderr
    assert "in main" in done.stderr


@pytest.mark.more
def test_afterwards_nothing_ends_it() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(hang="pass")], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (0, "went round\nis not watched any more\n")
