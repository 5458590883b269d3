"""A model of Transformers as a workload: its own loss, weights drawn by the seed or of a folder, and no network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, GPT2Config, GPT2LMHeadModel, LlamaConfig

from gradstream.adapters.transformers import TransformersWorkload
from gradstream.errors import InvalidWorkload
from gradstream.group.memory import shared_vector
from gradstream.group.problem import GroupProblem
from gradstream.group.tensor.plan import plan_of
from gradstream.input.data import Batches
from gradstream.model import ensemble
from gradstream.model.flat_model import FlatModel
from gradstream.model.problem import ModelProblem
from gradstream.model.usercode import UserCode
from gradstream.spec import JobSpec
from tests.nets import CPU

IDS = torch.arange(24).view(4, 6) % 10
BATCH = {"input_ids": IDS, "labels": IDS}
TINY = {"vocab_size": 10, "n_positions": 8, "n_embd": 8, "n_layer": 1, "n_head": 2, "loss_type": "ForCausalLM"}


class Tiny(TransformersWorkload):
    folder: str | None = None

    def config(self) -> Any:
        return GPT2Config(**TINY)

    def weights(self) -> str | None:
        return self.folder

    def dataset(self, split: str) -> Dataset[Any]:
        raise NotImplementedError


class Classes(Tiny):
    auto = "AutoModelForSequenceClassification"

    def config(self) -> Any:
        sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
        return BertConfig(vocab_size=10, num_labels=3, **sizes)


class Narrow(Tiny):
    def config(self) -> Any:
        return GPT2Config(**TINY, dtype=torch.bfloat16)


def spec(**fields: Any) -> JobSpec:
    given = {"name": "job", "workload": {"entrypoint": f"{__name__}:Tiny"}, "strategy": {"name": "sync"}, "stop": {"epochs": 1}}
    return JobSpec.model_validate(given | fields)


class Learned(Tiny):
    def config(self) -> Any:
        return GPT2Config(**{**TINY, "n_layer": 3, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0})

    def dataset(self, split: str) -> Dataset[Any]:
        return Sentences()


class Sentences(Dataset[Any]):
    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        ids = (torch.arange(6) + index) % 10
        return {"input_ids": ids, "labels": ids}


@pytest.mark.parametrize("recompute", ["none", "blocks"])
def test_stages_train_a_model_as_it_is(recompute: str) -> None:
    """Its embedding is its head, too, so the first and the last stage have a part of that gradient."""
    given = {"workload": {"entrypoint": f"{__name__}:Learned"}, "batch_size": 8, "accumulate": 4, "recompute": recompute}
    job, staged = spec(**given), spec(**given, roles={"worker": {"group": {"stages": 3}}})
    code = UserCode(job)
    batches = Batches(code.dataset("train"), job, 0, code.batching)
    one = ModelProblem(code, FlatModel(code.model(), CPU), batches, job.at_once)
    group = GroupProblem(code, FlatModel(code.model(), CPU, make_theta=shared_vector), batches, staged)
    try:
        group.start_peers(staged, "worker-0", 0)
        for position in range(3):
            expected, found = one.gradient(position), group.gradient(position)
            assert found.loss == expected.loss
            torch.testing.assert_close(found.g, expected.g)
    finally:
        group.close()


class Planned(Tiny):
    """A model with a plan of its own: two heads of keys and values."""

    layers: int = 1

    def config(self) -> Any:
        sizes = {"hidden_size": 16, "intermediate_size": 20, "num_hidden_layers": self.layers}
        return LlamaConfig(vocab_size=10, num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True, **sizes)

    def dataset(self, split: str) -> Dataset[Any]:
        return Sentences()


@pytest.mark.parametrize("kind", ["Planned", "Learned"])
def test_tensor_takes_the_plan_of_the_model_or_gathers_its_linear_layers(kind: str) -> None:
    """GPT-2 has no plan, and its only linear layer is its head, which is the embedding, too."""
    given = {"workload": {"entrypoint": f"{__name__}:{kind}"}, "batch_size": 8}
    job, split = spec(**given), spec(**given, roles={"worker": {"group": {"tensor": 2}}})
    code = UserCode(job)
    batches = Batches(code.dataset("train"), job, 0, code.batching)
    one = ModelProblem(code, FlatModel(code.model().double(), CPU), batches, job.at_once)
    group = GroupProblem(code, FlatModel(code.model().double(), CPU, make_theta=shared_vector), batches, split)
    try:
        group.start_peers(split, "worker-0", 0)
        for position in range(2):
            expected, found = one.gradient(position), group.gradient(position)
            assert found.loss == pytest.approx(expected.loss, rel=1e-12)
            torch.testing.assert_close(found.g, expected.g, rtol=1e-12, atol=1e-12)
        split_inside = 4 + 3 + 1 if kind == "Planned" else 1
        assert len(group._model.planned) == split_inside, "attention, the feed-forward layer and the head"
    finally:
        group.close()


def test_heads_that_the_processes_cannot_share_out_are_refused() -> None:
    with pytest.raises(
        InvalidWorkload, match=r"4 processes cannot share out the 2 heads of the model \(num_key_value_heads\); take a"
    ):
        plan_of(Planned().model(), None, 4)


def test_the_loss_is_the_model_s_own() -> None:
    workload = Tiny()
    model = workload.model().eval()
    logits = model(input_ids=IDS).logits
    by_hand = torch.nn.functional.cross_entropy(logits[:, :-1].reshape(-1, 10), IDS[:, 1:].reshape(-1))
    assert workload.loss(model, BATCH).item() == pytest.approx(by_hand.item(), rel=1e-5)
    assert workload.evaluate(model, BATCH) == {"loss": pytest.approx(by_hand.item(), rel=1e-5)}
    assert model(**BATCH).get("past_key_values") is None, "no mini-batch keeps what generation would need"


def test_every_process_draws_the_same_weights() -> None:
    first, second, other = (UserCode(spec(seed=seed)).model().state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_weights_come_from_a_folder_in_float32(tmp_path: Path) -> None:
    saved = GPT2LMHeadModel(GPT2Config(**TINY)).to(torch.bfloat16)
    saved.save_pretrained(tmp_path)
    loaded = Tiny(folder=str(tmp_path)).model().state_dict()
    for name, value in saved.state_dict().items():
        assert loaded[name].dtype is torch.float32
        assert torch.equal(loaded[name], value.float())


@pytest.mark.parametrize("auto", ["AutoModelForCausalLM", "GPT2LMHeadModel"])
def test_a_model_is_float32_also_if_its_configuration_names_another_dtype(auto: str) -> None:
    """As a configuration does that was saved with weights in bfloat16."""
    made = type("Made", (Narrow,), {"auto": auto})().model()
    assert {p.dtype for p in made.parameters()} == {torch.float32}


def test_labels_of_examples_give_an_accuracy() -> None:
    workload = Classes()
    model = workload.model().eval()
    guesses = model(input_ids=IDS).logits.argmax(-1)
    labels = torch.where(torch.arange(4) < 3, guesses, (guesses + 1) % 3)
    assert workload.evaluate(model, {"input_ids": IDS, "labels": labels})["accuracy"] == 0.75


def test_an_ensemble_is_scored_by_the_mean_of_its_members() -> None:
    job = spec(members=2)
    model = ensemble.build(Tiny(), job).eval()
    whole = Tiny().evaluate(model, BATCH)["loss"]
    assert whole == pytest.approx(sum(Tiny().evaluate(m, BATCH)["loss"] for m in ensemble.members(model)) / 2)


def test_mistakes_are_named_with_a_remedy(tmp_path: Path) -> None:
    class Nameless(TransformersWorkload): ...

    class Unknown(Tiny):
        auto = "AutoModelForNothing"

    workload, model = Tiny(), Tiny().model()
    for call, said in (
        (lambda: workload.loss(model, [IDS, IDS]), "let dataset\\(\\) give dicts with input_ids"),
        (lambda: workload.loss(model, {"input_ids": IDS}), "has no loss, as the mini-batch has no labels"),
        (Tiny(folder=str(tmp_path / "none")).model, "this machine has no such folder; jobs download no weights"),
        (Nameless().model, "Nameless has neither config\\(\\) nor weights\\(\\)"),
        (Unknown().model, "has no AutoModelForNothing"),
    ):
        with pytest.raises(InvalidWorkload, match=said):
            call()
