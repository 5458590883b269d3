"""No number of any strategy changes without somebody having stored it anew: see `tests/trajectories.py`."""

from __future__ import annotations

import pytest
import torch

from gradstream.strategies import STRATEGIES
from tests import trajectories
from tests.unit.same import difference


@pytest.mark.parametrize("name", STRATEGIES)
def test_is_what_was_stored_bit_for_bit(name: str) -> None:
    if torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"):
        pytest.skip("stored on a machine with AVX2; on this one last bits may differ")
    stored = trajectories.stored(name)
    if not stored:
        pytest.skip(f"{name} has no stored trajectory yet: python -m tests.trajectories --write")
    found = difference(stored, trajectories.trajectories(name))
    assert found is None, f"{found}; if that is wanted: python -m tests.trajectories --write"


def test_nothing_is_stored_of_what_is_not_there() -> None:
    assert {file.stem for file in trajectories.STORED.glob("*.json")} <= set(STRATEGIES)
