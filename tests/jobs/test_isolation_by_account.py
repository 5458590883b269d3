"""The attacks of `test_isolation.py` at the level `user`: an account for each job process, and no namespaces."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from gradstream.local.options import Isolate
from tests.jobs.test_isolation import Attacked, check_end
from tests.platforms import Lab, lab
from tests.userland.attacker import ATTACKS

OPEN = {
    "sees_processes_of_others",
    "reads_command_lines_of_others",
    "connects_to_ports_of_the_machine",
    "connects_to_the_internet",
    "is_led_elsewhere_by_its_door",
}
"""What an account alone does not hold back: the sight of processes, and the network. There is no door."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a process an account of its own"),
]


@pytest.fixture(scope="module")
def by_account() -> Iterator[Lab]:
    """A platform in a folder that other accounts can pass through."""
    with TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o711)
        writable = Path(name) / "open"
        writable.mkdir()
        writable.chmod(0o1777)
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
