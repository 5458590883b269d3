"""Intents: the aims by which users select a strategy. Each strategy names one, and the page shows a card for each."""

from __future__ import annotations

from typing import NamedTuple


class Intent(NamedTuple):
    title: str
    summary: str
    needs: str


ALONE = Intent(
    "One worker, the baseline",
    "Plain sequential training, to compare with.",
    "exactly one worker",
)
EXACT = Intent(
    "Exact, like one machine",
    "Each step follows the mean gradient of all workers.",
    "workers of equal speed",
)
UNEQUAL = Intent(
    "Fast on unequal machines",
    "No worker waits; servers apply each push on arrival.",
    "a lower learning rate",
)
STALENESS = Intent(
    "Staleness controlled",
    "No worker waits; servers scale or correct stale pushes.",
    "mostly more memory on servers",
)
FEW_MESSAGES = Intent(
    "Few messages, slow network",
    "Workers make many local steps between two exchanges.",
    "similar data for all workers",
)
UNEQUAL_DATA = Intent(
    "Data that differs by worker",
    "Servers average what workers learn in whole epochs.",
    "workers that wait for others",
)
