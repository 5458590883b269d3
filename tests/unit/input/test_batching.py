"""`collate_fn`, `drop_last` and `on_epoch` of a workload: which mini-batches come out, and that they are the same again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset, IterableDataset, TensorDataset

from gradstream import Workload, data, local_run, sim
from gradstream.errors import InvalidWorkload
from gradstream.input.data import Batches, DatasetTooSmall, EvaluationSplit
from gradstream.input.gather import Batching
from gradstream.input.prefetch import Prefetched
from gradstream.model.usercode import UserCode
from gradstream.process.exits import UserError
from gradstream.sim.workload import Workloads
from gradstream.spec import JobSpec
from tests.nets import CPU
from tests.unit.same import difference

ME = "tests.unit.input.test_batching"


class Ragged(Dataset[Any]):
    """Sequences of unequal length."""

    def __len__(self) -> int:
        return 53

    def __getitem__(self, at: int) -> tuple[Tensor, int]:
        if not 0 <= at < 53:
            raise IndexError(at)
        return torch.full((1 + at % 5,), float(at)), at % 2


class Flowing(IterableDataset[Any]):
    def __iter__(self) -> Any:
        return (Ragged()[at] for at in range(53))


class Padded(Workload):
    """Augmented at random where it is collated."""

    iterable: bool = False
    drop_last: bool = False  # type: ignore[misc]
    epochs: list[int]

    def __init__(self, **args: Any) -> None:
        super().__init__(**args)
        self.sizes: list[int] = []

    def model(self) -> nn.Module:
        return nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))

    def dataset(self, split: str) -> Dataset[Any]:
        return Flowing() if self.iterable else Ragged()

    def collate_fn(self, examples: list[Any]) -> Any:
        padded = torch.zeros(len(examples), 5)
        for row, (x, _) in enumerate(examples):
            padded[row, : len(x)] = x
        return {"x": padded + torch.rand(()), "y": torch.tensor([y for _, y in examples])}

    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        if model.training:
            self.sizes.append(len(batch["x"]))
        return nn.functional.cross_entropy(model(batch["x"]), batch["y"])

    def evaluate(self, model: nn.Module, batch: Any) -> dict[str, float]:
        return {"loss": float(self.loss(model, batch)), "rows": len(batch["x"])}

    def on_epoch(self, epoch: int) -> None:
        torch.rand(3)
        self.epochs = [*getattr(self, "epochs", []), epoch]


def job(workers: int = 2, **more: Any) -> JobSpec:
    args = {key: more.pop(key) for key in ("iterable", "drop_last") if key in more}
    return JobSpec.model_validate(
        {
            "name": "b",
            "workload": {"entrypoint": f"{ME}:Padded", "args": {"epochs": [], **args}},
            "batch_size": 13,
            "strategy": {"name": "adag", "lr": 0.05},
            "stop": {"epochs": 3},
            "roles": {"worker": {"count": workers}},
            "evaluate": {"every": 1000, "batch_size": 10},
            **more,
        }
    )


def rows(batches: Batches | Prefetched) -> list[tuple[dict[str, Tensor], int]]:
    return [batches.take(position, CPU) for position in range(batches.total)]


@pytest.mark.parametrize("iterable", [False, True])
@pytest.mark.parametrize("drop_last", [False, True])
def test_batches_are_collated_and_the_same_again_also_by_processes(iterable: bool, drop_last: bool) -> None:
    spec = job(iterable=iterable, drop_last=drop_last, data={"length": 53} if iterable else {})
    code = UserCode(spec)
    made = [Batches(code.dataset("train"), spec, rank, code.batching) for rank in range(2)]
    assert [batches.total for batches in made] == ([6, 6] if drop_last else [9, 6])
    first = [rows(batches) for batches in made]
    sizes = [[examples for _, examples in batches] for batches in first]
    assert sizes == ([[13] * 6, [13] * 6] if drop_last else [[13, 13, 1] * 3, [13] * 6])
    assert all(len(batch["x"]) == examples for batches in first for batch, examples in batches)
    assert sum(map(sum, sizes)) == made[0].total_samples
    assert made[0].epoch_samples == (52 if drop_last else 53)
    again = Batches(code.dataset("train"), spec, 0, code.batching)
    assert torch.equal(again.take(5, CPU)[0]["x"], first[0][5][0]["x"]), "a resumed worker begins anywhere"
    ahead = spec.model_copy(update={"data": spec.data.model_copy(update={"processes": 1})})
    fetched = Prefetched(Batches(code.dataset("train"), ahead, 0, code.batching), ahead)
    try:
        assert difference([batch for batch, _ in rows(fetched)], [batch for batch, _ in first[0]]) is None
    finally:
        fetched.close()


def test_an_iterable_of_unknown_length_drops_what_is_not_full_in_each_pass() -> None:
    spec = job(iterable=True, drop_last=True, stop={"steps": 7})
    code = UserCode(spec)
    assert [examples for _, examples in rows(Batches(code.dataset("train"), spec, 0, code.batching))] == [13] * 7


def test_a_job_resumes_to_the_same_bits(tmp_path: Path) -> None:
    spec = job(drop_last=True, strategy={"name": "async", "lr": 0.05})
    whole = sim.run(spec, Workloads(spec, tmp_path), checkpoints={5})
    rest = sim.run(spec, Workloads(spec, tmp_path), resume=whole.checkpoints[5])
    assert difference(whole.shards, rest.shards) is None


def test_the_baseline_takes_the_same_sizes(tmp_path: Path) -> None:
    for drop_last, sizes in ((False, [13, 13, 13, 13, 1]), (True, [13, 13, 13, 13])):
        spec = job(1, drop_last=drop_last, batch_size=13)
        if not drop_last:  # BatchNorm cannot train on one example
            with pytest.raises(UserError) as raised:
                list(local_run.train(spec, tmp_path))
            assert "drop_last = True" in str(raised.value.__cause__)
            continue
        last = list(local_run.train(spec, tmp_path))[-1]
        assert (last.step, last.samples) == (3 * len(sizes), 3 * sum(sizes))
        assert last.evaluation["rows"] == pytest.approx((5 * 100 + 9) / 53)


def test_a_share_without_a_whole_batch_is_refused() -> None:
    with pytest.raises(DatasetTooSmall, match="53 examples for 2 workers, and with drop_last each needs a mini-batch of 30"):
        Batches(Ragged(), job(batch_size=30), 0, Batching(drop_last=True))


def test_what_gives_whole_batches_has_no_use_for_collate_fn() -> None:
    source = data.arrays(torch.zeros(20, 2))
    with pytest.raises(InvalidWorkload, match=r"gives whole batches, so collate_fn is not called; change them by its map\(\)"):
        Batches(source, job(), 0, Batching(collate=lambda examples: examples))
    batches = list(EvaluationSplit(TensorDataset(torch.arange(5)), 2, CPU, Batching(collate=len)))
    assert batches == [(2, 2), (2, 2), (1, 1)]


def test_examples_that_cannot_be_stacked_lead_to_collate_fn() -> None:
    with pytest.raises(InvalidWorkload, match=r"cannot be put together \(stack expects each tensor.*override collate_fn"):
        Batches(Ragged(), job(), 0).take(0, CPU)


def test_on_epoch_is_called_before_each_pass_and_changes_no_number(tmp_path: Path) -> None:
    spec = job(1, drop_last=True)
    workloads = Workloads(spec, tmp_path)
    run = sim.run(spec, workloads)
    workload: Any = workloads._code._workload
    assert workload.epochs == [0, 1, 2]
    quiet = Workloads(spec, tmp_path)
    quiet._code._workload.on_epoch = Workload().on_epoch  # type: ignore[method-assign]
    assert torch.equal(sim.run(spec, quiet).center, run.center)
    resumed = UserCode(spec)
    position = Batches(resumed.dataset("train"), spec, 0, resumed.batching).per_epoch + 1
    Workloads(spec, tmp_path)(spec, 0).gradient(position)


class Loader(Padded):
    def dataset(self, split: str) -> Any:
        from torch.utils.data import DataLoader

        return DataLoader(Ragged()) if split == "train" else None


def test_a_loader_where_a_data_set_should_be_is_named() -> None:
    spec = job(workload={"entrypoint": f"{ME}:Loader", "args": {"epochs": []}})
    for split, said in (("train", "returned a DataLoader; return the Dataset that it reads"), ("eval", "not None")):
        with pytest.raises(UserError) as raised:
            UserCode(spec).dataset(split)  # type: ignore[arg-type]
        assert said in str(raised.value.__cause__)
