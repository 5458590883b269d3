"""The sentence about a full data plane. Pure."""

from __future__ import annotations

LEFTOVERS, THIS_JOB = "keys of ended jobs", "this job"
"""Holders that are no other job."""


def sentence(holder: str, *, ended: bool = False) -> str:
    """Return the sentence, with its remedy. `holder`: of most of the plane; a job with its name, or one of the two above.
    `ended`: the job is over."""
    held = f"{holder[0].upper()}{holder[1:]} {'held' if ended else 'hold' if holder == LEFTOVERS else 'holds'} most of it."
    if ended:
        remedy = "" if holder == LEFTOVERS else " Before the next run, give the data plane more memory (maxmemory)."
        return f"When the job ended, the data plane was full, so pushes waited. {held}{remedy}"
    if holder == LEFTOVERS:
        return f"The data plane is full, so pushes wait. {held} The controller removes them within seconds; else see its log."
    return f"The data plane is full, so pushes wait. {held} Stop that job, or give the data plane more memory (maxmemory)."
