"""Threads that read code at once."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from gradstream.workload_source.parsing import parse_expression, parse_module

TEXT = "\n".join(f"x{at} = [a{at}, (b, {{c: d}}), f(g(h(1)))]" for at in range(100))


def _let_others_run(*_: object) -> None:
    sum(range(200))


@pytest.fixture(autouse=True)
def _threads_change_within_a_tree() -> Iterator[None]:
    """The collector runs Python code while a tree is made, and there another thread may go on."""
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50)
    gc.callbacks.append(_let_others_run)
    yield
    gc.callbacks.remove(_let_others_run)
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


@pytest.mark.more
def test_trees_that_are_made_at_once_do_not_disturb_each_other() -> None:
    def parse(at: int) -> int:
        parse_expression(f"list[{'dict[str, ' * 20}int{']' * 20}]")
        return len(parse_module(TEXT).body)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(parse, range(60))) == {100}
