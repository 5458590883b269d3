"""Metrics of the media that user code logs: images, figures, tables, texts and histograms."""

from __future__ import annotations

from gradstream.metrics.definition import define_metric

MEDIA = define_metric(
    "worker/media", "Logged media", "items", "Images, figures, tables, texts and histograms that a process has stored, by process"
)
MEDIA_DROPPED = define_metric(
    "worker/media_dropped",
    "Logged media dropped",
    "items",
    "Logged media that were dropped, because a limit of rate or size was reached, by process",
    "lower",
)
