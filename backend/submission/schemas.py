"""Job files on their way in."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator

from backend.bundles.schemas import BundledWorkload
from backend.schemas import Fault, Schema
from gradstream import jobfile
from gradstream.api.code import UncommittedChange
from gradstream.api.jobs import JobWarning
from gradstream.bundle import MAX_FILES
from gradstream.bundle.commit import uncommitted
from gradstream.bundle.commit.origin import CodeOrigin
from gradstream.errors import InvalidJob, Mistake
from gradstream.spec import JobSpec

BundleHash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class GivenOrigin(CodeOrigin, frozen=True):
    """The client read it from the folder of code. It changes nothing of how the job runs, so the API ignores members of newer
    clients."""

    uncommitted: list[UncommittedChange] | None = Field(
        None, max_length=uncommitted.MOST_FILES, description="Files that differ from the commit; all users can read it"
    )

    @field_validator("uncommitted")
    @classmethod
    def _short(cls, given: list[UncommittedChange] | None) -> list[UncommittedChange] | None:
        if sum(len(line) for each in given or () for line in each.lines or ()) > uncommitted.MOST_TEXT:
            raise ValueError(f"has more than {uncommitted.MOST_TEXT:,} characters; leave `lines` of the longest files out")
        return given


class SubmitJob(Schema):
    spec: JobSpec
    bundle: BundleHash | None = Field(None, description="Hash that `uploadBundle` returned")
    source: str | None = Field(
        None, max_length=jobfile.MAX_TEXT, description="The job file as written, with its comments; all users can read it"
    )
    overrides: list[str] = Field(
        default_factory=list,
        max_length=200,
        description="Values that override `source`; together they give `spec`",
        examples=[["strategy.lr=0.1"]],
    )
    origin: GivenOrigin | None = Field(None, description="Git commit of the code, and the client; kept as a record")

    @field_validator("spec", mode="wrap")
    @classmethod
    def _explained(cls, given: object, _read: object) -> JobSpec:
        """A job file's mistakes in the same words everywhere: not a ValueError, so it leaves pydantic as it is.

        Read afresh, and not by `_read`: FastAPI lets that take any object's attributes for keys, a text's among them."""
        try:
            return JobSpec.model_validate(given)
        except ValidationError as error:
            problems = [Mistake(f"/spec{p.pointer}", p.message) for p in jobfile.problems_of(error, given)]
            raise InvalidJob(f"The job file has {len(problems)} mistake{'s' * (len(problems) > 1)}.", problems) from error


class ValidateJob(Schema):
    """One of the two: a spec, or the text of a job file. Code, of a bundle or not uploaded yet, is checked with it."""

    spec: dict[str, Any] | None = None
    yaml: str | None = Field(None, max_length=1_000_000)
    overrides: list[str] = Field(
        default_factory=list, max_length=200, description="Values that override it", examples=[["stop.steps=1"]]
    )
    bundle: BundleHash | None = Field(None, description="Hash that `uploadBundle` returned")
    sources: dict[str, str | None] | None = Field(
        None,
        max_length=MAX_FILES,
        description="Code that is not uploaded yet: all files by path, with the text of Python files; null for others. The "
        "platform neither stores nor runs it",
        examples=[{"circle.py": "from gradstream import Workload", "job.yaml": None}],
    )


class Validated(Schema):
    valid: bool = Field(description="The job file has no mistake, and fits the code of the bundle if you give one")
    ready: bool = Field(description="Valid, and there is code: `submitJob` would take it, once `sources` are uploaded")
    errors: list[Fault] = Field(description="Pointers are into the job file, e.g. `/strategy/window`")
    warnings: list[JobWarning] = Field(
        default_factory=list, description="Limits that a valid file exceeds and likely mistakes in its code, with remedies"
    )
    notes: list[JobWarning] = Field(default_factory=list, description="Derived values of settings in a valid file")
    workloads: list[BundledWorkload] = Field(
        default_factory=list,
        description="Classes of the code that `workload.entrypoint` may name, also for a file with mistakes",
    )
    spec: JobSpec | None = Field(description="The job file with all defaults; null if not valid")


IdempotencyKey = Annotated[
    str | None,
    Field(min_length=1, max_length=200, description="The same key and body return the same job again, also after a lost response"),
]
