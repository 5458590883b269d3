"""A worker that has forked its peers and cannot begin."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import psutil
import pytest
import torch

from gradstream.errors import PlaneLost
from gradstream.group.problem import GroupProblem
from gradstream.process import exits
from gradstream.process.exits import EXIT_CODES, ExitReason
from tests.orders import make_order
from tests.unit.group.test_peers import job
from worker_node import setup
from worker_node.__main__ import main


@pytest.mark.parametrize("before", ["its peers have begun", "its port is there"])
def test_a_worker_that_cannot_begin_ends_its_peers(before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # the worker sets it, and its threads, for its own process
    threads, start, children = torch.get_num_threads(), GroupProblem.start_peers, psutil.Process().children()

    def lose(*_: object) -> NoReturn:
        raise PlaneLost("Redis is gone")

    def start_and_lose(*arguments: object) -> NoReturn:
        start(*arguments)  # type: ignore[arg-type]
        assert len(psutil.Process().children()) == len(children) + 2
        lose()

    at_peers = before == "its peers have begun"
    monkeypatch.setattr(*((GroupProblem, "start_peers", start_and_lose) if at_peers else (setup, "port", lose)))
    try:
        assert main(make_order(spec=job(peers=3)), tmp_path) == EXIT_CODES[ExitReason.PLANE_LOST]
    finally:
        torch.set_num_threads(threads)
    assert exits.read(tmp_path, EXIT_CODES[ExitReason.PLANE_LOST]).message == "Redis is gone"
    assert psutil.Process().children() == children
