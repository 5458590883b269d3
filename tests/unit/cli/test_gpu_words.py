"""GPUs of a process in words."""

from __future__ import annotations

import pytest

from gradstream.cli.terminal.gpu_words import gpu_words


@pytest.mark.parametrize(
    ("gpus", "share", "words"),
    [
        ([], 1, ""),
        ([3], 1, "GPU 3"),
        ([0, 1], 1, "GPUs 0, 1"),
        ([0], 2, "1/2 of GPU 0"),
        ([0, 0, 1, 1], 2, "GPUs 0, 1"),
        ([0, 0, 1], 2, "GPU 0, 1/2 of GPU 1"),
    ],
)
def test_shares_add_up(gpus: list[int], share: int, words: str) -> None:
    assert gpu_words(gpus, share) == words
