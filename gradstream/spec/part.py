"""The base class of every part of a job file."""

from __future__ import annotations

from pydantic import BaseModel


class SpecPart(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """Every part of a job file: immutable, and strict about its keys."""
