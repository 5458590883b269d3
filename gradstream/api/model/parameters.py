"""The parameters of a job's model."""

from __future__ import annotations

from pydantic import Field

from gradstream.api.base import ApiModel
from gradstream.updates.parameter_table import ParameterTable


class JobParameters(ApiModel):
    attempt: int | None = Field(description="The attempt whose worker 0 stored the table last; null: none has")
    table: ParameterTable | None = Field(description="null: the job has not trained yet, or is from an older version of Gradstream")
