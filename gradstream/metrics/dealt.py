"""Metrics of the mini-batches that servers deal on demand. They come from shard 0, as of one entry of the log."""

from __future__ import annotations

from gradstream.metrics.definition import define_metric

PLANNED = define_metric(
    "data/planned",
    "Mini-batches planned",
    "mini-batches",
    "Mini-batches of the job, if they are dealt on demand",
    drawn=False,
)
TRAINED = define_metric(
    "data/trained", "Mini-batches trained", "mini-batches", "Dealt mini-batches in pushes that counted so far", "higher"
)
SPOILT = define_metric(
    "data/dropped",
    "Mini-batches dropped",
    "mini-batches",
    "Dealt mini-batches dropped so far because of a NaN or infinity",
    "lower",
)
OUTSTANDING = define_metric(
    "data/outstanding", "Mini-batches outstanding", "mini-batches", "Mini-batches that workers were dealt and have not pushed yet"
)
RETURNED = define_metric(
    "data/returned", "Mini-batches returned", "mini-batches", "Mini-batches that lost workers left, and that wait to be dealt again"
)
LEFT = define_metric("data/left", "Mini-batches left", "mini-batches", "Mini-batches that were never dealt so far")

DEALT = (PLANNED, TRAINED, SPOILT, OUTSTANDING, RETURNED, LEFT)
"""The ledger of mini-batches: the first is the sum of the others."""
