"""Every error leaves the API as application/problem+json (RFC 9457). One map from kinds of errors to statuses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import DataError, IntegrityError, OperationalError
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.away import AWAY, REDIS, NotMigrated, cannot, first_line, is_disk_full
from backend.schemas import Fault, ProblemDetails
from gradstream.errors import (
    Conflict,
    Denied,
    GradstreamError,
    Invalid,
    Mistake,
    NotFound,
    NotSignedIn,
    TooLarge,
    TooManyRequests,
    Unavailable,
    UnknownHost,
    pointer_to,
)

log = structlog.get_logger(__name__)

STATUS: dict[type[GradstreamError], int] = {
    NotSignedIn: 401,
    UnknownHost: 421,
    NotFound: 404,
    Conflict: 409,
    TooLarge: 413,
    Invalid: 422,
    Denied: 403,
    TooManyRequests: 429,
    Unavailable: 503,
}
_RETRY_AFTER = {429: "2", 503: "1"}
"""Seconds."""


def status_of(error: GradstreamError) -> int:
    return next(status for kind, status in STATUS.items() if isinstance(error, kind))


def response(instance: str, error: GradstreamError, *, headers: dict[str, str] | None = None) -> JSONResponse:
    status, name = status_of(error), type(error).__name__
    problems = error.problems if isinstance(error, Invalid) else []
    return _problem(instance, name, status, error.message, problems, error.context, headers)


def body_of(
    instance: str,
    name: str,
    status: int,
    detail: str,
    problems: Sequence[Mistake] = (),
    context: dict[str, object] | None = None,
) -> dict[str, object]:
    return {
        "type": f"/problems/{name}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "instance": instance,
        "errors": [problem.as_dict() for problem in problems],
        "context": context or {},
    }


def _problem(
    instance: str,
    name: str,
    status: int,
    detail: str,
    problems: Sequence[Mistake] = (),
    context: dict[str, object] | None = None,
    headers: dict[str, str] | None = None,
) -> JSONResponse:
    body = body_of(instance, name, status, detail, problems, context)
    extra = {
        **({"WWW-Authenticate": "Bearer"} if status == 401 else {}),
        **({"Retry-After": _RETRY_AFTER[status]} if status in _RETRY_AFTER else {}),
    }
    return JSONResponse(body, status, {**extra, **(headers or {})}, media_type="application/problem+json")


def away(error: Exception) -> Unavailable:
    """Return the error for a user when a server behind the API does not answer."""
    if isinstance(error, NotMigrated):
        return error
    server = "Redis" if isinstance(error, REDIS) else "the database"
    return Unavailable(f"The platform waits for {server}, which does not answer. Nothing is lost; try again in a moment.")


def _invalid(error: RequestValidationError) -> Invalid:
    """Return the mistakes in a request, each with its JSON pointer."""
    problems = [_problem_of(each, error.body) for each in error.errors()]
    return Invalid("The request is not valid.", problems)


def _refuse_content_type(request: Request, error: RequestValidationError) -> Invalid | None:
    """Return the error for a body that was read as text or bytes because its header does not say that it is JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json" or not isinstance(error.body, str | bytes) or not error.body:
        return None
    if all(each["loc"][:1] != ("body",) for each in error.errors()):
        return None
    return Invalid(f"The body has the content type '{kind}'; send JSON with the header Content-Type: application/json.")


def _problem_of(each: dict[str, Any], body: object) -> Mistake:
    if each["type"] == "json_invalid":  # its place is one in the text, not in a document
        return Mistake("", f"is not JSON: {each['ctx']['error']} at character {each['loc'][-1]}")
    loc = each["loc"]
    return Mistake(
        pointer_to(_without_tags(loc[1:], body) if loc[:1] == ("body",) else loc), each["msg"].removeprefix("Value error, ")
    )


def _without_tags(loc: Sequence[str | int], body: object) -> Iterator[str | int]:
    """Yield the keys and indices that lead into the body. Between them, pydantic names the members of unions."""
    for place, part in enumerate(loc):
        inside = part in body if isinstance(body, dict) else isinstance(body, list) and isinstance(part, int) and part < len(body)
        if isinstance(body, dict) and not inside and place < len(loc) - 1:
            continue
        body = body[part] if inside else None  # type: ignore[index]
        yield part


def install(app: FastAPI) -> None:
    @app.exception_handler(GradstreamError)
    async def _known(request: Request, error: GradstreamError) -> JSONResponse:
        return response(request.url.path, error)

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> JSONResponse:
        name = HTTPStatus(error.status_code).phrase.title().replace(" ", "").replace("-", "")
        return _problem(request.url.path, name, error.status_code, str(error.detail), headers=dict(error.headers or {}))

    @app.exception_handler(RequestValidationError)
    async def _validation(request: Request, error: RequestValidationError) -> JSONResponse:
        if not_json := _refuse_content_type(request, error):
            return response(request.url.path, not_json)
        return response(request.url.path, _invalid(error))

    @app.exception_handler(IntegrityError)
    async def _conflict(request: Request, error: IntegrityError) -> JSONResponse:
        log.warning("a write broke a constraint", path=request.url.path, error=str(error.orig))
        return response(
            request.url.path, Conflict("Another request changed the same thing at the same time; read it and try again.")
        )

    @app.exception_handler(DataError)
    @app.exception_handler(UnicodeEncodeError)
    async def _not_storable(request: Request, error: Exception) -> JSONResponse:
        log.warning("a value cannot be stored", path=request.url.path, error=first_line(error))
        return response(
            request.url.path, Invalid("A value is not valid text (it holds a NUL or half a character), or a number is too large.")
        )

    @app.exception_handler(OperationalError)
    async def _cannot(request: Request, error: OperationalError) -> JSONResponse:
        log.error("the database cannot do what was asked", path=request.url.path, error=first_line(error))
        return response(request.url.path, Unavailable(cannot(error)))

    @app.exception_handler(OSError)
    async def _no_space(request: Request, error: OSError) -> JSONResponse:
        if not is_disk_full(error):
            raise error
        log.error("the disk is full", path=request.url.path, error=first_line(error))
        return response(
            request.url.path,
            Unavailable("The disk of the control plane is full; ask the operator to free some space, then try again."),
        )

    for kind in AWAY:
        app.add_exception_handler(kind, _away)
    app.add_middleware(ExceptionMiddleware, handlers=app.exception_handlers)  # for errors of middleware that was added before
    app.add_middleware(UnknownErrors)


async def _away(request: Request, error: Exception) -> JSONResponse:
    log.warning("a server does not answer", path=request.url.path, error=first_line(error))
    return response(request.url.path, away(error))


class UnknownErrors:
    """The last net: a bug becomes a 500 problem and a logged traceback.

    Not an exception handler: Starlette raises on after one, and uvicorn then drops the connection that the client
    is about to use again.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except Exception:
            log.exception("a request failed", path=scope.get("path"))
            if started or scope["type"] != "http":
                raise
            answer = _problem(scope["path"], "InternalError", 500, "Internal error; see the API's log.")
            await answer(scope, receive, send)


DESCRIBED: dict[int | str, dict[str, Any]] = {
    status: {
        "description": HTTPStatus(status).phrase,
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
    }
    for status in (401, 404, 409, 413, 422, 429, 503)
}
"""The answers that any signed-in endpoint may give, for OpenAPI."""


def describe(document: dict[str, Any]) -> None:
    """Add the schema that `DESCRIBED` refers to; FastAPI itself would describe it as plain JSON."""
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas.setdefault("Fault", Fault.model_json_schema())
    schemas["ProblemDetails"] = ProblemDetails.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas["ProblemDetails"].pop("$defs")
