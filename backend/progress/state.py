"""State of a job's progress, which its row keeps, and the questions to it. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from backend.progress.checkpoint_watch import CheckpointWatch
from backend.progress.curve import LossCurve
from backend.progress.results import Results
from backend.progress.throughput import Throughput
from gradstream.process.store import SLOWEST
from gradstream.process.watchdogs.start import Hang
from gradstream.progress import pass_alerts, table_alerts
from gradstream.progress.exchange import Figures
from gradstream.progress.export_alerts import FailedExports
from gradstream.progress.process_summary import ProcessSummaries
from gradstream.progress.remaining import Remaining
from gradstream.progress.source_alerts import SourceTrouble

_LONGEST_STORE = 3600.0
"""Seconds."""


class Folded(BaseModel):
    """State between two batches. Rows of Postgres hold its fields by name."""

    attempt: int = 0
    samples: int = 0
    version: int = 0
    total_samples: int | None = None
    epoch_samples: int | None = None
    loss: dict[int, float] = Field(default_factory=dict)
    """The last one of each worker."""
    not_finite: list[int] = Field(default_factory=list)
    """Workers whose last loss is a NaN or an infinity."""
    throughput: Throughput = Field(default_factory=Throughput)
    remaining: Remaining = Field(default_factory=Remaining)
    done: float | None = None
    """Share of the training that is done, 0 to 1."""
    target: str | None = None
    """The metric of the job's target."""
    endless: bool = False
    """The job never ends by itself."""
    staleness_sum: float = 0.0
    staleness_count: int = 0
    eval: dict[str, float | None] = Field(default_factory=dict)
    """None: not a finite number."""
    results: Results = Field(default_factory=Results)
    odd_scores: dict[str, int] = Field(default_factory=dict)
    """Evaluation metrics that were not finite, with the samples that the model had seen the first time."""
    compared_rows: int = 0
    shared_rows: int = 0
    """Evaluation rows that were compared with training rows, and how many of them are training rows, if many are."""
    late_files: int = 0
    """Files of a followed folder that came too late to be read."""
    passes: pass_alerts.PassWatch = Field(default_factory=pass_alerts.PassWatch)
    """The last passes over the data of this attempt."""
    exports: FailedExports = Field(default_factory=FailedExports)
    checkpoints: CheckpointWatch = Field(default_factory=CheckpointWatch)
    source: SourceTrouble = Field(default_factory=SourceTrouble)
    """The stream or topic that the job follows."""
    tables: table_alerts.TableWatch = Field(default_factory=table_alerts.TableWatch)
    """The memory of this attempt's embedding tables."""
    starved: dict[int, int] = Field(default_factory=dict)
    """Workers that were found not to contribute, in any attempt, with how many of their pushes were dropped in a row."""
    shared_memory_shortfalls: dict[int, int] = Field(default_factory=dict)
    """Workers that did not get their shared memory, in any attempt, with the bytes that each needed."""
    damaged: dict[str, int] = Field(default_factory=dict)
    """Processes that received corrupt messages, in any attempt, with their number of retransmissions."""
    log_dropped: dict[str, int] = Field(default_factory=dict)
    """Processes whose workload logged under too many names, in any attempt, with the values that were dropped."""
    media_dropped: dict[str, int] = Field(default_factory=dict)
    """Processes that have dropped logged media, in any attempt, with their number."""
    rows_beyond: dict[str, int] = Field(default_factory=dict)
    """Servers whose disk took no more rows, in this attempt, with the rows that they keep in memory beyond it; 0: no more."""
    hanging: dict[str, Hang] = Field(default_factory=dict)
    """Processes of this attempt that take long to start, by label."""
    awaited: dict[int, float] = Field(default_factory=dict)
    """Workers that all others have waited for, in this attempt, and for how many seconds; 0: no more."""
    slow: dict[int, float] = Field(default_factory=dict)
    """Workers that were found to be slow, in this attempt, and how many times slower than the others they are; 0: no more."""
    dropping: list[str] = Field(default_factory=list)
    """Why many pushes are dropped, by the ledger."""
    plane_holder: str | None = None
    """While the data plane is full: the holder of most of it, as `full_plane.sentence` takes it."""
    refused: dict[str, str] = Field(default_factory=dict)
    """Metrics that are not stored, in any attempt: a sentence for each process and field."""
    curve: LossCurve = Field(default_factory=LossCurve)
    """The loss over all attempts of the job, for lists."""
    figures: Figures = Field(default_factory=Figures)
    """Figures of the exchanges of this attempt."""
    summaries: ProcessSummaries = Field(default_factory=ProcessSummaries)
    """Summaries of its processes."""
    first_step_at: datetime | None = None


def hanging_processes(state: dict[str, Any], attempt: int) -> dict[str, Hang]:
    """The processes of this attempt that take long to start, by label."""
    kept = Folded.model_validate(state)
    return kept.hanging if kept.attempt == attempt else {}


def has_begun(state: dict[str, Any], attempt: int) -> bool:
    """Return whether a worker of this attempt is ready to train, or has sent the model to the servers."""
    kept = Folded.model_validate(state)
    return kept.attempt == attempt and bool(kept.remaining.shares or kept.figures.center_bytes or kept.samples)


def process_summaries(state: dict[str, Any]) -> ProcessSummaries:
    """Return the process summaries, the ledger, and the best evaluations."""
    return Folded.model_validate(state).summaries


def place_of(state: dict[str, Any], label: str) -> tuple[int, int, int]:
    """Return the step of a process, and the samples and changes that the center has seen."""
    kept = Folded.model_validate(state)
    summary = kept.summaries.processes.get(label)
    return summary.step if summary else 0, kept.samples, kept.version


def center_bytes(state: dict[str, Any]) -> int | None:
    """Return the bytes of the center of the live attempt; None until a shard has reported them."""
    return Folded.model_validate(state).figures.center_bytes


def seconds_to_store(state: dict[str, Any]) -> float:
    """Return the most seconds that storing a vector of the center's size may take: an hour, whatever size user code reports."""
    return min((center_bytes(state) or 0) / SLOWEST, _LONGEST_STORE)


def checkpoint_watch(state: dict[str, Any], attempt: int) -> CheckpointWatch:
    """Return that of this attempt."""
    kept = Folded.model_validate(state)
    return kept.checkpoints if kept.attempt == attempt else CheckpointWatch()


def failed_exports(state: dict[str, Any], attempt: int) -> FailedExports:
    """Return those of this attempt."""
    kept = Folded.model_validate(state)
    return kept.exports if kept.attempt == attempt else FailedExports()
