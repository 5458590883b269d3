"""The states of jobs, attempts and processes by name. How a job moves along them: `states`."""

from __future__ import annotations

from enum import StrEnum


class JobStatus(StrEnum):
    """queued -> starting -> running -> stopping -> one of the four ends, which are never left."""

    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"


ENDED = frozenset({JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.CANCELLED, JobStatus.TIMED_OUT})


class ProcessStatus(StrEnum):
    ASSIGNED = "assigned"
    STARTING = "starting"
    RUNNING = "running"
    EXITED = "exited"
    LOST = "lost"


class AttemptStatus(StrEnum):
    """One run of the whole job. `preparing` until its data plane is there."""

    PREPARING = "preparing"
    STARTING = "starting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"
