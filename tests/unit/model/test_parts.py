"""`accumulate`: mini-batches that are computed in parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from gradstream import local_run, sim
from gradstream.errors import InvalidWorkload
from gradstream.model import parts
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec
from tests.nets import EXAMPLES, Net, job, problem


class Pair(NamedTuple):
    x: Tensor
    rest: Any


def test_parts_hold_each_example_once() -> None:
    x = torch.arange(10)
    batch = Pair(
        x, {"texts": [f"{n}" for n in range(10)], "both": [x + 1, (x + 2,)], "scale": 0.5, "one": torch.tensor(3), "no": None}
    )
    found = parts.of(batch, 10, at_once=4)
    assert [len(part.batch.x) for part in found] == [4, 3, 3]
    assert [part.share for part in found] == [0.4, 0.3, 0.3]
    assert torch.equal(torch.cat([part.batch.x for part in found]), x)
    first = found[0].batch
    assert isinstance(first, Pair)
    assert first.rest["texts"] == ["0", "1", "2", "3"]
    assert first.rest["both"][0].tolist() == [1, 2, 3, 4]
    assert first.rest["both"][1][0].tolist() == [2, 3, 4, 5]
    assert (first.rest["scale"], first.rest["one"], first.rest["no"]) == (0.5, torch.tensor(3), None)


def test_a_batch_that_is_small_enough_is_not_touched() -> None:
    batch = object()
    assert parts.of(batch, 4, at_once=4) == [(batch, 1.0)]


def test_two_columns_of_two_examples_are_no_two_rows() -> None:
    [first, second] = parts.of([torch.tensor([1, 2]), torch.tensor([3, 4])], 2, at_once=1)
    assert [column.tolist() for column in first.batch] == [[1], [3]]
    assert [column.tolist() for column in second.batch] == [[2], [4]]


def test_a_list_of_images_of_different_sizes_is_cut_between_them() -> None:
    images = [torch.zeros(1, side) for side in (5, 6, 7)]
    found = parts.of((images, torch.arange(3)), 3, at_once=2)
    assert [[image.shape[1] for image in part.batch[0]] for part in found] == [[5, 6], [7]]


@pytest.mark.parametrize(
    ("batch", "named"),
    [
        ((torch.zeros(4, 2), torch.zeros(3, 4)), r"a tensor of shape \(3, 4\)"),
        (torch.zeros(3, 4), "nothing of this length.*Tensor"),
        ({"x": torch.zeros(4), "graph": object()}, "a value of type object"),
        (None, "nothing of this length.*NoneType"),
    ],
)
def test_what_cannot_be_cut_is_refused(batch: Any, named: str) -> None:
    with pytest.raises(InvalidWorkload, match=rf"^accumulate, roles\.worker\.group: .* 4 examples holds {named}.*remove both"):
        parts.of(batch, 4, at_once=2)


class Transposed(Net):
    def dataset(self, split: Any) -> Any:
        from gradstream.data.source import Source

        class Columns(Source):
            def __len__(self) -> int:
                return EXAMPLES

            def batch(self, chosen: Tensor, generator: torch.Generator | None = None) -> Tensor:
                return torch.zeros(5, len(chosen))

        return Columns()


def of_class(name: str, spec: JobSpec) -> JobSpec:
    return spec.model_copy(update={"workload": spec.workload.model_copy(update={"entrypoint": f"{__name__}:{name}"})})


def test_the_workload_is_blamed() -> None:
    spec = of_class("Transposed", job("plain", accumulate=2))
    with pytest.raises(UserError, match="dataset") as caught:
        problem(spec, 0).gradient(0)
    assert isinstance(caught.value.__cause__, InvalidWorkload)


class Watched(Net):
    """Remembers how many examples it was called with."""

    sizes: list[int] = []  # noqa: RUF012

    def loss(self, model: Any, batch: Any) -> Tensor:
        self.sizes.append(len(batch[0]))
        return super().loss(model, batch)


@pytest.mark.parametrize("fields", [{}, {"members": 2}], ids=["one", "ensemble"])
@pytest.mark.parametrize("kind", ["plain", "tied", "words", "compiled_plain"])
def test_gradients_of_parts_add_up(kind: str, fields: dict[str, Any]) -> None:
    """60 examples by 8: the last mini-batch has 4, which are one part as they are."""
    whole, cut = (problem(job(kind, accumulate=count, **fields), 0) for count in (1, 3))
    for position in (0, 7):
        expected, found = whole.gradient(position), cut.gradient(position)
        assert found.examples == expected.examples
        assert found.loss == pytest.approx(expected.loss, rel=1e-6)
        torch.testing.assert_close(found.g, expected.g, rtol=1e-5, atol=1e-7)


def test_a_model_never_sees_more_than_a_part(tmp_path: Path) -> None:
    spec = of_class("Watched", job("normed", accumulate=3, members=2, stop={"epochs": 1}, evaluate={"every": 1000}))
    expected = 7 * 2 * [3, 3, 2] + 2 * [2, 2]
    Watched.sizes.clear()
    sim.run(spec, problem)
    assert Watched.sizes == expected, "each mini-batch of 8 in three parts, the last of 4 in two; for each member"
    Watched.sizes.clear()
    list(local_run.train(spec, tmp_path))
    assert [size for size in Watched.sizes if size <= 3] == expected


def test_more_parts_than_examples_are_refused() -> None:
    with pytest.raises(ValidationError, match="accumulate: a batch_size of 8 has no 9 parts"):
        job("plain", accumulate=9)
