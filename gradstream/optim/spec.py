"""Which optimizer, as it stands in a job file. The names and fields are those of `torch.optim`, where it has the rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from gradstream.bounds import BoundedPart, Number
from gradstream.optim.groups import ParameterGroup, matches

if TYPE_CHECKING:
    import torch

    from gradstream.optim.parameters import ParameterShape


Beta = Annotated[float, Field(ge=0, lt=1)]
Named = Iterable[tuple[str, "torch.Tensor"]]
"""Parameters with their names."""
Sees = Literal["element", "parameter", "matrix"]
"""Knowledge that a step needs of an element: none, its parameter, or all values of that parameter."""


class Optimizer(BoundedPart, frozen=True):
    """Fields go to the optimizer's class as they are, but for those in `_OWN`."""

    lr: Number | None = Field(
        None, gt=0, description="Learning rate; default: the strategy's lr if the strategy descends on this side, else 1"
    )
    weight_decay: Number = Field(0.0, ge=0, description="L2 penalty")
    clip_norm: Number | None = Field(
        None, gt=0, description="Clip the update to this L2 norm; the server clips the mean of the pushes; default: no clipping"
    )
    clip_parameter_norm: Number | None = Field(
        None,
        gt=0,
        description="Clip the update of each parameter of the model to this L2 norm; default: no clipping",
    )
    groups: tuple[ParameterGroup, ...] = Field(
        (), max_length=1000, description="Other learning rates and weight decays for parameters, by patterns of their names"
    )
    state_vectors: ClassVar[tuple[str, ...]] = ()
    """State vectors as long as theta, by torch's names."""
    rule_vectors: ClassVar[int] = 0
    """Vectors like theta that a step makes at most, beside the state and without weight decay and clipping."""
    decay_vectors: ClassVar[int] = 1
    """Those that weight decay makes: a gradient with it."""
    couples_layers: ClassVar[bool] = False
    """A step takes a norm of each parameter, or needs it as a matrix."""
    _OWN: ClassVar[frozenset[str]] = frozenset(
        {"name", "lr", "clip_norm", "clip_parameter_norm", "groups", "momentum_correction", "adamw"}
    )

    @property
    def is_plain(self) -> bool:
        """A step is theta - lr x, and nothing is kept."""
        return False

    @property
    def sees(self) -> Sees:
        """Decides where the vector may be cut between servers (`gradstream.center.parameters.slices`)."""
        if self.couples_layers or self.clip_parameter_norm is not None:
            return "matrix"
        return "parameter" if self.groups else "element"

    @property
    def step_vectors(self) -> int:
        """Vectors like theta that a step makes at most, beside the state."""
        decays = self.decay_vectors * any((self.weight_decay, *(group.weight_decay for group in self.groups)))
        return self.rule_vectors + decays + (self.clip_norm is not None) + (self.clip_parameter_norm is not None)

    def build(self, named: Named, lr: float, workers: int = 1) -> torch.optim.Optimizer:
        """The torch optimizer over these parameters; `lr` is used unless the job file names one here. Clipping is the caller's.
        Its groups have an `lr_factor`, which a caller that sets their rate must apply.

        Not fused: torch's fused kernels treat the last few elements of a vector another way, so that slices of it would have
        other bits than the whole."""
        options = self.model_dump(exclude={*self._OWN})
        made: torch.optim.Optimizer = self._torch_class()(self._grouped(named, self.lr or lr), **options)
        return made

    def unused(self, parameters: Sequence[ParameterShape]) -> Iterator[tuple[str, str]]:
        """Yield each setting that none of a model's parameters is meant by: its place, and what it lacks."""
        taken = {self._group_of(parameter.name) for parameter in parameters}
        for number, group in enumerate(self.groups):
            if number not in taken:
                yield f"groups.{number}.match", f"'{group.match}' matches no parameter that an earlier group leaves"

    def _torch_class(self) -> Any:
        from torch import optim

        return getattr(optim, {"sgd": "SGD", "adagrad": "Adagrad", "adam": "Adam", "adamw": "AdamW"}[self.name])  # type: ignore[attr-defined]

    def _group_of(self, name: str) -> int | None:
        return next((number for number, group in enumerate(self.groups) if matches(name, group.match)), None)

    def _grouped(self, named: Named, lr: float) -> list[dict[str, Any]]:
        """Return torch's groups: those of parameters with the same settings."""
        found: dict[tuple[Any, ...], list[torch.Tensor]] = {}
        for name, parameter in named:
            found.setdefault((self._group_of(name), *self._kind(name, parameter.ndim)), []).append(parameter)
        return [{"params": members, **self._settings(lr, *key)} for key, members in found.items()]

    def _kind(self, name: str, ndim: int) -> tuple[bool, ...]:
        """Return what else parts parameters."""
        return ()

    def _settings(self, lr: float, number: int | None) -> dict[str, Any]:
        if number is None:
            return {"lr": lr, "lr_factor": 1.0}
        group = self.groups[number]
        decay = {} if group.weight_decay is None else {"weight_decay": group.weight_decay}
        return {"lr": lr * group.lr_factor, "lr_factor": group.lr_factor, "adapt": group.adapt, **decay}


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

    def build(self, named: Named, lr: float, workers: int = 1) -> torch.optim.Optimizer:
        made = super().build(named, lr)
        for group in made.param_groups:
            group["momentum"] = self.effective_momentum(workers)  # torch's constructor would refuse one below 0
        return made

    @property
    def step_vectors(self) -> int:
        return super().step_vectors + self.nesterov

    @property
    def is_plain(self) -> bool:
        return not (self.momentum or self.momentum_correction or self.weight_decay or self.sees != "element")


class Adagrad(Optimizer, frozen=True):
    name: Literal["adagrad"] = "adagrad"
    state_vectors: ClassVar[tuple[str, ...]] = ("sum",)
    rule_vectors: ClassVar[int] = 1
    eps: Number = Field(1e-10, gt=0, description="Constant that is added to the denominator")


class Adam(Optimizer, frozen=True):
    name: Literal["adam"] = "adam"
    state_vectors: ClassVar[tuple[str, ...]] = ("exp_avg", "exp_avg_sq")
    rule_vectors: ClassVar[int] = 2
    betas: tuple[Beta, Beta] = Field(
        (0.9, 0.999), description="Decay rates of the mean of gradients and of the mean of their squares"
    )
    eps: Number = Field(1e-8, gt=0, description="Constant that is added to the denominator")


class AdamW(Adam, frozen=True):
    name: Literal["adamw"] = "adamw"  # type: ignore[assignment]
    decay_vectors: ClassVar[int] = 0
    weight_decay: Number = Field(0.01, ge=0, description="Decoupled weight decay")


class Lars(Optimizer, frozen=True):
    """SGD with momentum whose step for each parameter is scaled by its norm: for mini-batches of thousands of examples."""

    name: Literal["lars"] = "lars"
    couples_layers: ClassVar[bool] = True
    decay_vectors: ClassVar[int] = 0
    momentum: float = Field(0.9, ge=0, lt=1, description="Momentum of the step")
    trust: Number = Field(0.001, gt=0, description="Length of a step, as a share of the parameter's norm (eta), before lr")
    state_vectors: ClassVar[tuple[str, ...]] = ("momentum_buffer",)

    def _torch_class(self) -> Any:
        from gradstream.optim import layers

        return layers.LarsSteps


class Lamb(Adam, frozen=True):
    """Adam whose step for each parameter is as long as the parameter, times lr: for mini-batches of thousands of examples."""

    name: Literal["lamb"] = "lamb"  # type: ignore[assignment]
    couples_layers: ClassVar[bool] = True
    decay_vectors: ClassVar[int] = 0
    eps: Number = Field(1e-6, gt=0, description="Constant that is added to the denominator")
    weight_decay: Number = Field(0.01, ge=0, description="Weight decay, before the step is scaled")

    def _torch_class(self) -> Any:
        from gradstream.optim import layers

        return layers.LambSteps


class Muon(Optimizer, frozen=True):
    """Momentum made orthogonal, for each matrix; AdamW steps all other parameters."""

    name: Literal["muon"] = "muon"
    couples_layers: ClassVar[bool] = True
    rule_vectors: ClassVar[int] = 2
    decay_vectors: ClassVar[int] = 0
    weight_decay: Number = Field(0.1, ge=0, description="Decoupled weight decay")
    momentum: float = Field(0.95, ge=0, lt=1, description="Momentum of the matrices")
    nesterov: bool = Field(True, description="Use Nesterov's look-ahead")
    ns_steps: int = Field(5, ge=1, le=100, description="Newton-Schulz iterations of a step")
    adamw: tuple[str, ...] = Field(
        (), max_length=1000, description="Patterns of names of matrices that AdamW steps, too, such as `head.*`"
    )
    betas: tuple[Beta, Beta] = Field((0.9, 0.999), description="Decay rates of AdamW")
    eps: Number = Field(1e-8, gt=0, description="Constant that AdamW adds to the denominator")
    state_vectors: ClassVar[tuple[str, ...]] = ("momentum_buffer", "exp_avg", "exp_avg_sq")

    def unused(self, parameters: Sequence[ParameterShape]) -> Iterator[tuple[str, str]]:
        yield from super().unused(parameters)
        for number, pattern in enumerate(self.adamw):
            if not any(len(shape) == 2 and matches(name, pattern) for name, shape in parameters):
                yield f"adamw.{number}", f"'{pattern}' matches no matrix"
        if not any(self._kind(name, len(shape)) == (True,) for name, shape in parameters):
            yield "name", "muon steps matrices, and there is none; take adamw"

    def _torch_class(self) -> Any:
        from gradstream.optim import layers

        return layers.MuonSteps

    def _kind(self, name: str, ndim: int) -> tuple[bool, ...]:
        return (ndim == 2 and not any(matches(name, pattern) for pattern in self.adamw),)

    def _settings(self, lr: float, number: int | None, orthogonal: bool = False) -> dict[str, Any]:
        return {**super()._settings(lr, number), "orthogonal": orthogonal}


AnyOptimizer = Annotated[Sgd | Adagrad | Adam | AdamW | Lars | Lamb | Muon, Field(discriminator="name")]
