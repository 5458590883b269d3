"""How the end of a process is read, also where user code had a hand in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradstream.process import exits
from gradstream.process.exits import CANNOT_BEGIN, Exit, ExitReason


@pytest.mark.parametrize("claimed", [ExitReason.NODE_LOST, ExitReason.RESTARTED, ExitReason.NODE_UNFIT, ExitReason.CANNOT_START])
def test_user_code_cannot_claim_what_only_the_platform_may_say(claimed: ExitReason, tmp_path: Path) -> None:
    exits.write(tmp_path, Exit(reason=claimed, message="free retries"))
    assert exits.read(tmp_path, 1).reason is ExitReason.INTERNAL


@pytest.mark.parametrize(("claimed", "code"), [(ExitReason.PLANE_LOST, 1), (ExitReason.DONE, 75), (ExitReason.STOPPED, 3)])
def test_a_reason_of_another_exit_code_counts_as_none(claimed: ExitReason, code: int, tmp_path: Path) -> None:
    exits.write(tmp_path, Exit(reason=claimed))
    assert exits.read(tmp_path, code).reason is ExitReason.INTERNAL


def test_what_failed_before_it_began_is_its_nodes_fault(tmp_path: Path) -> None:
    exits.write(tmp_path, Exit(reason=ExitReason.INTERNAL, message="OSError: No space left on device"))
    found = exits.read(tmp_path, CANNOT_BEGIN)
    assert found.reason is ExitReason.NODE_UNFIT
    assert "No space left on device" in found.message
    (tmp_path / exits.BEGAN).touch()
    assert exits.read(tmp_path, CANNOT_BEGIN).reason is ExitReason.INTERNAL, "the same code, given by user code"
