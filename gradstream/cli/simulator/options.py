"""The options of `gradstream sim`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from gradstream.cli.simulator.plan import Toy

_COSTS = "Costs, in virtual seconds or any other unit, but the same everywhere"
_FAILURES = "Failures, in the same unit"

JobFile = Annotated[Path | None, typer.Argument(metavar="[JOB.YAML]", help="A job file; without one, a toy problem")]
Problem = Annotated[Toy, typer.Option(help="toy: two parameters; noisy: that with noise; bowl: a thousand, float32")]
Strategy = Annotated[str | None, typer.Option(help="Strategy of a toy, one of `gradstream strategies`; default: async")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Value of the job file, such as strategy.lr=0.1; for a toy, of its strategy"),
]
Gate = Annotated[str | None, typer.Option(help="Gate as in a job file: bsp, asp, '{ssp: 3}', '{max_staleness: 8}'")]
Optimizer = Annotated[str | None, typer.Option(help="Optimizer as in a job file: '{name: adagrad, lr: 0.1}'")]
Workers = Annotated[int | None, typer.Option(help="Workers, from 1 to 1,000; default: the job's, or 4")]
Shards = Annotated[int | None, typer.Option(help="Parameter servers; default: the job's, or 1")]
Events = Annotated[
    int | None, typer.Option(help="End after this many pushes of all workers together; default: no end, or 100 for a toy", min=1)
]
Until = Annotated[float | None, typer.Option(help="End at this virtual time")]
Steps = Annotated[int | None, typer.Option(help="Mini-batches per worker; default: the job's, or no end", min=1)]
Seed = Annotated[int | None, typer.Option(help="Seed of times, noise and data; default: the job's, or 1")]
Speeds = Annotated[
    str | None,
    typer.Option(
        help="Step times of the workers: constant, lognormal:0.3, memoryless, straggler:5, 1,1,2.5 or recorded:FILE",
        rich_help_panel=_COSTS,
    ),
]
Step = Annotated[float | None, typer.Option(help="Time of one mini-batch; default: 1", min=0, rich_help_panel=_COSTS)]
Latency = Annotated[float | None, typer.Option(help="Time of a message, one way; default: 0", min=0, rich_help_panel=_COSTS)]
Bandwidth = Annotated[
    str | None,
    typer.Option(help="Rate of each link, each way, such as 100MB/s or 10Gbit/s; default: unlimited", rich_help_panel=_COSTS),
]
Apply = Annotated[
    float | None,
    typer.Option(help="Time in which a server applies a push, one after another; default: 0", min=0, rich_help_panel=_COSTS),
]
Schedule = Annotated[
    Literal["round-robin", "random"] | None,
    typer.Option(help="Instead of costs: each push takes one unit, equal or exponential", rich_help_panel=_COSTS),
]
Speed = Annotated[
    list[float] | None,
    typer.Option("--speed", help="With --schedule: speed of a worker, from rank 0 on; may be repeated", rich_help_panel=_COSTS),
]
Mtbf = Annotated[float | None, typer.Option(help="Mean time until a worker is lost", rich_help_panel=_FAILURES)]
Down = Annotated[float, typer.Option(help="Time until a lost worker is back", min=0, rich_help_panel=_FAILURES)]
Joins = Annotated[
    list[str] | None,
    typer.Option("--join", metavar="RANK=TIME", help="Worker that joins late; may be repeated", rich_help_panel=_FAILURES),
]
Watch = Annotated[int | None, typer.Option(help="Samples between two points of the curves", min=1)]
Plot = Annotated[Path | None, typer.Option(help="Draw the curves into this .svg, .png or .pdf file")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, with the curves")]
