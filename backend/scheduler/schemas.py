"""Plan of the platform for a job, before it is submitted."""

from __future__ import annotations

from pydantic import Field

from backend.submission.schemas import SubmitJob
from gradstream.api.plan import MeasuredSize


class PlanJob(SubmitJob):
    """A job as it would be submitted, and the size of the model, if its sender knows it."""

    size: MeasuredSize | None = Field(
        None, description="Size of the model; null: the size in an earlier job with the same workload, if there is one"
    )
