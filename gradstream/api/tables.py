"""Embedding tables of a job: summaries of their rows, and one key looked up in what the platform keeps of them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from gradstream.api.base import ApiModel, Known

KeyState = Literal["row", "evicted", "absent", "no_export"]
CheckpointKeyState = Literal["row", "candidate", "evicted", "absent", "damaged", "none"]


class KeyExport(ApiModel):
    """An export in which a key was looked up."""

    number: int
    attempt: int
    version: int
    samples: int
    passes: int | None = Field(description="Passes over the data that it was made after; null: none, or the job counts none")
    committed_at: datetime


class KeyCheckpoint(ApiModel):
    """A key in the newest checkpoint. Its values there may be older or newer than those of the export."""

    state: Known[CheckpointKeyState] = Field(
        description="candidate: it waits for its admission; evicted: a shrink has removed it; absent: neither row nor candidate; "
        "damaged: a file is not what it was; none: there is no checkpoint"
    )
    message: str = Field(examples=["Checkpoint 4 has its row: 12 updates."])
    attempt: int | None
    number: int | None
    updates: int | None = Field(description="Steps of the row")
    occurrences: int | None = Field(description="Occurrences of a candidate so far")
    unseen: int | None = Field(description="Passes of the table since its last push")
    shows: float | None
    clicks: float | None
    score: float | None = Field(description="null: the table has no scores")


class TableKey(ApiModel):
    """A key of one embedding table, in the newest export and in the newest checkpoint."""

    table: str
    key: str = Field(description="A whole number of 64 bits, as text: JavaScript does not count so far", examples=["-42"])
    state: Known[KeyState] = Field(
        description="row: it has a row in the export; evicted: its row is gone; absent: no kept export had a row for it; "
        "no_export: there is no export yet"
    )
    message: str = Field(examples=["Export 7 has its row; it changed last in export 5."])
    export: KeyExport | None = Field(description="The newest export; null: there is none")
    found_in: int | None = Field(description="The export with its row, or with the tombstone; null: neither")
    values: list[float | None] | None = Field(description="Weights of the row; null for one that is not finite")
    reads: Known[Literal["row", "zeros", "first_values"]] | None = Field(
        description="Values that the model reads for this key; null: there is no export yet"
    )
    checkpoint: KeyCheckpoint


class HotKey(ApiModel):
    """A key whose row is among the hottest of its table."""

    key: str = Field(description="A whole number of 64 bits, as text", examples=["-42"])
    server: int = Field(description="The server that has its row")
    updates: int = Field(description="Steps of the row")
    shows: float | None = Field(description="Occurrences in pushes, decayed at each shrink; null: the table has no scores")
    clicks: float | None
    score: float | None


class RowBin(ApiModel):
    """Rows with a value from `least` up to `below`."""

    least: float
    below: float | None = Field(description="null: no limit")
    rows: int


class JobTable(ApiModel):
    """One embedding table, summed over the servers that have told of it."""

    name: str
    rows: int
    candidates: int = Field(description="Keys that wait for their admission")
    bytes: int = Field(description="Memory of rows, candidates and index")
    made: int = Field(description="Rows made so far: rows + evicted")
    evicted: int
    counted: int = Field(description="Rows that were read for the bins and the hottest keys")
    hottest: list[HotKey] = Field(description="The hottest first: by shows, or by updates if the table has no scores; at most 20")
    ages: list[RowBin] = Field(description="Rows by passes of the table since their last push")
    scores: list[RowBin] | None = Field(description="Rows by score; null: the table has no scores")


class JobTables(ApiModel):
    """Summaries that servers make about every 30 s, a portion of their rows at a time. A row counts as it was when it was read."""

    attempt: int | None = Field(description="The attempt whose servers have told; null: none has yet")
    servers: int = Field(description="Servers that have told")
    of_servers: int = Field(description="Servers of the job")
    version: int | None = Field(description="Version of the oldest summary among them")
    samples: int | None = Field(description="Samples at the oldest summary")
    left_out: int = Field(description="Tables without a summary: more than 64, or with a long name")
    items: list[JobTable]
