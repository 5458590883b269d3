"""What an experiment is, and what several of them share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.report.lab import Lab, Run, Values

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Scale:
    """How large a report is."""

    samples: int = 110_000  # of a training run: two passes
    search: int = 22_000  # of a run of the search for learning rates
    watch: int = 5_500  # samples between two looks at the accuracy
    batch: int = 64
    workers: tuple[int, ...] = (1, 2, 4, 8, 16)
    most: int = 32  # workers, in the sweep over n
    rates: tuple[float, ...] = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8)
    events: int = 4000  # pushes, where only their order matters
    long: int = 60_000  # pushes, where a small number is to be measured
    halvings: int = 12
    turns: int = 60  # of each worker, where it is to be seen whether a run grows


FULL = Scale()
QUICK = Scale(
    samples=1600,
    search=800,
    watch=800,
    workers=(1, 2),
    most=2,
    rates=(0.05, 0.1),
    events=200,
    long=2000,
    halvings=3,
    turns=6,
)


@dataclass(frozen=True)
class Finding:
    """What a paper says, and whether it is so here: decided from the numbers."""

    claim: str
    source: str
    repeats: bool
    measured: str
    why: str = ""
    """Said if it does not repeat."""


@dataclass(frozen=True)
class Table:
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    setting: str
    """What is run: one paragraph."""
    runs: Callable[[Scale, Lab], list[Run]]
    """May depend on results of experiments before it. Raises: Missing."""
    findings: Callable[[Scale, Lab], list[Finding]]
    figures: Mapping[str, Callable[[Scale, Lab], Figure]] = field(default_factory=dict)
    tables: Callable[[Scale, Lab], list[Table]] = lambda scale, lab: []
    note: str = ""


EVEN = {"speeds": "lognormal:0.3", "latency": 0.1, "apply": 0.01}
"""Machines of one kind that others use too. The unit is a mini-batch: a message takes a tenth of one, the server's
work on a push a hundredth."""


def training(
    scale: Scale, job: Mapping[str, Any], workers: int, *, samples: int | None = None, shared: bool = False, **costs: Any
) -> Run:
    settings = {"batch_size": scale.batch, **job}
    return Run(
        "train",
        {
            "job": settings,
            "workers": workers,
            "samples": samples or scale.samples,
            "watch_every": scale.watch,
            **EVEN,
            **costs,
            **({"shared": True} if shared else {}),
        },
    )


def first_reaching(result: Values, target: float) -> tuple[int, float] | None:
    """Samples and virtual time when the followed accuracy was there for the first time."""
    return next(((samples, time) for samples, time, accuracy in result["curve"] if accuracy >= target), None)


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def listed(values: Mapping[Any, float]) -> str:
    """`n = 1: 97.7, 2: 97.5`, from shares."""
    return ", ".join(f"{key}: {percent(value)}" for key, value in values.items())
