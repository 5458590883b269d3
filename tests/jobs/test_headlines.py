"""The headline numbers of jobs are those that their exported points give, by code that shares nothing with the product."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.headlines.check import run
from tests.headlines.kinds import FEW
from tests.platforms import Lab


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", FEW, ids=lambda kind: str(kind["name"]))
def test_headline_numbers_are_true(kind: dict[str, Any], lab: Lab, tmp_path: Path) -> None:
    assert run(lab, kind, tmp_path) == []
