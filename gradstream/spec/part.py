"""The base class of every part of a job file."""

from __future__ import annotations

from gradstream.bounds import BoundedPart


class SpecPart(BoundedPart, frozen=True):
    """A part of a job file that is a choice among no others."""
