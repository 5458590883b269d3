"""The attacks of `test_isolation.py` at the level `user`: an account for each job process, and no namespaces."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from gradstream.local.folder import DataFolder
from gradstream.local.options import Isolate
from tests.conftest import ROOT
from tests.jobs.opened import closed_python, opened
from tests.jobs.test_isolation import Attacked, check_end
from tests.platforms import Lab, lab
from tests.userland.attacker import ATTACKS

OPEN = {
    "sees_processes_of_others",
    "reads_command_lines_of_others",
    "connects_to_ports_of_the_machine",
    "connects_to_the_internet",
    "sees_shared_memory_of_others",
}
"""An account alone does not hold these back: the sight of processes and of names in /dev/shm, and
the network."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a process an account of its own"),
]


@pytest.fixture(scope="module")
def by_account() -> Iterator[Lab]:
    """A platform in a folder that other accounts can pass through, as this level needs."""
    if closed_python():
        pytest.skip("Python lies below a closed folder; test_attacks_are_held_back_where_python_is_opened tries all of this")
    with TemporaryDirectory(dir="/tmp") as name:
        writable, folder = Path(name) / "open", DataFolder(Path(name) / "data")
        writable.mkdir()
        folder.acquire()
        folder.release()
        for place, mode in ((Path(name), 0o711), (folder.path, 0o711), (folder.agent, 0o711), (writable, 0o1777)):
            place.chmod(mode)
        with lab(Path(name), isolate=Isolate("user", writable=(writable,))) as found:
            yield found


@pytest.fixture(scope="module")
def attacked(by_account: Lab) -> Iterator[Attacked]:
    isolation = by_account.client.nodes()[0].isolation
    assert isolation
    assert (isolation.level, isolation.account) == ("user", True)
    folder = by_account.platform.folder.path.parent / "open"
    attacked = Attacked(by_account, folder, network="internet")
    yield attacked
    attacked.go.touch()
    by_account.ended(attacked.victim), by_account.ended(attacked.job)


@pytest.mark.parametrize("name", [name for name in ATTACKS if name not in OPEN])
def test_an_account_holds_an_attack_back(name: str, attacked: Attacked) -> None:
    assert attacked.got.get(name, "it was not tried") == ""


def test_nothing_is_left_and_the_victim_has_the_bits_of_an_undisturbed_run(attacked: Attacked, tmp_path: Path) -> None:
    check_end(attacked, tmp_path)


@pytest.mark.skipif(not closed_python(), reason="the tests above have tried it")
def test_attacks_are_held_back_where_python_is_opened() -> None:
    """The tests of this file once more."""
    with TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o711)
        tests = (sys.executable, "-m", "pytest", __file__, "-q", "-p", "no:cacheprovider", f"--basetemp={name}/tests")
        done = subprocess.run(opened(Path(name), *tests), cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
    assert f"{len(ATTACKS) - len(OPEN) + 1} passed" in done.stdout, done.stdout[-2000:]
