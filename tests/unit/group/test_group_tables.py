"""Embedding tables in a group: rows that the lead looks up for all peers, and gradients that add up in the order of the parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from gradstream.center.tables.half import decode_rows
from gradstream.center.tables.payload import FoundRows, RowKeys, encoded_values, newer_rows
from gradstream.center.tables.table import EmbeddingTable
from gradstream.errors import InvalidWorkload, PlaneLost
from gradstream.group.memory import shared_vector
from gradstream.group.peers import PeerLost
from gradstream.group.problem import GroupProblem
from gradstream.input.data import Batches
from gradstream.model.flat_model import FlatModel
from gradstream.model.problem import ModelProblem
from gradstream.model.tables import working_rows
from gradstream.model.usercode import UserCode
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec
from gradstream.spec.tables import specs_of
from tests.nets import CPU
from tests.unit.group.conftest import kill_peer
from tests.unit.sim.test_tables import ADAGRAD, FOLDER, FTRL, HALF, KEPT, job

CACHED = {"default": {"rule": {"name": "adagrad", "lr": 0.1}, "cache": {"rows": 300, "bound": 1}}}
TOGETHER = {"replicate": 2, "fsdp": 2}


class Hosted:
    """The tables of a problem in this process. Notes how many keys each lookup had."""

    def __init__(self, problem: ModelProblem, spec: JobSpec) -> None:
        specs = specs_of(spec.tables, problem.tables)
        self.tables = {name: EmbeddingTable(name, width, specs[name], spec.seed) for name, width in problem.tables.items()}
        self.looked_up: list[dict[str, NDArray[np.int64]]] = []
        self.error: BaseException | None = None
        problem.look_up_with(self.look_up, lambda: None)

    def look_up(self, wanted: Mapping[str, RowKeys]) -> Mapping[str, FoundRows]:
        if self.error:
            raise self.error
        self.looked_up.append({name: of_table.keys for name, of_table in wanted.items()})
        found = {}
        for name, of_table in wanted.items():
            spec, rows = self.tables[name].spec, self.tables[name].look_up(of_table.keys)
            found[name] = encoded_values(newer_rows(rows, of_table, spec.cache.bound if spec.cache else 0), spec.codec)
        return found

    def push(self, problem: ModelProblem) -> None:
        for name, rows in problem.take_row_gradients().items():
            gradients = decode_rows(rows.gradients) if rows.gradients.dtype != np.float32 else rows.gradients
            self.tables[name].push(rows.keys, rows.loans, gradients, rows.occurrences, rows.clicks)

    def keys_looked_up(self, table: str) -> list[int]:
        return [int(key) for each in self.looked_up for key in each.get(table, ())]

    def rows(self) -> dict[str, list[tuple[int, bytes, int]]]:
        """Weights and updates of each key of each table."""
        found = {}
        for name, table in self.tables.items():
            rows = table.look_up(np.unique(self.keys_looked_up(name)))
            of_keys = zip(rows.keys.tolist(), rows.values, rows.loans["updates"].tolist(), strict=True)
            found[name] = [(key, weights.tobytes(), updates) for key, weights, updates in of_keys]
        return found


def grouped_job(group: Any, accumulate: int = 1, **more: Any) -> JobSpec:
    return job("sync", roles={"worker": {"count": 1, "group": group, "device": "cpu"}}, accumulate=accumulate, **more)


@contextmanager
def problem_of(spec: JobSpec, device: torch.device | None = None) -> Iterator[ModelProblem]:
    code = UserCode(spec)
    batches = Batches(code.dataset("train"), spec, 0, code.batching)
    group = spec.roles.worker.group
    flat = FlatModel(code.model(), CPU, make_theta=shared_vector if group.peers > 1 else None)
    rows = working_rows(flat.model, spec)
    if group.peers == 1:
        yield ModelProblem(code, flat, batches, spec.at_once, rows)
        return
    with closing(GroupProblem(code, flat, batches, spec, rows, devices=[device] * group.peers if device else [])) as problem:
        problem.start_peers(spec, "worker-0", 0)
        yield problem


def train(problem: ModelProblem, hosted: Hosted, positions: range, window: int = 2) -> list[float]:
    """Plain steps, and a push of rows after each window."""
    losses = []
    for position in positions:
        gradient = problem.gradient(position)
        losses.append(gradient.loss)
        problem.theta.add_(gradient.g, alpha=-0.5)
        if (position + 1) % window == 0:
            hosted.push(problem)
    return losses


def trained(spec: JobSpec, batches: int = 6, device: torch.device | None = None) -> tuple[Tensor, Hosted, list[float]]:
    with problem_of(spec, device) as problem:
        hosted = Hosted(problem, spec)
        losses = train(problem, hosted, range(batches))
        return problem.theta.clone(), hosted, losses


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(FOLDER).resolve()))


@pytest.mark.few(5)
@pytest.mark.parametrize("ahead", [False, True], ids=["looked up", "named ahead"])
@pytest.mark.parametrize("tables", [ADAGRAD, FTRL, KEPT, HALF, CACHED], ids=["adagrad", "ftrl", "kept", "half", "cached"])
@pytest.mark.parametrize("group", [{"replicate": 2}, {"fsdp": 2}, {"fsdp": 3}], ids=str)
def test_a_group_has_the_bits_of_as_many_parts(group: dict[str, int], tables: dict[str, Any], ahead: bool) -> None:
    args, parts = {"ahead": ahead}, group.get("fsdp", 2)
    theta, hosted, losses = trained(grouped_job(group, tables=tables, args=args))
    expected, alone, of_one = trained(grouped_job(1, parts, tables=tables, args=args))
    assert torch.equal(theta, expected)
    assert hosted.rows() == alone.rows()
    assert losses == pytest.approx(of_one, rel=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize(("group", "accumulate"), [({"fsdp": 2}, 2), ({"replicate": 2}, 2), (TOGETHER, 1), (4, 1)], ids=str)
def test_more_parts_differ_by_rounding_alone_or_not_at_all(group: Any, accumulate: int) -> None:
    theta, hosted, _ = trained(grouped_job(group, accumulate))
    expected, alone, _ = trained(grouped_job(1, 4))
    if group == {"fsdp": 2}:
        assert torch.equal(theta, expected)
        assert hosted.rows() == alone.rows()
        return
    torch.testing.assert_close(theta, expected, rtol=1e-6, atol=1e-6)
    for name, rows in hosted.rows().items():
        for (key, weights, updates), (of_key, bits, times) in zip(rows, alone.rows()[name], strict=True):
            assert (key, updates) == (of_key, times)
            found, wanted = (torch.frombuffer(bytearray(each), dtype=torch.float32) for each in (weights, bits))
            torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("ahead", [False, True], ids=["looked up", "named ahead"])
def test_each_key_is_looked_up_once_between_two_pushes(ahead: bool) -> None:
    spec = grouped_job({"fsdp": 2}, args={"ahead": ahead})
    with problem_of(spec) as problem:
        hosted = Hosted(problem, spec)
        batches = [set(problem._batches.take(at, CPU)[0][0].flatten().tolist()) for at in range(4)]
        for at in (0, 2):
            hosted.looked_up.clear()
            train(problem, hosted, range(at, at + 2))
            for name in ("wide", "deep"):
                keys = hosted.keys_looked_up(name)
                assert len(keys) == len(set(keys))
                assert set(keys) == batches[at] | batches[at + 1]


@pytest.mark.parametrize("group", [2, {"fsdp": 2}], ids=str)
def test_each_member_has_the_rows_of_as_many_parts(group: Any) -> None:
    theta, hosted, _ = trained(grouped_job(group, members=2))
    expected, alone, _ = trained(grouped_job(1, 2, members=2))
    assert torch.equal(theta, expected)
    assert hosted.rows() == alone.rows()
    assert sorted(hosted.tables) == ["members.0.deep", "members.0.wide", "members.1.deep", "members.1.wide"]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("group", [2, {"fsdp": 2}], ids=str)
def test_processes_that_copy_theta_to_a_device_get_the_same_rows(group: Any, precision: str) -> None:
    spec = grouped_job(group, precision=precision)
    theta, hosted, _ = trained(spec, device=CPU)
    expected, shared, _ = trained(spec)
    assert torch.equal(theta, expected)
    assert hosted.rows() == shared.rows()


def test_a_checkpoint_between_two_pushes_has_the_gradients_of_all_peers() -> None:
    """It resumes in a group, and in one process, with the bits of a run that goes on."""
    spec, alone = grouped_job({"fsdp": 2}), grouped_job(1, 2)
    with problem_of(spec) as problem:
        hosted = Hosted(problem, spec)
        train(problem, hosted, range(3))
        state, theta = problem.state(), problem.theta.clone()
        assert all("rows" not in of_peer for of_peer in state["peers"])
        assert set(state["rows"]["gradients"]) == {"wide", "deep"}
        problem.gradient(3)
        expected = {name: (rows.keys.tolist(), rows.gradients.tolist()) for name, rows in problem.take_row_gradients().items()}
        for after in (spec, alone):
            with problem_of(after) as resumed:
                resumed.theta.copy_(theta)
                resumed.look_up_with(hosted.look_up, lambda: None)
                resumed.load(state)
                resumed.gradient(3)
                found = {name: (rows.keys.tolist(), rows.gradients.tolist()) for name, rows in resumed.take_row_gradients().items()}
                assert found == expected


@pytest.mark.parametrize("victim", ["worker-0/1", "worker-0/2"])
def test_a_killed_peer_ends_the_group(victim: str) -> None:
    spec = grouped_job({"fsdp": 3})
    with problem_of(spec) as problem:
        hosted = Hosted(problem, spec)
        train(problem, hosted, range(2))
        kill_peer(victim)
        with pytest.raises(PeerLost, match=f"peer {victim[-1]} of worker-0 has ended"):
            train(problem, hosted, range(2, 8))


@pytest.mark.parametrize("after", [0, 3])
def test_servers_that_are_lost_end_the_worker_as_they_end_any_other(after: int) -> None:
    """Also if a peer is the first to miss a row: an error that passes through user code is not the workload's."""
    spec = grouped_job(2)
    with problem_of(spec) as problem:
        hosted = Hosted(problem, spec)
        train(problem, hosted, range(after))
        hosted.error = PlaneLost("the servers are gone")
        with pytest.raises(PlaneLost, match="the servers are gone"):
            train(problem, hosted, range(after, after + 3))


def test_wrong_clicks_are_an_error_of_the_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    import planted_clicks

    monkeypatch.setattr(planted_clicks.Clicks, "clicks", lambda self, batch: batch[1][:3])
    spec = grouped_job(2, tables=KEPT)
    with problem_of(spec) as problem:
        hosted = Hosted(problem, spec)
        with pytest.raises(UserError, match="clicks"):
            train(problem, hosted, range(2))


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ({"stages": 2}, "roles.worker.group.stages: .* take group: {fsdp: 2}"),
        ({"tensor": 2}, "roles.worker.group.tensor: .* take group: {fsdp: 2}"),
        ({"replicate": 2, "machines": 2}, "roles.worker.group.machines: .* remove machines"),
    ],
    ids=str,
)
def test_axes_without_tables_say_what_to_take_instead(group: dict[str, int], said: str) -> None:
    """In the job file, and at the model's tables if the job file names none."""
    with pytest.raises(ValueError, match=said):
        grouped_job(group, accumulate=4)
    with pytest.raises(InvalidWorkload, match=said), problem_of(grouped_job(group, accumulate=4, tables={})):
        pass
