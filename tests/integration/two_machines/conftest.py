"""Two machines, and a file that lets slow jobs go on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.network import Forbidden, two_hosts
from tests.integration.two_machines.machines import Machines


@pytest.fixture(scope="package")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """One start for all tests here, which leave the machines as they were. Before other tests run, they end."""
    with ExitStack() as cleanup:
        try:
            hosts = cleanup.enter_context(two_hosts())
        except Forbidden as error:
            pytest.skip(f"NO TEST OF TWO MACHINES: {error}")
        yield Machines(hosts, tmp_path_factory.mktemp("machines"), cleanup)


@pytest.fixture
def machines(both: Machines) -> Machines:
    both.join()
    return both


@pytest.fixture
def go(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "go"
    (tmp_path / "go").touch()
