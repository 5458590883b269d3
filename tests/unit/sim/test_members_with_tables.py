"""An ensemble whose members have embedding tables: each has rows of its own, and trains as it would alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from gradstream import local_run
from gradstream.center.tables.storage.trained import ENTRY, trained_part, trained_tensors
from gradstream.errors import InvalidWorkload
from gradstream.input import randomness
from gradstream.model.tables import separate_tables
from gradstream.nn import TableOptimizer, load_tables
from gradstream.sim import run
from gradstream.sim.workload import Workloads
from tests.unit.sim.test_tables import ADMITTED, FOLDER, KEPT, assert_same, job, rows, train
from tests.userland.planted_clicks import Clicks

SMALL = {"examples": 400}
RULES = {"default": {"rule": {"name": "adagrad", "lr": 0.1}}, "deep": {"rule": {"name": "adam", "lr": 0.02}}}
TABLES = {f"members.{member}.{name}" for member in range(2) for name in ("wide", "deep")}


def alone(member: int) -> tuple[torch.Tensor, TableOptimizer]:
    """A plain loop over mini-batches of all examples: parameters and rows of this member."""
    with randomness.seeded(1 + member):
        model = Clicks(**SMALL).model()
    dense, sparse = torch.optim.SGD(model.parameters(), lr=0.1), TableOptimizer(model, RULES, 1 + member)
    ids, clicks = Clicks(**SMALL).dataset("train").tensors  # type: ignore[attr-defined]
    for _ in range(4):
        dense.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(model(ids), clicks).backward()
        dense.step()
        sparse.step()
    return torch.cat([p.detach().ravel() for p in model.parameters()]), sparse


@pytest.mark.parametrize("ahead", [False, True])
def test_each_member_is_a_plain_loop_with_its_own_seed(ahead: bool) -> None:
    settings: dict[str, Any] = {
        "args": SMALL | {"ahead": ahead},
        "batch_size": 400,
        "stop": {"steps": 4},
        "optimizer": {"name": "sgd", "lr": 0.1},
    }
    result = train(job("sync", workers=1, shards=3, members=2, tables=RULES, **settings))
    found = rows(result)
    assert set(found) == TABLES
    for member, theta in enumerate(result.center.chunk(2)):
        parameters, sparse = alone(member)
        assert torch.allclose(theta, parameters, atol=1e-5)
        for name, table in sparse.state_dict()["tables"].items():
            plain = dict(zip(table["keys"].tolist(), table["values"], strict=True))
            of_member = found[f"members.{member}.{name}"]
            assert set(plain) == set(of_member)
            for key, values in plain.items():
                assert torch.allclose(torch.frombuffer(bytearray(of_member[key][0]), dtype=torch.float32), values, atol=1e-4)
    assert found["members.0.deep"] != found["members.1.deep"]


@pytest.mark.more
@pytest.mark.parametrize("tables", [ADMITTED, KEPT], ids=["admitted", "kept"])
def test_any_number_of_shards_gives_the_same_bits(tables: dict[str, object]) -> None:
    assert_same(*(train(job("async", shards=shards, members=2, tables=tables)) for shards in (1, 3)))


@pytest.mark.more
def test_members_are_evaluated_together_and_learn_more_than_one(tmp_path: Path) -> None:
    spec = job("sync", members=2, stop={"epochs": 3})
    workloads, scores = Workloads(spec, FOLDER), list[dict[str, float]]()
    run(spec, workloads, watch=lambda view: scores.append(workloads.evaluate(view)), watch_every=5_999)
    assert set(scores[-1]) >= {"loss", "members_loss"}
    assert scores[-1]["loss"] < scores[-1]["members_loss"] < 0.69


def test_an_ensemble_with_tables_trains_in_one_process(tmp_path: Path) -> None:
    reports = list(local_run.train(job("sync", workers=1, members=2, args={"observes": True, "ahead": True}), FOLDER))
    assert reports[-1].evaluation["loss"] < 0.69


def test_a_script_loads_the_rows_of_one_member(tmp_path: Path) -> None:
    with randomness.seeded(1):
        trained = [Clicks().model() for _ in range(2)]
    separate_tables(trained)
    ensemble = torch.nn.ModuleList(trained)
    optimizer = TableOptimizer(ensemble, RULES, seed=1)
    ids = torch.arange(4 * 50).reshape(50, 4)
    for model in trained:
        model(ids).sum().backward()
    optimizer.step()
    hosted = {name: local.table for name, local in optimizer._tables.items()}
    part = trained_part(job("sync", members=2, tables=RULES), version=1, shard=0, hosted=hosted)
    save_file(trained_tensors(hosted), tmp_path / "tables-0.safetensors", {ENTRY: part.model_dump_json()})
    for member, model in enumerate(trained):
        loaded = Clicks().model()
        loaded.load_state_dict(model.state_dict())
        assert load_tables(loaded, [tmp_path / "tables-0.safetensors"], member=member) == {"wide": 200, "deep": 200}
        some = torch.arange(3, 4 * 52 + 3).reshape(52, 4)
        with torch.no_grad():
            assert torch.equal(loaded(some), model(some)), "also keys without a row"
    with pytest.raises(InvalidWorkload, match=r"table 'wide': the files have no tables of this member"):
        load_tables(Clicks().model(), [tmp_path / "tables-0.safetensors"], member=2)


def test_settings_name_the_tables_of_the_workload() -> None:
    with pytest.raises(InvalidWorkload, match=r"no table 'wid'; did you mean 'wide'\? There are deep, wide"):
        train(job("sync", members=2, tables={"wid": {}}))


def test_members_that_share_their_embeddings_are_refused() -> None:
    model = Clicks().model()
    with pytest.raises(InvalidWorkload, match=r"returned the same embeddings; with 'members'"):
        separate_tables([model, model])
