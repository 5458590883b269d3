"""Numbers that user code draws go on after a resume, and are the same where they must be."""

import io
import random

import numpy
import torch

from gradstream.input import randomness


def draw() -> tuple[float, float, float]:
    return float(torch.rand(())), random.random(), float(numpy.random.rand())


def test_a_saved_state_goes_on_where_it_was() -> None:
    draw()
    file = io.BytesIO()
    torch.save(randomness.state(), file)
    expected = [draw() for _ in range(3)]
    file.seek(0)
    randomness.load(torch.load(file, weights_only=True))
    assert [draw() for _ in range(3)] == expected


def test_seeded_numbers_are_the_same_and_leave_no_trace() -> None:
    before = randomness.state()
    undisturbed = draw()
    randomness.load(before)
    with randomness.seeded(5):
        first = draw()
    with randomness.seeded(5):
        assert draw() == first
    assert draw() == undisturbed
