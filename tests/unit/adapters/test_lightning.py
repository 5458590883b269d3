"""A LightningModule as a workload: its loss and its scores, and what a Trainer would have done is refused by name."""

from __future__ import annotations

from typing import Any

import lightning
import pytest
import torch
import torchmetrics
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from gradstream.adapters.lightning import LightningWorkload
from gradstream.errors import InvalidWorkload
from gradstream.evaluation.scoring import Scorer
from gradstream.model.usercode import UserCode
from gradstream.spec import JobSpec
from gradstream.user_logging.scalars import LoggedScalars

POINTS = torch.linspace(-1, 1, 20)[:, None]
BATCH = [POINTS, (POINTS[:, 0] > 0).long()]


class Module(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(1, 2)

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])


class Loaded(lightning.LightningDataModule):
    def prepare_data(self) -> None:
        self.prepared = True

    def setup(self, stage: str) -> None:
        self.data = TensorDataset(*BATCH) if self.prepared and stage == "fit" else None

    def train_dataloader(self) -> Any:
        return DataLoader(self.data, batch_size=3, drop_last=True, collate_fn=lambda examples: examples)

    def val_dataloader(self) -> Any:
        return [DataLoader(self.data)] * 2


class Here(LightningWorkload):
    kind: str = "Module"

    def module(self) -> Any:
        return globals()[self.kind]()

    def dataset(self, split: str) -> Dataset[Any]:
        return TensorDataset(*BATCH)


def spec(**fields: Any) -> JobSpec:
    given = {"name": "job", "workload": {"entrypoint": f"{__name__}:Here"}, "strategy": {"name": "sync"}, "stop": {"epochs": 1}}
    return JobSpec.model_validate(given | fields)


def made(kind: type[nn.Module], **attributes: Any) -> tuple[LightningWorkload, Any]:
    """A workload with this module, and the model that it makes."""
    workload = type("Made", (Here,), {"module": lambda self: kind(), **attributes})()
    return workload, workload.model()


def with_step(step: Any, **methods: Any) -> type[nn.Module]:
    return type("Stepping", (Module,), {"training_step": step, **methods})


def refusal(kind: type[nn.Module]) -> str:
    with pytest.raises(InvalidWorkload) as raised:
        made(kind)
    return str(raised.value)


def test_the_loss_is_that_of_the_training_step() -> None:
    workload, model = made(Module)
    loss = workload.loss(model, BATCH)
    assert loss.item() == nn.functional.cross_entropy(model.net(BATCH[0]), BATCH[1]).item()
    loss.backward()
    assert model.net.weight.grad.abs().sum() > 0


def test_steps_get_as_many_numbers_as_they_take() -> None:
    seen: list[Any] = []
    zero = torch.zeros(())
    for step in (
        lambda self, batch: seen.append("none") or zero,
        lambda self, batch, batch_idx: seen.append(batch_idx) or zero,
        lambda self, x, i: seen.append(i) or zero,
        lambda self, batch, batch_idx, dataloader_idx=7: seen.append((batch_idx, dataloader_idx)) or {"loss": zero},
    ):
        workload, model = made(with_step(step))
        workload.loss(model, BATCH)
        workload.loss(model, BATCH)
    assert seen == ["none", "none", 0, 1, 0, 1, (0, 0), (1, 0)]


class Scored(Module):
    def __init__(self) -> None:
        super().__init__()
        self.hits = torchmetrics.classification.BinaryAUROC()

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        self.log("train", 5.0)
        return super().training_step(batch, batch_idx)

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        scores = self.net(batch[0])
        self.hits(scores[:, 1] - scores[:, 0], batch[1])
        self.log("val_loss", nn.functional.cross_entropy(scores, batch[1]), prog_bar=True)
        self.log_dict({"half": 0.5, "auc": self.hits})


def test_scores_are_means_over_the_split_and_torchmetrics_see_all_of_it() -> None:
    code = UserCode(spec(workload={"entrypoint": f"{__name__}:Here", "args": {"kind": "Scored"}}))
    model = code.model()
    scorer = Scorer(code, model, code.dataset("eval"), 8, torch.device("cpu"))
    whole = nn.functional.cross_entropy(model.net(BATCH[0]), BATCH[1]).item()  # type: ignore[operator]
    descends = model.net.weight[1] < model.net.weight[0]  # type: ignore[union-attr, index, operator]
    for _ in range(2):
        assert scorer.score() == {"val_loss": pytest.approx(whole), "half": 0.5, "auc": 0.0 if descends else 1.0}


def test_torchmetrics_that_see_a_part_of_the_split_are_refused() -> None:
    workload, model = made(Scored)
    workload.check_job(spec(evaluate={"every": "1 epochs", "processes": 2}), model)
    with pytest.raises(InvalidWorkload, match=r"evaluate.processes: .* logs 'auc' as a torchmetrics object.*set it to 1"):
        workload.evaluate(model, BATCH)


def test_without_a_validation_step_the_score_is_the_loss() -> None:
    workload, model = made(Module)
    assert workload.evaluate(model, BATCH) == {"loss": pytest.approx(workload.loss(model, BATCH).item())}


def test_a_datamodule_gives_its_data_sets() -> None:
    workload, _ = made(Module)
    assert workload.from_datamodule(Loaded(), "train")[3][1] == BATCH[1][3]  # type: ignore[index]
    assert workload.drop_last
    assert workload.collate_fn([1, 2]) == [1, 2]
    with pytest.raises(InvalidWorkload, match=r"val_dataloader\(\) returned a list of 2 DataLoader.*return one"):
        workload.from_datamodule(Loaded(), "eval")


def test_layers_that_setup_and_configure_model_make_are_trained() -> None:
    def setup(self: Any, stage: str) -> None:
        self.more = nn.Linear(1, 3 if stage == "fit" else 4)

    _, model = made(
        with_step(Module.training_step, setup=setup, configure_model=lambda self: setattr(self, "head", nn.Linear(2, 2)))
    )
    assert {name.partition(".")[0] for name, _ in model.named_parameters()} == {"net", "more", "head"}


def test_a_module_that_a_job_would_not_train_as_a_trainer_does_is_refused_by_name() -> None:
    def manual(self: Any) -> None:
        Module.__init__(self)
        self.automatic_optimization = False

    without = type("Without", (lightning.LightningModule,), {})
    assert "Without has no training_step()" in refusal(without)
    assert "sets automatic_optimization = False" in refusal(type("Gan", (Module,), {"__init__": manual}))
    assert "not a Linear; for other modules, subclass Workload" in refusal(type("Linear", (nn.ReLU,), {}))
    for hook in ("on_train_batch_end", "on_validation_epoch_end", "configure_callbacks", "optimizer_step", "on_save_checkpoint"):
        assert f"has {hook}(), which a Trainer calls and a job does not" in refusal(
            type("Hooked", (Module,), {hook: lambda self: None})
        )
    hooked = type("Hooked", (Module,), {"on_train_start": lambda self: None, "on_test_start": lambda self: None})
    assert made(hooked, ignores=frozenset({"on_train_start"}))[1].training


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (lambda self: self.trainer.max_epochs, "self.trainer.max_epochs"),
        (lambda self: self.current_epoch, "self.trainer.current_epoch"),
        (lambda self: self.global_step, "self.trainer.global_step"),
        (lambda self: self.optimizers(), "self.trainer.strategy"),
        (lambda self: self.all_gather(1), "self.trainer.strategy"),
    ],
)
def test_a_step_that_needs_a_trainer_says_which_part(use: Any, said: str) -> None:
    def step(self: Any, batch: Any) -> Any:
        use(self)

    workload, model = made(with_step(step))
    with pytest.raises(InvalidWorkload, match="no Trainer runs in a job") as raised:
        workload.loss(model, BATCH)
    assert f"uses {said}" in str(raised.value)


def test_steps_without_a_result_and_odd_logs_are_refused() -> None:
    workload, model = made(with_step(lambda self, batch: None))
    with pytest.raises(InvalidWorkload, match=r"training_step\(\) returned no loss"):
        workload.loss(model, BATCH)
    for validation, said in (
        (lambda self, batch: None, "logs nothing"),
        (lambda self, batch: self.log("x", torch.ones(2)), r"logs 'x' as a tensor of shape \(2,\)"),
        (lambda self, batch: self.log("x", 1.0, reduce_fx="max"), "with reduce_fx"),
    ):
        workload, model = made(type("Validating", (Module,), {"validation_step": validation}))
        with pytest.raises(InvalidWorkload, match=said):
            workload.evaluate(model, BATCH)


def test_logs_of_a_training_step_are_those_of_the_workload() -> None:
    def step(self: Any, batch: Any) -> Any:
        self.log("acc", 0.5, prog_bar=True)
        self.log_dict({"norm": torch.tensor(2.0)}, reduce_fx="max")
        self.log("metric", nn.Identity())  # as a torchmetric, which is a module
        return self.net(batch[0]).sum()

    workload, model = made(with_step(step))
    workload._scalars = LoggedScalars()
    workload.loss(model, BATCH)
    assert workload._scalars.take() == {"acc": 0.5, "norm": 2.0}


def test_ensembles_are_refused() -> None:
    workload, model = made(Module)
    with pytest.raises(InvalidWorkload, match="members: "):
        workload.check_job(spec(members=2), model)
