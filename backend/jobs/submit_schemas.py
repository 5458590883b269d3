"""Job files on their way in."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator

from backend.bundles.schemas import BundledWorkload
from backend.jobs.schemas import JobWarning
from backend.schemas import Fault, Schema
from gradstream import jobfile
from gradstream.bundle import MAX_FILES
from gradstream.bundle.origin import CodeOrigin
from gradstream.errors import InvalidJob, Problem
from gradstream.spec import JobSpec

BundleHash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class GivenOrigin(CodeOrigin, frozen=True, extra="forbid"):
    """The client read it from the folder of code. It changes nothing of how the job runs."""


class SubmitJob(Schema):
    spec: JobSpec
    bundle: BundleHash | None = Field(None, description="Hash that `uploadBundle` returned")
    source: str | None = Field(
        None, max_length=jobfile.MAX_TEXT, description="The job file as it was written; all users can read it, comments and all"
    )
    overrides: list[str] = Field(
        default_factory=list, max_length=200, description="What was set over `source`: with them it says what `spec` says",
        examples=[["strategy.lr=0.1"]],
    )  # fmt: skip
    origin: GivenOrigin | None = Field(None, description="The commit that the code was at, and the client; kept as a record")

    @field_validator("spec", mode="wrap")
    @classmethod
    def _explained(cls, given: object, _read: object) -> JobSpec:
        """A job file's mistakes in the same words everywhere: not a ValueError, so it leaves pydantic as it is.

        Read afresh, and not by `_read`: FastAPI lets that take any object's attributes for keys, a text's among them."""
        try:
            return JobSpec.model_validate(given)
        except ValidationError as error:
            problems = [Problem(f"/spec{p.pointer}", p.message) for p in jobfile.problems_of(error, given)]
            raise InvalidJob(f"The job file has {len(problems)} mistake{'s' * (len(problems) > 1)}.", problems) from error


class ValidateJob(Schema):
    """One of the two: a spec, or the text of a job file. Code, of a bundle or not uploaded yet, is checked with it."""

    spec: dict[str, Any] | None = None
    yaml: str | None = Field(None, max_length=1_000_000)
    overrides: list[str] = Field(
        default_factory=list, max_length=200, description="What is set over it", examples=[["stop.steps=1"]]
    )
    bundle: BundleHash | None = Field(None, description="Hash that `uploadBundle` returned")
    sources: dict[str, str | None] | None = Field(
        None,
        max_length=MAX_FILES,
        description="Code that is not uploaded yet: all files by their path, with the text of the Python files; null for others. "
        "Nothing of it is stored or run",
        examples=[{"circle.py": "from gradstream import Workload", "job.yaml": None}],
    )


class Validated(Schema):
    valid: bool = Field(description="The job file has no mistake, and fits the code of the bundle, if one is given")
    ready: bool = Field(description="Valid, and there is code: `submitJob` would take it, once `sources` are uploaded")
    errors: list[Fault] = Field(description="Pointers are into the job file, e.g. `/strategy/window`")
    warnings: list[JobWarning] = Field(
        default_factory=list, description="Limits that a valid file is over, and likely mistakes in its code, with remedies"
    )
    notes: list[JobWarning] = Field(default_factory=list, description="Of a valid file: what settings come to")
    workloads: list[BundledWorkload] = Field(
        default_factory=list,
        description="Classes of the code that `workload.entrypoint` may name; of a file with mistakes, too",
    )
    spec: JobSpec | None = Field(description="With all defaults filled in; null if not valid")


IdempotencyKey = Annotated[
    str | None,
    Field(min_length=1, max_length=200, description="The same key and body give the same job again, also after a lost answer"),
]
