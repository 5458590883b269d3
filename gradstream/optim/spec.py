"""Which optimizer, as it stands in a job file. The names and fields are those of `torch.optim`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from gradstream.bounds import BoundedPart, Number

if TYPE_CHECKING:
    import torch


Beta = Annotated[float, Field(ge=0, lt=1)]


class Optimizer(BoundedPart, frozen=True):
    """Fields go to the `torch.optim` class as they are, but for `name`, `clip_norm` and `momentum_correction`."""

    lr: Number | None = Field(
        None, gt=0, description="Learning rate; default: the strategy's lr if the strategy descends on this side, else 1"
    )
    weight_decay: Number = Field(0.0, ge=0, description="L2 penalty")
    clip_norm: Number | None = Field(
        None, gt=0, description="Clip the update to this L2 norm; the server clips the mean of the pushes; default: no clipping"
    )
    state_vectors: ClassVar[tuple[str, ...]] = ()
    """State vectors as long as theta, by torch's names."""

    @property
    def is_plain(self) -> bool:
        """A step is theta - lr x, and nothing is kept."""
        return False

    def build(self, params: list[torch.Tensor], lr: float, workers: int = 1) -> torch.optim.Optimizer:
        """The torch optimizer over `params`; `lr` is used unless the job file names one here. Clipping is the caller's.

        Not fused: torch's fused kernels treat the last few elements of a vector another way, so that slices of it would have
        other bits than the whole."""
        from torch import optim

        classes: dict[str, Any] = {"sgd": optim.SGD, "adagrad": optim.Adagrad, "adam": optim.Adam, "adamw": optim.AdamW}
        options = self.model_dump(exclude={"name", "lr", "clip_norm", "momentum_correction"})
        made: torch.optim.Optimizer = classes[self.name](params, lr=self.lr or lr, **options)  # type: ignore[attr-defined]
        return made


class Sgd(Optimizer, frozen=True):
    name: Literal["sgd"] = "sgd"
    momentum: float = Field(0.0, ge=0, lt=1, description="Momentum of the step")
    nesterov: bool = Field(False, description="Use Nesterov's look-ahead; needs a momentum above 0")
    momentum_correction: bool = Field(
        False, description="Subtract the momentum that n asynchronous workers add: use momentum - (1 - 1/n)"
    )
    state_vectors: ClassVar[tuple[str, ...]] = ("momentum_buffer",)

    def effective_momentum(self, workers: int) -> float:
        """May be below 0. Source: Mitliagkas, Zhang, Hadjis, Re 2016, "Asynchrony begets momentum"."""
        return self.momentum - (1 - 1 / workers) if self.momentum_correction else self.momentum

    def build(self, params: list[torch.Tensor], lr: float, workers: int = 1) -> torch.optim.Optimizer:
        made = super().build(params, lr)
        for group in made.param_groups:
            group["momentum"] = self.effective_momentum(workers)  # torch's constructor would refuse one below 0
        return made

    @property
    def is_plain(self) -> bool:
        return not (self.momentum or self.momentum_correction or self.weight_decay)


class Adagrad(Optimizer, frozen=True):
    name: Literal["adagrad"] = "adagrad"
    state_vectors: ClassVar[tuple[str, ...]] = ("sum",)
    eps: Number = Field(1e-10, gt=0, description="Constant that is added to the denominator")


class Adam(Optimizer, frozen=True):
    name: Literal["adam"] = "adam"
    state_vectors: ClassVar[tuple[str, ...]] = ("exp_avg", "exp_avg_sq")
    betas: tuple[Beta, Beta] = Field(
        (0.9, 0.999), description="Decay rates of the mean of gradients and of the mean of their squares"
    )
    eps: Number = Field(1e-8, gt=0, description="Constant that is added to the denominator")


class AdamW(Adam, frozen=True):
    name: Literal["adamw"] = "adamw"  # type: ignore[assignment]
    weight_decay: Number = Field(0.01, ge=0, description="Decoupled weight decay")


AnyOptimizer = Annotated[Sgd | Adagrad | Adam | AdamW, Field(discriminator="name")]
