"""The admission of every request, in the order of what it costs: credentials, size, a place, and only then its body."""

from __future__ import annotations

from contextlib import AsyncExitStack

import anyio
from anyio import CapacityLimiter
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.admission import bodies
from backend.admission.credentials import Credentials
from backend.admission.places import Places
from backend.admission.rules import PLAIN, Rule, rule_of

_THREADS = 2
"""That look at large bodies at once."""


class Admission:
    """Raises errors of ours as `problems.install` has them answered; so it stands inside of an `ExceptionMiddleware`."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._credentials = Credentials()
        self._places = Places()
        self._threads = CapacityLimiter(_THREADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        rule = rule_of(scope["method"], scope["path"]) if scope["type"] == "http" else None
        if rule is None:
            await self.app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        caller = await self._credentials.check(request, rule.who, scope["app"].state.platform)
        declared = request.headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > rule.limit:
            raise bodies.too_large(rule)
        async with AsyncExitStack() as place:
            await place.enter_async_context(self._places.taken(caller, rule.bound))

            async def released(message: Message) -> None:
                """A slow reader of an answer that is there takes nothing but its connection."""
                if rule.bound is PLAIN and message["type"] == "http.response.start":
                    await place.aclose()
                await send(message)

            if declared == "0" and "transfer-encoding" not in request.headers:
                await self.app(scope, receive, released)
                return
            admitted = await self._body(request, rule, bodies.counted(receive, rule))
            if admitted is not None:
                await self.app(scope, admitted, released)

    async def _body(self, request: HTTPConnection, rule: Rule, receive: Receive) -> Receive | None:
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
                await anyio.to_thread.run_sync(bodies.check_json, body, limiter=self._threads)
        return bodies.again(body, receive)
