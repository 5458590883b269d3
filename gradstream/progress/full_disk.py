"""The sentences about a disk that takes no more cold rows."""

from __future__ import annotations

from collections.abc import Mapping


def sentence(who: str, rows: int, *, ended: bool = False) -> str:
    """Return the sentence, with its remedy. `who`: label of the server. `rows`: that it keeps beyond the bound of their tables.
    `ended`: the job is over."""
    takes, keeps, is_, free = ("took", "kept", "was", "Before the next run, free") if ended else ("takes", "keeps", "is", "Free")
    return (
        f"The disk of {who} {takes} no more rows, so it {keeps} {rows:,} rows in memory beyond memory.rows of their tables. "
        f"No row {is_} lost. {free} space on the disk of its node, or give the job more servers on other nodes."
    )


def resolutions(rows_beyond: Mapping[str, int]) -> dict[str, str]:
    """Return the sentence that says the alert is over, for each server that has one. `rows_beyond`: as in `sentence`, by label."""
    return {
        who: f"The disk of {who} takes rows again, so its tables are within memory.rows."
        for who, rows in rows_beyond.items()
        if rows
    }
