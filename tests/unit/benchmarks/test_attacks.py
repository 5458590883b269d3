"""Attackers of the benchmark: a broken one is no attack, and must not pass for one."""

from __future__ import annotations

import multiprocessing
import time

import pytest

from benchmarks import attacks


def attack_with(trick: str) -> int | None:
    def broken(target: attacks.Target) -> None:
        if trick == "broken":
            raise AttributeError("a name has moved")

    def body() -> None:
        attacks.ANONYMOUS = (broken,)
        attacks.attack(attacks.Target("http://127.0.0.1:1", "job", time.monotonic() + 0.2), 2, [])

    process = multiprocessing.get_context("fork").Process(target=body)
    process.start()
    process.join(30)
    process.kill()
    return process.exitcode


@pytest.mark.few(1)
@pytest.mark.parametrize(("trick", "code"), [("fine", 0), ("broken", 1)])
def test_an_unexpected_exception_of_one_attacker_is_the_exit_code_of_all(trick: str, code: int) -> None:
    assert attack_with(trick) == code
