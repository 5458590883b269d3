"""Logged media: what becomes of the values, which limits drop them, and which mistakes are refused."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy
from PIL import Image

from gradstream import Workload
from gradstream.errors import InvalidWorkload
from gradstream.user_logging import snapshots
from gradstream.user_logging.items import MAX_ITEM_BYTES, MAX_ROWS, MAX_VALUES_BYTES
from gradstream.user_logging.media import BURST, MAX_UNSENT_BYTES, LoggedMedia
from gradstream.user_logging.names import MAX_NAMES
from gradstream.user_logging.png import encode_png, png_size

GRADIENT = np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now


def pixels(file: bytes) -> np.ndarray[Any, Any]:
    return np.asarray(Image.open(io.BytesIO(file)))


def image(value: Any) -> np.ndarray[Any, Any]:
    return pixels(snapshots.image_snapshot(value).encode())


@given(of_numpy.arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 4))))
def test_another_program_reads_the_same_pixels(given: np.ndarray[Any, Any]) -> None:
    file = encode_png(given)
    assert np.array_equal(pixels(file).reshape(given.shape), given)
    assert png_size(file) == (given.shape[1], given.shape[0])


@pytest.mark.parametrize(
    "value",
    [
        GRADIENT,
        torch.from_numpy(GRADIENT),
        torch.from_numpy(GRADIENT).permute(2, 0, 1),
        torch.from_numpy(GRADIENT / 255.0).permute(2, 0, 1).requires_grad_(),
        torch.from_numpy(GRADIENT / 255.0).float(),
        Image.fromarray(GRADIENT),
    ],
    ids=["array", "rows first", "channels first", "float64", "float32", "PIL"],
)
def test_an_image_in_any_layout_is_the_same_file(value: Any) -> None:
    assert np.array_equal(image(value), GRADIENT)


def test_grey_images_bools_and_values_beyond_the_range() -> None:
    grey = np.array([[-1.0, 0.5], [np.nan, 7.0]])
    assert image(grey).tolist() == image(torch.from_numpy(grey)[None]).tolist() == [[0, 128], [0, 255]]
    assert image(grey > 0).tolist() == [[0, 255], [0, 255]]
    assert image(torch.full((2, 2), 0.5, dtype=torch.bfloat16)).tolist() == [[128, 128]] * 2


def test_a_snapshot_does_not_change_with_its_value() -> None:
    value = torch.zeros(2, 2)
    taken = [snapshots.image_snapshot(value), snapshots.histogram_snapshot(value, 4)]
    value.fill_(1.0)
    assert pixels(taken[0].encode()).max() == 0
    assert json.loads(taken[1].encode())["edges"] == [0.0, 0.0]


@given(of_numpy.arrays(np.float32, st.integers(1, 200), elements=st.floats(-1e6, 1e6, width=32)), st.integers(1, 64))
def test_a_histogram_has_the_counts_of_numpy(values: np.ndarray[Any, Any], bins: int) -> None:
    found = json.loads(snapshots.histogram_snapshot(torch.from_numpy(values), bins).encode())
    assert sum(found["counts"]) == len(values)
    if values.min() < values.max():
        counts, edges = np.histogram(values, bins, (float(values.min()), float(values.max())))
        assert (found["counts"], found["edges"]) == (counts.tolist(), edges.tolist())


def test_a_histogram_counts_what_is_not_finite_apart() -> None:
    found = json.loads(snapshots.histogram_snapshot([1.0, float("nan"), float("inf"), 3.0, -float("inf")], 2).encode())
    assert found == {"edges": [1.0, 2.0, 3.0], "counts": [1, 1], "nan": 1, "inf": 2}
    assert json.loads(snapshots.histogram_snapshot([float("nan")], 2).encode()) == {"edges": [], "counts": [], "nan": 1, "inf": 0}


def test_a_table_keeps_its_cells_and_writes_what_json_lacks_as_text() -> None:
    rows = [["a", 1, True, None], ["<b>", torch.tensor(2.5), np.float32(0.5), float("nan")]]
    found = json.loads(snapshots.table_snapshot(["w", "x", "y", "z"], rows).encode())
    assert found == {"columns": ["w", "x", "y", "z"], "rows": [["a", 1, True, None], ["<b>", 2.5, 0.5, "nan"]]}
    assert json.loads(snapshots.table_snapshot(["x", "y"], torch.eye(2)).encode())["rows"] == [[1.0, 0.0], [0.0, 1.0]]


def test_a_figure_of_matplotlib_is_drawn_at_once() -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2, 1), dpi=100)
    figure.subplots().plot([1, 2, 3])
    assert png_size(snapshots.figure_snapshot(figure).encode()) == (200, 100)


WRONG: dict[str, Callable[[Workload], None]] = {
    r"log_image: the image has the shape \(2, 3, 8, 8\)": lambda w: w.log_image("x", torch.zeros(2, 3, 8, 8)),
    "log_image: the pixels are int64; give uint8": lambda w: w.log_image("x", torch.zeros(2, 2, dtype=torch.int64)),
    "log_image: str is not a tensor or array": lambda w: w.log_image("x", "cat.png"),
    "log_figure: list is not a figure of matplotlib; install matplotlib": lambda w: w.log_figure("x", []),
    "log_text: int is not text": lambda w: w.log_text("x", 3),  # type: ignore[arg-type]
    "log_table: columns must be a list": lambda w: w.log_table("x", "ab", []),
    "log_table: row 1 has 1 cells, and there are 2 columns": lambda w: w.log_table("x", ["a", "b"], [[1, 2], [3]]),
    "log_table: a cell is dict": lambda w: w.log_table("x", ["a"], [[{}]]),
    "log_histogram: bins must be a whole number from 1 to 512": lambda w: w.log_histogram("x", [1.0], bins=0),
    "log_histogram: dict is not a tensor or array": lambda w: w.log_histogram("x", {}),
    r"log_text: the name '../x y' must have": lambda w: w.log_text("../x y", ""),
    "log_text: 'eval/x' begins with 'eval/'": lambda w: w.log_text("eval/x", ""),
}


@pytest.mark.parametrize("message", WRONG)
def test_a_mistake_names_the_call_and_the_remedy_also_outside_of_a_job(message: str) -> None:
    with pytest.raises(InvalidWorkload, match=message):
        WRONG[message](Workload())


def test_one_name_is_of_one_kind() -> None:
    media = LoggedMedia()
    add_text(media, "x")
    media.take()
    with pytest.raises(InvalidWorkload, match="log_image: 'x' is a text in another call"):
        media.add("x", "image", lambda: snapshots.image_snapshot(GRADIENT))


def add_text(media: LoggedMedia, name: str, text: str = "t") -> None:
    media.add(name, "text", lambda: snapshots.text_snapshot(text))


def test_the_first_item_of_a_name_counts_and_the_others_cost_nothing() -> None:
    media = LoggedMedia()
    add_text(media, "x", "first")
    media.add("x", "text", lambda: pytest.fail("taken"))
    assert [media.encode(pending) for pending in media.take()] == [b"first"]
    assert (media.take(), media.dropped) == ([], 0)
    add_text(media, "x", "next")
    assert [media.encode(pending) for pending in media.take()] == [b"next"]


def test_each_name_has_a_rate_of_its_own_and_the_log_says_it_once(caplog: pytest.LogCaptureFixture) -> None:
    """Two names for ten minutes: one in each of 10 steps a second, one every 10 s."""
    clock, kept = Clock(), {"often": 0, "seldom": 0}
    media = LoggedMedia(clock)
    with caplog.at_level(logging.WARNING):
        for step in range(6000):
            clock.now += 0.1
            add_text(media, "often")
            if step % 100 == 0:
                add_text(media, "seldom")
            for pending in media.take():
                kept[pending.name] += 1
                media.encode(pending)
    assert kept == {"often": pytest.approx(BURST + 600, abs=2), "seldom": 60}
    assert media.dropped == 6000 - kept["often"]
    assert len(caplog.records) == 1
    assert "'often' was logged more than 100 times at once and 60 times a minute" in caplog.text


def test_limits_of_size_names_and_memory_drop_and_never_raise() -> None:
    media = LoggedMedia()
    add_text(media, "long", "x" * (MAX_ITEM_BYTES["text"] + 1))
    assert [media.encode(pending) for pending in media.take()] == [None]
    media.add("rows", "table", lambda: snapshots.table_snapshot(["a"], [[0]] * (MAX_ROWS + 1)))
    media.add("values", "histogram", lambda: snapshots.histogram_snapshot(np.zeros(MAX_VALUES_BYTES + 1, np.uint8), 4))
    assert (media.take(), media.dropped) == ([], 3)
    held = snapshots.Values(np.zeros(1), 4, MAX_UNSENT_BYTES // 2)
    for name in ("a", "b", "c"):
        media.add(name, "histogram", lambda: held)
    taken = media.take()
    assert ([pending.name for pending in taken], media.dropped) == (["a", "b"], 4)
    for pending in taken:
        media.encode(pending)
    for number in range(MAX_NAMES):
        add_text(media, f"n{number}")
    assert media.dropped == 4 + 6  # six names were there before


def test_a_peer_hands_its_media_to_the_lead() -> None:
    peer, lead = LoggedMedia(), LoggedMedia()
    for media, text in ((peer, "peer's"), (lead, "lead's")):
        add_text(media, "both", text)
    add_text(peer, "last-stage", "peer's")
    lead.merge(peer.give_away())
    assert {pending.name: lead.encode(pending) for pending in lead.take()} == {"both": b"lead's", "last-stage": b"peer's"}
    assert peer.take() == []
