"""The admission of every request, in the order of what it costs: credentials, size, a place, and only then its body."""

from __future__ import annotations

from contextlib import AsyncExitStack

import anyio
from anyio import CapacityLimiter
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.admission import bodies
from backend.admission.credentials import CredentialCheck, carries_token
from backend.admission.places import Places
from backend.admission.rules import Rule, rule_of

_THREADS = 2
"""Threads that look at large bodies at once."""


class AdmissionState:
    """The requests that are under way, as admission counts them; `admission` of the state of the app."""

    def __init__(self) -> None:
        self.credentials = CredentialCheck()
        self.places = Places()
        self.threads = CapacityLimiter(_THREADS)


class Admission:
    """Raises errors of ours as `problems.install` has them answered; so it stands inside of an `ExceptionMiddleware`."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        rule, request = rule_of(scope["method"], scope["path"]), HTTPConnection(scope)
        if rule is None or not carries_token(request, rule.who):
            scope["app"].state.hosts.check(request.headers.get("host"))
        if rule is None:
            await self.app(scope, receive, send)
            return
        state: AdmissionState = scope["app"].state.admission
        caller = await state.credentials.check(request, rule.who, scope["app"].state.platform)
        declared = request.headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > rule.limit:
            raise bodies.too_large(rule)
        async with AsyncExitStack() as place, AsyncExitStack() as shared:
            await place.enter_async_context(state.places.taken(caller, rule.bound))

            async def released(message: Message) -> None:
                """A slow reader of an answer that is there takes nothing but its connection, and perhaps a place of its own."""
                if message["type"] == "http.response.start":
                    await shared.aclose()
                    if not rule.bound.until_sent:
                        await place.aclose()
                await send(message)

            admitted: Receive | None = receive
            if declared != "0" or "transfer-encoding" in request.headers:
                admitted = await _read_body(state, request, rule, bodies.counted(receive, rule))
            if admitted is not None:
                await shared.enter_async_context(state.places.shared(rule.bound))
                await self.app(scope, admitted, released)


async def _read_body(state: AdmissionState, request: HTTPConnection, rule: Rule, receive: Receive) -> Receive | None:
    """None: the client has gone. Raises: TooLarge, Invalid."""
    if rule.streamed:
        return receive
    body = await bodies.read_whole(receive)
    if body is None:
        return None
    if "json" in request.headers.get("content-type", "").lower():
        if bodies.is_short(body):
            bodies.check_json(body)
        else:
            await anyio.to_thread.run_sync(bodies.check_json, body, limiter=state.threads)
    return bodies.again(body, receive)
