"""Groups that train embedding tables over the real plane: rows that a push asks for, and those that peers ask their lead for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from gradstream import sim
from gradstream.group.memory import shared_vector
from gradstream.group.problem import GroupProblem
from gradstream.input.data import Batches
from gradstream.model.flat_model import FlatModel
from gradstream.model.tables import working_rows
from gradstream.model.usercode import UserCode
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec
from tests.integration.plane.cluster import Cluster
from tests.integration.plane.test_tables import assert_nothing_left, served
from tests.nets import CPU
from tests.unit.sim.test_tables import ADAGRAD, FOLDER, HALF, KEPT, job, rows

Make = Callable[..., Cluster]
ADAG, ASYNC, SYNC = {"name": "adag", "window": 6}, {"name": "async"}, {"name": "sync"}
CACHED = {"default": {"rule": {"name": "adagrad", "lr": 0.1}, "cache": {"rows": 2000, "bound": 2}}}
"""Room for all rows: which ones a full cache keeps depends on the order in which processes ask, unless `ids` names them ahead."""


def job_of(group: Any, strategy: dict[str, Any], accumulate: int = 1, **more: Any) -> JobSpec:
    roles = {"worker": {"count": 1, "group": group, "device": "cpu"}, "server": {"count": 2}}
    return job(strategy, roles=roles, accumulate=accumulate, **more)


@pytest.mark.few(3)
@pytest.mark.parametrize("ahead", [False, True], ids=["looked up", "named ahead"])
@pytest.mark.parametrize("tables", [ADAGRAD, KEPT, HALF, CACHED], ids=["adagrad", "kept", "half", "cached"])
@pytest.mark.parametrize("local", [(0, 1), ()], ids=["shared memory", "through Redis"])
@pytest.mark.parametrize("strategy", [ADAG, ASYNC, SYNC], ids=["adag", "async", "sync"])
def test_a_group_has_the_rows_of_as_many_parts(
    strategy: dict[str, Any],
    local: tuple[int, ...],
    tables: dict[str, Any],
    ahead: bool,
    cluster: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(Path(FOLDER).resolve()))
    settings: dict[str, Any] = {"tables": tables, "args": {"ahead": ahead, "observes": True}}
    spec, parts = job_of({"fsdp": 2}, strategy, **settings), job_of(1, strategy, 2, **settings)
    code = UserCode(spec)
    flat = FlatModel(code.model(), CPU, make_theta=shared_vector)
    batches = Batches(code.dataset("train"), spec, 0)
    with closing(GroupProblem(code, flat, batches, spec, working_rows(flat.model, spec))) as group:
        group.start_peers(spec, "worker-0", 0)  # here, as peers end with the thread that forks them
        attempt = cluster(spec, lambda spec, rank: group if rank == 0 else Workloads(spec, FOLDER)(spec, 0), local=local)
        center = attempt.run()
        assert_nothing_left(attempt)
    plain = sim.run(parts, Workloads(parts, FOLDER), align=4096)
    assert torch.equal(center, plain.center)
    assert served(attempt) == rows(plain)
