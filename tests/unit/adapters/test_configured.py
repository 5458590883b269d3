"""`configure_optimizers` against the job file: the same steps pass, and others are refused with the line that says the same."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from torch import nn, optim
from torch.optim import lr_scheduler as schedulers

from gradstream.adapters.configured import check_configured, read_configured
from gradstream.errors import InvalidWorkload
from gradstream.spec import JobSpec

MODEL = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))
HEAD = list(MODEL[1].parameters())


def spec(**fields: Any) -> JobSpec:
    given = {"name": "job", "workload": {"entrypoint": "a:B"}, "strategy": {"name": "sync"}, "stop": {"epochs": 1}}
    return JobSpec.model_validate(given | fields)


def refusal(given: Any, **fields: Any) -> str:
    with pytest.raises(InvalidWorkload) as raised:
        check_configured(read_configured(given), spec(**fields), MODEL)
    assert str(raised.value).startswith("configure_optimizers() ")
    return str(raised.value)


def sgd(**options: Any) -> optim.Optimizer:
    return optim.SGD(MODEL.parameters(), **{"lr": 0.05, **options})


GROUPED = optim.AdamW(
    [{"params": MODEL[0].parameters()}, {"params": HEAD, "lr": 0.0001, "weight_decay": 0.0}], lr=0.001, betas=(0.8, 0.99)
)
EVERY_OPTIMIZER = [
    sgd(),
    sgd(lr=0.2, momentum=0.9, nesterov=True, weight_decay=1e-4, foreach=True),
    optim.Adagrad(MODEL.parameters(), lr=0.1),
    optim.Adam(MODEL.parameters(), lr=0.001, eps=1e-7),
    optim.AdamW(MODEL.parameters(), lr=0.003),
    optim.Adam(MODEL.parameters(), lr=0.003, weight_decay=0.1, decoupled_weight_decay=True),
    optim.SGD([{"params": MODEL[0].parameters(), "lr": 0.0}, {"params": HEAD}], lr=0.001),
    GROUPED,
]


@pytest.mark.parametrize("own", EVERY_OPTIMIZER, ids=lambda own: type(own).__name__)
def test_the_line_of_a_refusal_is_accepted(own: optim.Optimizer) -> None:
    said = refusal(own, optimizer={"name": "adam", "lr": 0.77})
    line = yaml.safe_load(said.split("`")[1])
    check_configured(read_configured(own), spec(**line), MODEL)


def test_every_form_of_one_optimizer_is_read() -> None:
    own = sgd()
    scheduler = schedulers.StepLR(own, 5, gamma=0.5)
    for given in (own, [own], (own,), {"optimizer": own}, ({"optimizer": own},)):
        assert read_configured(given) == (own, None)
    for given in (
        ([own], [scheduler]),
        {"optimizer": own, "lr_scheduler": scheduler},
        {"optimizer": own, "lr_scheduler": {"scheduler": scheduler, "interval": "epoch"}},
        ([own], [{"scheduler": scheduler}]),
    ):
        assert read_configured(given) == (own, scheduler)


def test_several_optimizers_and_none_are_refused() -> None:
    for given, said in (([sgd(), sgd()], "2 optimizers"), (None, "no optimizer"), ((sgd(), {"optimizer": sgd()}), "2 optimizers")):
        with pytest.raises(InvalidWorkload, match=f"gives {said}, and a job has one"):
            read_configured(given)


def test_what_a_job_file_lacks_is_refused() -> None:
    assert "gives RMSprop, and a job file knows SGD, Adagrad, Adam, AdamW" in refusal(optim.RMSprop(MODEL.parameters()))
    assert "Adam amsgrad=True" in refusal(optim.Adam(MODEL.parameters(), amsgrad=True))
    assert "SGD dampening=0.5" in refusal(sgd(momentum=0.9, dampening=0.5))
    grouped = [{"params": MODEL[0].parameters()}, {"params": HEAD, "momentum": 0.5}]
    assert "gives 0.weight momentum=0.9 and 1.weight momentum=0.5" in refusal(optim.SGD(grouped, lr=0.05, momentum=0.9))
    assert "leaves out 1.weight, 1.bias" in refusal(optim.SGD(MODEL[0].parameters(), lr=0.05))


def test_another_rate_names_the_parameter_and_both_values() -> None:
    said = refusal(sgd(lr=0.1))
    assert "gives 0.weight lr=0.1, and the job file 0.05: write `optimizer: {name: sgd, lr: 0.1}`" in said
    check_configured(read_configured(sgd(lr=0.1)), spec(strategy={"name": "sync", "lr": 0.1}), MODEL)


def test_schedulers_are_compared_by_kind_and_factor() -> None:
    def with_scheduler(make: Any) -> Any:
        own = sgd()
        return {"optimizer": own, "lr_scheduler": make(own)}

    steps = with_scheduler(lambda own: schedulers.StepLR(own, 5, gamma=0.5))
    cosine = with_scheduler(lambda own: schedulers.CosineAnnealingLR(own, 10, eta_min=0.005))
    falling = with_scheduler(lambda own: schedulers.CosineAnnealingLR(own, 10))
    for given, schedule in (
        (steps, {"name": "step", "every": 100, "to": 0.5}),
        (with_scheduler(lambda own: schedulers.ExponentialLR(own, 0.9)), {"name": "step", "every": 100, "to": 0.9}),
        (cosine, {"name": "cosine", "to": 0.1}),
        (falling, {"name": "cosine"}),
    ):
        check_configured(read_configured(given), spec(schedule=schedule), MODEL)
    assert "`schedule: {name: step, every: N, to: 0.5}`" in refusal(steps)
    assert "is step with to: 0.1" in refusal(steps, schedule={"name": "step", "every": 100})
    assert "`schedule: {name: cosine, over: N, to: 0.1}`" in refusal(cosine, schedule={"name": "cosine"})
    plateau = with_scheduler(schedulers.ReduceLROnPlateau)
    assert "the scheduler ReduceLROnPlateau, and a job file knows StepLR" in refusal(plateau)
    own = sgd()
    both = [schedulers.StepLR(own, 5), schedulers.StepLR(own, 6)]
    with pytest.raises(InvalidWorkload, match="2 schedulers"):
        read_configured(([own], both))
