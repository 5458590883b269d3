"""Which optimizer, as it stands in a job file. The names and fields are those of `torch.optim`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field

if TYPE_CHECKING:
    import torch


Beta = Annotated[float, Field(ge=0, lt=1)]


class Optimizer(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """Fields other than `name` go to the `torch.optim` class as they are."""

    lr: float | None = Field(None, gt=0, description="Default: the strategy's lr where the strategy descends, else 1")
    weight_decay: float = Field(0.0, ge=0, description="L2 penalty (decoupled for adamw)")

    def build(self, params: list[torch.Tensor], lr: float) -> torch.optim.Optimizer:
        """The torch optimizer over `params`; `lr` is used unless the job file names one here."""
        from torch import optim

        classes: dict[str, Any] = {"sgd": optim.SGD, "adagrad": optim.Adagrad, "adam": optim.Adam, "adamw": optim.AdamW}
        options = self.model_dump(exclude={"name", "lr"})
        made: torch.optim.Optimizer = classes[self.name](params, lr=self.lr or lr, **options)  # type: ignore[attr-defined]
        return made


class Sgd(Optimizer, frozen=True):
    name: Literal["sgd"] = "sgd"
    momentum: float = Field(0.0, ge=0, lt=1)
    nesterov: bool = Field(False, description="Nesterov's look-ahead; needs momentum")


class Adagrad(Optimizer, frozen=True):
    name: Literal["adagrad"] = "adagrad"
    eps: float = Field(1e-10, gt=0)


class Adam(Optimizer, frozen=True):
    name: Literal["adam"] = "adam"
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    eps: float = Field(1e-8, gt=0)


class AdamW(Adam, frozen=True):
    name: Literal["adamw"] = "adamw"  # type: ignore[assignment]
    weight_decay: float = Field(0.01, ge=0, description="Decoupled weight decay")


AnyOptimizer = Annotated[Sgd | Adagrad | Adam | AdamW, Field(discriminator="name")]
