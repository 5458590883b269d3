"""Progress of a job, whole and as lists show it."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from gradstream.api.base import ApiModel
from gradstream.progress.exchange import Exchange, ShardLoad


class Headway(ApiModel):
    """The part of `Progress` that lists show."""

    samples: int = Field(0, description="Samples of the updates that the servers have applied")
    total_samples: int | None = Field(None, description="Samples of the whole run")
    done: float | None = Field(None, description="Share of the attempt's mini-batches that is trained, 0 to 1; null: not known")
    samples_per_second: float | None = Field(None, description="`mean_samples_per_second` of `Progress`")
    loss: float | None = Field(None, description="Mean of the workers' last mini-batch losses; null if one is not finite")
    not_finite: list[int] = Field(default_factory=list, description="Workers whose last loss is a NaN or an infinity")
    loss_curve: list[float] = Field(
        default_factory=list, description="`loss_curve` of `Progress`, rounded to a hundredth of its height or finer"
    )
    mean_staleness: float | None = Field(None, description="Mean over all pushes so far")
    eval: dict[str, float | None] = Field(
        default_factory=dict, description="Last evaluation", examples=[{"accuracy": 0.97, "loss": 0.11}]
    )
    main_metric: str | None = Field(
        None,
        description="Key in `eval` of the job's main metric: its target's, else accuracy, else another",
        examples=["accuracy"],
    )


class DealtBatches(ApiModel):
    """Mini-batches that the servers deal on demand: planned = trained + dropped + outstanding + returned + left."""

    planned: int = Field(description="Mini-batches of the job")
    trained: int = Field(description="In pushes that counted")
    dropped: int = Field(description="In pushes that held a NaN or an infinity; they are not dealt again")
    outstanding: int = Field(description="Dealt to a worker that has not pushed them yet")
    returned: int = Field(description="Left by a lost worker, waiting to be dealt again")
    left: int = Field(description="Not dealt so far")

    @property
    def phrase(self) -> str:
        """Say where they are; a count that is 0 is left out, but that of trained ones."""
        counts = {name: getattr(self, name) for name in ("dropped", "outstanding", "returned", "left")}
        others = "".join(f" + {count:,} {name}" for name, count in counts.items() if count)
        return f"{self.planned:,} planned = {self.trained:,} trained{others}"


class Progress(Headway):
    """How far training is, from the metrics."""

    epoch_samples: int | None = Field(None, description="Samples of one pass over the training data; null: not known")
    version: int = Field(0, description="Updates so far")
    seconds_left: float | None = Field(
        None,
        description="Seconds until the slowest worker has trained its share, at its recent speed, or all workers the rest of dealt "
        "mini-batches; null: not known",
    )
    seconds_left_low: float | None = Field(
        None,
        description="`seconds_left` with each worker at the 90th percentile of its speed in its last 12 windows of 10 s; null: no"
        " worker has 3 yet",
    )
    seconds_left_high: float | None = Field(
        None, description="`seconds_left` with each worker at the 10th percentile of its speed; never below `seconds_left`"
    )
    samples_per_second: float | None = Field(None, description="Samples over wall-clock time, in the last 10 s or more")
    mean_samples_per_second: float | None = Field(
        None, description="Samples over wall-clock time from the start of this attempt's training to its last update"
    )
    loss_curve: list[float] = Field(
        default_factory=list, description="The loss so far as at most 33 points: means of equally many mini-batches"
    )
    alerts: list[str] = Field(default_factory=list, description="Problems of the training with their remedies, one sentence each")
    first_step_at: datetime | None = Field(None, description="Time of the first update")
    exchange: Exchange | None = Field(None, description="Cost per push; null before the first")
    dealt: DealtBatches | None = Field(
        None, description="Mini-batches by where they are; null: each worker has a fixed share (`data.deal: shares`)"
    )
    shards: list[ShardLoad] = Field(default_factory=list, description="Load of each server")


class PeerLoad(ApiModel):
    """One process of a worker that is a group, lately."""

    number: int = Field(description="0: the lead, which speaks with the servers")
    label: str = Field(examples=["worker-0/1"])
    node: str | None = Field(None, description="Name of its machine, if the group is on several; null: it is on one")
    at: datetime | None = Field(description="Time of its last report")
    compute: float | None = Field(
        description="Share of its worker's compute time for which it computed; in the rest it waited for the others"
    )
    cpu: float | None = Field(description="Cores")
    memory: int | None = Field(description="Bytes that it has for itself")


class GroupLoad(ApiModel):
    """A worker that is a group."""

    rank: int
    label: str = Field(examples=["worker-0"])
    peers: list[PeerLoad] = Field(description="Its processes that have reported, by number")
