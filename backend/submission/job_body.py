"""Bodies that bring a job: JSON, or the text of a job file in YAML, with a query for the members beside it in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Body, Depends, Query, Request
from pydantic import WrapValidator

from backend.submission.schemas import BundleHash, SubmitJob, ValidateJob
from gradstream import jobfile
from gradstream.errors import Invalid, InvalidJob, Mistake
from gradstream.spec import JobSpec

Model = TypeVar("Model")

YAML_TYPES = ("application/yaml", "application/x-yaml", "text/yaml")


@dataclass(frozen=True, slots=True)
class JobFileBody:
    """A job file as the body of a request, and the values of its query."""

    text: str
    bundle: str | None
    overrides: list[str]

    def spec(self) -> JobSpec:
        """Raises: InvalidJob, with the line of each mistake."""
        try:
            return jobfile.load(self.text, self.overrides)
        except InvalidJob as error:
            raise InvalidJob(_sentence(error.message), error.problems or [Mistake("", error.message)]) from error

    def members(self) -> dict[str, Any]:
        """Return the members of `SubmitJob`. Raises: InvalidJob."""
        return {"spec": self.spec(), "bundle": self.bundle, "source": self.text, "overrides": self.overrides}

    @contextmanager
    def places(self) -> Iterator[None]:
        """Name the problems of its job by their places in this file: it has no `/spec`, and the bundle is in the query."""
        try:
            yield
        except InvalidJob as error:
            found = [Mistake(_in_file(each.pointer), each.message) for each in error.problems]
            raise InvalidJob(error.message, jobfile.with_places(found, self.text, self.overrides), **error.context) from error


async def job_file_body(
    request: Request,
    bundle: Annotated[BundleHash | None, Query(description="With a YAML body: hash that `uploadBundle` returned")] = None,
    overrides: Annotated[
        list[str],
        Query(alias="set", max_length=200, description="With a YAML body: values that override it, e.g. `strategy.lr=0.1`"),
    ] = [],  # noqa: B006
) -> JobFileBody | None:
    """The body, if its content type is YAML. Raises: Invalid, InvalidJob: it is no text."""
    if _content_type(request) in YAML_TYPES:
        return JobFileBody(_decode(await request.body()), bundle, overrides)
    for name, given in (("bundle", bundle), ("set", overrides)):
        if given:
            message = "belongs to a YAML body; with JSON, put the bundle and the overrides into the body"
            raise Invalid("These query parameters are for a YAML body.", [Mistake(f"/query/{name}", message)])
    return None


JobFileDep = Annotated[JobFileBody | None, Depends(job_file_body)]


def _unless_unparsed(given: Any, read: Any) -> Any:
    """FastAPI parses JSON, and hands on all other bodies as bytes, which `job_file_body` reads."""
    return given if isinstance(given, bytes) else read(given)


UNPARSED = (Body(), WrapValidator(_unless_unparsed))


def submitted(request: Request, body: Annotated[SubmitJob, *UNPARSED], file: JobFileDep) -> Iterator[SubmitJob]:
    if file is None:
        yield require_parsed(request, body)
        return
    members = file.members()
    with file.places():
        yield SubmitJob(**members)


def to_validate(request: Request, body: Annotated[ValidateJob, *UNPARSED], file: JobFileDep) -> ValidateJob:
    if file is None:
        return require_parsed(request, body)
    return ValidateJob(yaml=file.text, bundle=file.bundle, overrides=file.overrides)


def require_parsed(request: Request, body: Model) -> Model:
    """Raises: Invalid: the body came with another content type."""
    if isinstance(body, bytes):
        kind = _content_type(request)
        raise Invalid(
            f"The body has the content type '{kind}'; send a job file with the header Content-Type: application/yaml, "
            "or JSON with Content-Type: application/json."
        )
    return body


SubmitDep = Annotated[SubmitJob, Depends(submitted)]
ValidateDep = Annotated[ValidateJob, Depends(to_validate)]
DESCRIBED: dict[str, Any] = {
    "requestBody": {"content": {kind: {"schema": {"$ref": "#/components/schemas/JobSpec"}} for kind in YAML_TYPES}}
}
"""The YAML bodies, for OpenAPI, which knows the JSON one."""


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _decode(body: bytes) -> str:
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        before = body[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise InvalidJob(
            "The job file cannot be read.", [Mistake("", f"is not UTF-8; save it as UTF-8 (line {line}, column {column})")]
        ) from error
    if len(text) > jobfile.MAX_TEXT:
        message = f"has {len(text):,} characters, {jobfile.MAX_TEXT:,} are allowed"
        raise InvalidJob(f"The job file {message}.", [Mistake("", message)])
    return text


def _in_file(pointer: str) -> str:
    return "/query/bundle" if pointer == "/bundle" else pointer.removeprefix("/spec")


def _sentence(message: str) -> str:
    return message[:1].upper() + message[1:].rstrip(".") + "."
