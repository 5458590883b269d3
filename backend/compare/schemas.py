from __future__ import annotations

from typing import Any

from pydantic import Field

from backend.schemas import Schema
from gradstream.api.charts import Chart
from gradstream.api.jobs import Job


class ComparedJob(Schema):
    job: Job
    effective: dict[str, Any] = Field(description="`effective` of `GET /jobs/{id}/config`")


class ComparedJobs(Schema):
    items: list[ComparedJob] = Field(description="The jobs that exist, in the order of the request")


class ComparedCharts(Schema):
    items: list[Chart] = Field(
        description="A chart for each job, in the order of the request; a job that does not exist has no series"
    )
