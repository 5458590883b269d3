"""Bounds of one caller, the look at bodies, and the limits of open files, without a server."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable
from types import SimpleNamespace

import pytest
from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send

from backend.admission import accepting, middleware
from backend.admission.bodies import MAX_DEPTH, MAX_VALUES, check_json
from backend.admission.middleware import Admission, AdmissionState
from backend.admission.places import Places
from backend.admission.rules import RULES, Bound, Rule, Who, rule_of
from backend.app import openapi, routes
from gradstream.errors import Invalid, TooManyRequests
from gradstream.programs.log_limit import LogLimit

OPEN = {"getHealth", "signIn"}
BY_TAG = {"agent": {Who.NODE, Who.REGISTRATION}, "process": {Who.PROCESS}}


def test_every_operation_has_the_rule_that_its_credentials_say() -> None:
    for path, methods in openapi(routes())["paths"].items():
        for method, operation in methods.items():
            rule = rule_of(method.upper(), path)
            assert rule is not None
            expected = {Who.ANYONE} if operation["operationId"] in OPEN else BY_TAG.get(operation["tags"][0], {Who.USER})
            assert rule.who in expected, f"{method} {path}"


def test_what_is_named_nowhere_is_for_users() -> None:
    assert rule_of("POST", "/api/v1/agent") == RULES[-1]
    for path in ("/api/v1/health/", "/api/v1//health", "/api/v1/healthx", "/api/v1/session/x", "/api/v1"):
        rule = rule_of("POST", path)
        assert rule is not None
        assert rule.who is Who.USER, path
    assert rule_of("GET", "/jobs") is None, "the page's"


def test_a_caller_has_so_many_places_and_others_have_their_own() -> None:
    async def scenario() -> list[str]:
        places, bound, log = Places(), Bound("requests", 2, 1), list[str]()
        go_on = asyncio.Event()

        async def use(caller: str, name: str) -> None:
            try:
                async with places.taken(caller, bound):
                    log.append(f"{name} begins")
                    await go_on.wait()
            except TooManyRequests:
                log.append(f"{name} is refused")

        async with asyncio.TaskGroup() as tasks:
            for name in ("a1", "a2", "a3", "a4", "b1"):
                tasks.create_task(use(name[0], name))
            await asyncio.sleep(0.01)
            go_on.set()
        assert not places._lines
        return log

    assert asyncio.run(scenario()) == ["a1 begins", "a2 begins", "a4 is refused", "b1 begins", "a3 begins"]


def test_all_callers_together_have_so_many_places() -> None:
    async def scenario() -> int:
        places, bound, here, most = Places(), Bound("requests", 2, 0, in_all=3), 0, 0

        async def use(caller: int) -> None:
            nonlocal here, most
            async with places.taken(caller, bound), places.shared(bound):
                here += 1
                most = max(most, here)
                await asyncio.sleep(0.001)
                here -= 1

        await asyncio.gather(*(use(at // 2) for at in range(20)))
        return most

    assert asyncio.run(scenario()) == 3


def test_a_slow_reader_keeps_a_place_of_its_own_and_none_of_all_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = Bound("heavy requests", 1, 1, in_all=1)
    monkeypatch.setattr(middleware, "rule_of", lambda method, path: Rule(method, path, Who.ANYONE, 0, bound))
    log = list[str]()

    async def scenario() -> None:
        is_read = asyncio.Event()

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            log.append(f"{scope['path']} is computed")
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await is_read.wait()
            await send({"type": "http.response.body", "body": b""})

        async def ignore(message: Message) -> None: ...

        app = FastAPI()
        app.state.admission, app.state.platform = AdmissionState(), None
        app.state.hosts = SimpleNamespace(check=lambda host: None)
        ask = Admission(answer)

        def request(caller: str, path: str) -> Awaitable[None]:
            scope = {"type": "http", "app": app, "method": "GET", "path": path, "headers": [], "client": (caller, 1)}
            return ask(scope, asyncio.Queue[Message]().get, ignore)

        async with asyncio.TaskGroup() as tasks:
            for caller, path in (("a", "a1"), ("a", "a2"), ("b", "b1")):
                tasks.create_task(request(caller, path))
            await asyncio.sleep(0.01)
            log.append("all is read")
            is_read.set()

    asyncio.run(scenario())
    assert log == ["a1 is computed", "b1 is computed", "all is read", "a2 is computed"]


def test_a_body_may_hold_many_bytes_and_not_many_values() -> None:
    text = json.dumps({"text": '[{,"\\' * 100_000, "more": [1, {"a": []}]}).encode()
    check_json(text)
    check_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    for body in (b"[]," * MAX_VALUES, b"1," * (MAX_VALUES + 1), b'{"a":' * (MAX_DEPTH + 1)):
        with pytest.raises(Invalid) as refused:
            check_json(body)
        assert "; " in refused.value.message, "and what to do"


def test_the_line_about_files_that_are_used_up_comes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    said = list[str]()
    monkeypatch.setattr(accepting.log, "error", lambda text, **_: said.append(text))
    loop = asyncio.new_event_loop()
    accepting.limit_log(loop)
    for _ in range(1000):
        loop.call_exception_handler({"message": "socket.accept() out of system resource"})
    loop.close()
    assert said == ["no open files are left for new connections; raise the limit of open files"]


def test_the_line_about_junk_comes_once(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accepting, "_EVERY", LogLimit())
    for _ in range(2):  # as when an API begins anew in the same process
        loop = asyncio.new_event_loop()
        accepting.limit_log(loop)
        loop.close()
    server = logging.getLogger("uvicorn.error")
    for _ in range(1000):
        server.warning("Invalid HTTP request received.")
        server.warning("Unsupported upgrade request.")
        server.warning("No supported WebSocket library detected. Please use another.")
    server.warning("another one")
    assert caplog.messages == ["Invalid HTTP request received.", "Unsupported upgrade request.", "another one"]
