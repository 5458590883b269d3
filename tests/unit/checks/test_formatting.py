"""The formatter stays on."""

from __future__ import annotations

import pytest

from checks import formatting


@pytest.mark.parametrize("comment", ["fmt: skip", "fmt: off", "fmt:off", "yapf: disable"])
def test_a_comment_that_switches_the_formatter_off_is_named(comment: str) -> None:
    [problem] = formatting.problems({"a/b.py": f"x = 1\ny = [\n  1]  # {comment}\n"})
    assert problem.startswith("a/b.py:3: formatter: ")


def test_other_comments_pass() -> None:
    assert list(formatting.problems({"a/b.py": "x = 1  # fmt is a variable elsewhere\ny = 2  # noqa: E501\n"})) == []
