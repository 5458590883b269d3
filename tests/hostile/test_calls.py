"""Whatever is sent to the API, it answers at once, not with an error of its own, and not with what belongs to another."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from backend.commands import load_late_imports
from backend.platform import Platform
from backend.scheduler.controller import Controller
from tests.hostile.calls import Call
from tests.hostile.progress import Progress
from tests.hostile.runs import FIRST, runs
from tests.hostile.wire import Answer, Wire
from tests.hostile.world import World

RUNS = runs(400, 10_000)
RENEWED_EVERY = 500
LOCKED_OUT = 20
"""Calls that were refused to callers who were allowed, after which their credentials are taken for revoked, by earlier calls."""
KNOWN = ("token", "read", "node", "process", "session")
LONGEST = 2.0
"""Seconds of processor time that one call may take of the API and of these tests together."""


@pytest.fixture
def as_the_program() -> Iterator[None]:
    """The API in this process loads and collects as `python -m backend api` does. A pass over all objects of these tests takes
    0.2 s, and four times as long on a busy machine."""
    load_late_imports()
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def world(as_the_program: None, api: httpx.Client, controller: Controller, platform: Platform, tmp_path: Path) -> World:
    return World(api, controller, platform, tmp_path)


@pytest.mark.more
def test_no_call_ends_in_an_error_of_the_server_and_none_tells_a_secret(
    world: World, server: str, progress_of: Callable[[str], Progress]
) -> None:
    wire, faults, progress = Wire(server), dict[str, str](), progress_of("calls")
    left, locked_out = RENEWED_EVERY, 0
    for seed in range(FIRST, FIRST + RUNS):
        if not left or locked_out == LOCKED_OUT:
            world.renew()
            left, locked_out = RENEWED_EVERY, 0
        call = world.calls.draw(seed)
        answer = wire.send(call)
        progress.note(seed, str(answer.status), answer.seconds)
        left -= 1
        locked_out += answer.status == 401 and call.caller in KNOWN and call.allowed
        fault = fault_of(world, call, answer)
        if fault:
            faults.setdefault(f"{fault} {call.method} {call.operation}", f"{call}\n{answer.content[:500]!r}")
    wire.close()
    print(progress)  # noqa: T201
    assert not faults, f"{len(faults)} kinds of faults:\n\n" + "\n\n".join(f"{what}\n{which}" for what, which in faults.items())
    assert sum(progress.met[status] for status in ("200", "201", "204")) > RUNS // 10, (
        "calls that are refused all alike try nothing"
    )


def fault_of(world: World, call: Call, answer: Answer) -> str | None:
    if answer.status == 0 or answer.status >= 500:
        return f"status {answer.status}"
    if answer.processor > LONGEST:
        return f"more than {LONGEST} s of processor time"
    if leaked := world.leaked(call, answer):
        return f"leaked {leaked}"
    if not call.allowed and answer.status < 300:  # a redirect to the address without a slash tells nothing
        return f"let {call.caller} in"
    if answer.status >= 400 and call.method != "HEAD" and not is_told(answer):
        return f"status {answer.status} without a sentence"
    return None


def is_told(answer: Answer) -> bool:
    """Whether an error says what it is."""
    return answer.kind == "application/problem+json" and bool(json.loads(answer.content)["detail"])
