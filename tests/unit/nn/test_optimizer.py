"""Steps of tables in a script: scores, sums, saved states, and what a step refuses."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
import torch
from torch import nn

from gradstream import nn as gnn
from gradstream.errors import Invalid, InvalidWorkload


def test_clicks_reach_the_scores_of_their_keys() -> None:
    model = gnn.EmbeddingBag("t", 2, "sum")
    rows = gnn.TableOptimizer(model, {"t": {"keep": {"score": 1.1}, "score": {"unclicked": 0.1, "clicked": 1}}})
    model(torch.tensor([1, 2, 2, 3]), torch.tensor([0, 1])).sum().backward()
    rows.step(clicks=torch.tensor([0.0, 1.0]))  # scores: 0.1, 2, 1
    assert rows.shrink() == {"t": 2}
    assert rows.summary()["t"].rows == 1
    assert model(torch.tensor([[2]])).detach().tolist() == model(torch.tensor([[2]])).tolist()
    model(torch.tensor([[1]])).sum().backward()
    with pytest.raises(InvalidWorkload, match="2 clicks for a forward of 1 examples"):
        rows.step(clicks=torch.ones(2))


@pytest.mark.parametrize(("gradient", "examples", "step"), [("mean", None, 1), ("sum", None, 3), ("sum", 6, 6)])
def test_sums_are_means_times_the_examples(gradient: str, examples: int | None, step: float) -> None:
    model = gnn.Embedding("t", 1)
    rule = {"rule": {"name": "sgd", "lr": 1}, "init": {"uniform": 0}, "gradient": gradient}
    rows = gnn.TableOptimizer(model, {"default": rule})
    model(torch.tensor([5, 5, 5])).mean().backward()
    rows.step(examples=examples)
    assert model(torch.tensor(5)).item() == -step


def test_the_schedule_scales_the_rate() -> None:
    model = gnn.Embedding("t", 1)
    rows = gnn.TableOptimizer(model, {"t": {"rule": {"name": "sgd", "lr": 1}, "init": {"uniform": 0}}})
    rows.factor = 0.25
    model(torch.tensor([5])).sum().backward()
    rows.step()
    assert model(torch.tensor(5)).item() == -0.25


def test_a_gradient_that_is_not_finite_changes_nothing() -> None:
    model = nn.ModuleDict({"a": gnn.Embedding("a", 1), "b": gnn.Embedding("b", 1)})
    rows = gnn.TableOptimizer(model)
    (model["a"](torch.tensor([1])) + model["b"](torch.tensor([1])) * float("inf")).sum().backward()
    with pytest.raises(InvalidWorkload, match="table 'b': a gradient is not finite"):
        rows.step()
    assert rows.summary()["a"].rows == 0
    rows.zero_grad()
    assert rows.step() == {}


def test_a_saved_state_goes_on_with_the_same_bits() -> None:
    rules = {"t": {"rule": {"name": "adam"}, "admit": {"count": 2}, "keep": {"decay": 0.9, "score": 0.15}}}

    def train(model: nn.Module, rows: gnn.TableOptimizer, steps: range) -> None:
        for step in steps:
            ids = torch.arange(step % 3, 40, step % 5 + 1)
            (model(ids) * (ids % 7 - 3)[:, None]).sum().backward()
            rows.step(clicks=(ids % 2).float())
            if step % 10 == 9:
                rows.shrink()

    model, twin = gnn.Embedding("t", 3), gnn.Embedding("t", 3)
    rows, others = gnn.TableOptimizer(model, rules, seed=7), gnn.TableOptimizer(twin, rules)
    train(model, rows, range(25))
    file = io.BytesIO()
    torch.save(rows.state_dict(), file)
    file.seek(0)
    others.load_state_dict(torch.load(file))
    train(model, rows, range(25, 60))
    train(twin, others, range(25, 60))
    stored, again = rows.state_dict(), others.state_dict()
    assert stored["seed"] == again["seed"] == 7
    assert all(torch.equal(values, again["tables"]["t"][name]) for name, values in stored["tables"]["t"].items() if name != "time")
    with pytest.raises(InvalidWorkload, match="the tables t, and this model u"):
        gnn.TableOptimizer(gnn.Embedding("u", 3)).load_state_dict(stored)
    with pytest.raises(Invalid, match="use the dim and the rule"):
        gnn.TableOptimizer(twin).load_state_dict(stored)
    assert torch.equal(twin(torch.arange(40)), twin(torch.arange(40)))


def test_a_factorisation_machine_learns_a_product() -> None:
    torch.manual_seed(0)
    model = nn.ModuleList([gnn.Embedding("left", 4), gnn.Embedding("right", 4)])
    rows = gnn.TableOptimizer(model, {"default": {"rule": {"name": "adagrad", "lr": 0.3}, "init": {"uniform": 0.5}}})
    for _ in range(300):
        left, right = torch.randint(0, 8, (2, 256)) - 4
        target = torch.sign((left + 0.5) * (right + 0.5))
        loss = ((model[0](left) * model[1](right)).sum(1) - target).square().mean()
        loss.backward()
        rows.step()
    assert loss.item() < 0.01


def test_starting_imports_neither_torch_nor_numba() -> None:
    code = "import sys, gradstream, gradstream.spec.tables, gradstream.cli.main; print({'torch', 'numba'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "set()"


def test_clicks_of_several_forwards_are_given_before_each() -> None:
    rules = {"t": {"keep": {"score": 0.5}, "rule": {"name": "sgd"}}}
    whole, parts = (gnn.Embedding("t", 1) for _ in range(2))
    one, other = gnn.TableOptimizer(whole, rules), gnn.TableOptimizer(parts, rules)
    ids, clicks = torch.tensor([1, 2, 1, 3]), torch.tensor([1.0, 0.0, 1.0, 0.0])
    whole(ids).sum().backward()
    one.step(clicks=clicks)
    for half in (slice(0, 2), slice(2, 4)):
        other.use_clicks(clicks[half])
        parts(ids[half]).sum().backward()
    other.step()
    first, second = (rows.state_dict()["tables"]["t"] for rows in (one, other))
    assert first["events"].tolist() == second["events"].tolist()
    assert dict(zip(first["keys"].tolist(), first["events"].tolist(), strict=True)) == {1: [2, 2], 2: [1, 0], 3: [1, 0]}


@pytest.mark.parametrize("wrong", [[float("nan"), 1.0], [-1.0, 0.0], [float("inf"), 0.0]])
def test_clicks_that_are_no_numbers_of_clicks_are_refused(wrong: list[float]) -> None:
    model = gnn.Embedding("t", 1)
    rows = gnn.TableOptimizer(model, {"t": {"keep": {"score": 0.5}}})
    model(torch.tensor([1, 2])).sum().backward()
    with pytest.raises(InvalidWorkload, match=r"table .t.: clicks lie between .* make them finite, and 0 or more"):
        rows.step(clicks=torch.tensor(wrong))
    assert rows.summary()["t"].rows == 0


def test_a_shrink_of_one_table_leaves_the_others() -> None:
    model = nn.ModuleList([gnn.Embedding("a", 1), gnn.Embedding("b", 1)])
    rows = gnn.TableOptimizer(model, {"default": {"keep": {"unseen": 1}}})
    for module in model:
        module(torch.tensor([1, 2])).sum().backward()
    rows.step()
    assert rows.shrink(["a"]) == {"a": 0}
    assert rows.shrink(["a"]) == {"a": 2}
    assert {name: table.rows for name, table in rows.summary().items()} == {"a": 0, "b": 2}


@pytest.mark.parametrize("wrong", [["usr"], ["user", "usr"], "user_id", "user"])
def test_a_shrink_of_a_table_that_is_not_there_is_refused(wrong: list[str] | str) -> None:
    """A text is not taken for the tables whose names lie in it."""
    rows = gnn.TableOptimizer(gnn.Embedding("user", 1), {"user": {"keep": {"unseen": 1}}})
    with pytest.raises(InvalidWorkload, match="are not names of tables; give a list of some of user"):
        rows.shrink(wrong)


def test_an_interval_of_shrinks_is_for_jobs() -> None:
    with pytest.raises(InvalidWorkload, match=r"shrink of t is for jobs; remove it, and call rows.shrink\(\)"):
        gnn.TableOptimizer(gnn.Embedding("t", 1), {"t": {"most": 2048, "shrink": "1 epochs"}})
