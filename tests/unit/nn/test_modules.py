"""Outputs and gradients of the modules are those of torch's, for any ids."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from gradstream import nn as gnn
from gradstream.data import Ragged
from gradstream.errors import InvalidWorkload

DIM = 5
PLAIN = {"default": {"rule": {"name": "sgd", "lr": 0.1}}}
IDS = torch.tensor([-(2**63), 2**63 - 1, 0, 7, 7, -1, 2**40, 7, 0])


def vocabulary(model: nn.Module, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The distinct ids in order, and the rows of their tables."""
    known = torch.unique(ids)
    with torch.no_grad():
        return known, gnn_rows(model, known)


def gnn_rows(model: nn.Module, known: torch.Tensor) -> torch.Tensor:
    if isinstance(model, gnn.Embedding):
        return model(known)
    return model(known[:, None])


def compare(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("shape", [(9,), (3, 3), (1, 9, 1), (0,)])
def test_embedding_is_torch_s(shape: tuple[int, ...]) -> None:
    ids = (IDS if 0 not in shape else IDS[:0]).reshape(shape)
    model = gnn.Embedding("t", DIM)
    rows = gnn.TableOptimizer(model, PLAIN)
    known, weights = vocabulary(model, IDS)
    reference = nn.Embedding.from_pretrained(weights.clone(), freeze=False)
    optimizer = torch.optim.SGD(reference.parameters(), lr=0.1)
    towards = torch.randn(*shape, DIM)
    for _ in range(3):
        ours, theirs = model(ids), reference(torch.searchsorted(known, ids))
        compare(ours, theirs)
        (ours * towards).sum().backward()
        (theirs * towards).sum().backward()
        rows.step()
        optimizer.step()
        optimizer.zero_grad()
    compare(vocabulary(model, IDS)[1], reference.weight)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("kind", ["matrix", "offsets", "last offset", "nested", "ragged", "weights"])
def test_bags_are_torch_s(mode: Any, kind: str) -> None:
    if kind == "weights" and mode != "sum":
        pytest.skip("per_sample_weights are for sums")
    last = kind == "last offset"
    model = gnn.EmbeddingBag("t", DIM, mode, padding_idx=0, include_last_offset=last)
    rows = gnn.TableOptimizer(model, PLAIN)
    known = torch.unique(IDS)
    weights = gnn_rows(model, known).detach()
    rows.zero_grad()
    reference = nn.EmbeddingBag.from_pretrained(
        weights.clone(), freeze=False, mode=mode, padding_idx=int(torch.searchsorted(known, 0)), include_last_offset=last
    )
    optimizer = torch.optim.SGD(reference.parameters(), lr=0.1)
    ours: list[Any] = [IDS]
    if kind == "matrix":
        ours = [IDS.reshape(3, 3)]
    elif kind == "nested":
        ours = [torch.nested.nested_tensor_from_jagged(IDS, torch.tensor([0, 2, 2, 6, 9]))]
    elif kind == "ragged":
        ours = [Ragged(IDS, torch.tensor([0, 2, 2, 6]))]
    else:
        ours.append(torch.tensor([0, 2, 2, 6] + [9] * last))
    theirs = (
        [torch.searchsorted(known, ours[0])] if kind == "matrix" else [torch.searchsorted(known, IDS), torch.tensor([0, 2, 2, 6])]
    )
    if last:
        theirs[1] = ours[1]
    given = torch.randn(9, requires_grad=True), None
    twin = given[0].detach().clone().requires_grad_()
    for _ in range(2):
        if kind == "weights":
            a, b = model(*ours, per_sample_weights=given[0]), reference(*theirs, per_sample_weights=twin)
        else:
            a, b = model(*ours), reference(*theirs)
        compare(a, b)
        towards = torch.randn_like(a)
        (a * towards).sum().backward()
        (b * towards).sum().backward()
        rows.step()
        optimizer.step()
        optimizer.zero_grad()
    compare(gnn_rows(model, known), reference.weight * (known != 0)[:, None])
    if kind == "weights":
        compare(given[0].grad, twin.grad)  # type: ignore[arg-type]


def test_several_forwards_and_modules_share_one_table() -> None:
    first, second = gnn.Embedding("t", DIM), gnn.EmbeddingBag("t", DIM, "sum")
    model = nn.ModuleList([first, second])
    rows = gnn.TableOptimizer(model, PLAIN)
    before = first(torch.tensor([1, 2, 3])).detach()
    (first(torch.tensor([1, 2])).sum() + second(torch.tensor([[2, 3]])).sum()).backward()
    first(torch.tensor([2])).sum().backward()
    done = rows.step()
    assert done["t"].applied == done["t"].pushed == 3
    compare(first(torch.tensor([1, 2, 3])), before - 0.1 * torch.tensor([[1.0], [3.0], [1.0]]))


def test_forwards_without_gradients_leave_no_trace() -> None:
    model = gnn.Embedding("t", DIM)
    rows = gnn.TableOptimizer(model)
    with torch.no_grad():
        model(IDS)
    model(IDS)
    assert rows.step() == {}
    assert rows.summary()["t"].rows == 0


def test_autocast_and_a_backward_twice() -> None:
    model = gnn.Embedding("t", DIM)
    rows = gnn.TableOptimizer(model, PLAIN)
    layer = nn.Linear(DIM, 1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = layer(model(torch.tensor([4]))).sum()
    before = model(torch.tensor([4])).detach()
    loss.backward(retain_graph=True)
    loss.backward()
    rows.step()
    expected = before - 0.2 * layer.weight.detach()
    torch.testing.assert_close(model(torch.tensor([4])).detach(), expected, rtol=0, atol=2e-3)


def test_a_backward_after_a_step_has_its_own_gradient_alone() -> None:
    model = gnn.Embedding("t", DIM)
    rows = gnn.TableOptimizer(model, PLAIN)
    loss = model(torch.tensor([4])).sum()
    before = model(torch.tensor([4])).detach()
    for number in (1, 2):
        loss.backward(retain_graph=True)
        rows.step()
        compare(model(torch.tensor([4])).detach(), before - 0.1 * number)
    loss.backward()
    rows.zero_grad()
    assert rows.step() == {}


def test_copies_share_rows_and_pickles_leave_them_out() -> None:
    model = gnn.Embedding("t", DIM)
    rows = gnn.TableOptimizer(model, PLAIN)
    twin = copy.deepcopy(model)
    model(IDS).sum().backward()
    rows.step()
    compare(twin(IDS), model(IDS))
    with pytest.raises(InvalidWorkload, match="no table 't' to take rows from"):
        pickle.loads(pickle.dumps(model))(IDS)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gnn.Embedding("t", 0), "dim of at least 1"),
        (lambda: gnn.Embedding(1000, 4), "its first argument is a name; a table has no vocabulary size"),  # type: ignore[arg-type]
        (lambda: gnn.Embedding("t", 4, max_norm=1.0), "max_norm would change rows"),
        (lambda: gnn.EmbeddingBag("t", 4, scale_grad_by_freq=True), "scale_grad_by_freq is not offered"),
        (lambda: gnn.EmbeddingBag("t", 4, "median"), "sum, mean or max"),  # type: ignore[arg-type]
        (lambda: gnn.TableOptimizer(nn.Linear(1, 1)), "no gradstream.nn.Embedding"),
        (lambda: gnn.TableOptimizer(nn.ModuleList([gnn.Embedding("t", 4), gnn.Embedding("t", 8)])), "two widths, 4 and 8"),
        (lambda: gnn.TableOptimizer(gnn.Embedding("t", 4), {"u": {}}), "no table 'u'"),
        (lambda: gnn.TableOptimizer(gnn.Embedding("t", 4), {"t": {"rule": {"name": "sgd", "eps": 1}}}), "t/rule/sgd/eps"),
        (lambda: gnn.TableOptimizer(gnn.Embedding("t", 4), {"t": {"admits": {}}}), "t/admits: .* did you mean 'admit'?"),
        (lambda: gnn.TableOptimizer(gnn.Embedding("t", 4), {"t": {"rule": {"name": "adagard"}}}), "did you mean 'adagrad'?"),
        (lambda: gnn.TableOptimizer(gnn.Embedding("t", 4), {"t": {"rule": {"lr": 1}}}), "name the rule"),
        (lambda: gnn.Embedding("t", 4)(IDS), "make gradstream.nn.TableOptimizer"),
    ],
)
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidWorkload, match=message):
        make()


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((torch.tensor([[1.0]]),), "float32; a float32 is not exact above 2"),
        ((torch.tensor([[True]]),), "these are bool"),
        ((torch.tensor([1]),), "a vector with a vector of offsets"),
        ((torch.tensor([1]), torch.tensor([1])), "offsets begin with 0"),
        ((torch.tensor([1]), torch.tensor([0, 2])), "do not exceed the number of ids, 1"),
        ((torch.tensor([[1]]), None, torch.ones(2)), "1 ids and 2 per_sample_weights"),
    ],
)
def test_inputs_that_are_refused(inputs: Any, message: str) -> None:
    model = gnn.EmbeddingBag("t", 4, "sum")
    gnn.TableOptimizer(model)
    with pytest.raises(InvalidWorkload, match=message):
        model(*inputs)


@pytest.mark.parametrize(("offsets", "said"), [([0, 1, 2], "end with 2"), ([], "end with nothing"), ([0, 1, 5], "end with 5")])
def test_a_last_offset_that_is_not_the_number_of_ids_is_refused(offsets: list[int], said: str) -> None:
    model = gnn.EmbeddingBag("t", 4, "sum", include_last_offset=True)
    gnn.TableOptimizer(model)
    with pytest.raises(InvalidWorkload, match=f"{said}; with include_last_offset they end with the number of ids, 4"):
        model(torch.arange(4), torch.tensor(offsets, dtype=torch.int64))


def test_values_between_the_bags_of_a_narrowed_tensor_are_left_out() -> None:
    model = gnn.EmbeddingBag("t", DIM, "sum")
    rows = gnn.TableOptimizer(model, PLAIN)
    starts, lengths = torch.tensor([0, 1]), torch.tensor([2, 1])
    bags = torch.nested.narrow(torch.arange(8).reshape(2, 4), 1, starts, lengths, layout=torch.jagged)
    compare(model(bags), model(torch.tensor([0, 1, 5]), torch.tensor([0, 2])))
    rows.zero_grad()
    model(bags).sum().backward()
    assert rows.step()["t"].applied == 3


def test_hashed_strings() -> None:
    found = gnn.hashed(["a", "ab", "", "ä", "a"], "city")
    assert found.dtype == torch.int64
    assert len(set(found.tolist())) == 4
    assert found[0] == found[4] == gnn.hashed(["a"], "city")[0]
    assert not set(found.tolist()) & set(gnn.hashed(["a", "ab", "", "ä"], "town").tolist())
    matrix = gnn.hashed(np.array([["a", "b"], ["b", "a"]]), "city")
    assert matrix.shape == (2, 2)
    assert matrix[0, 0] == matrix[1, 1] == found[0]


def test_lists_of_ids_are_for_bags() -> None:
    model = gnn.Embedding("t", 4)
    gnn.TableOptimizer(model)
    with pytest.raises(InvalidWorkload, match="table 't': ids must be a tensor, not Ragged; lists of ids go into an EmbeddingBag"):
        model(Ragged(IDS, torch.tensor([0])))
