"""Update samples as a worker sends them to the API, and as a folder keeps them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, Field

from gradstream.updates.sample import MAX_BATCH, UpdateSample

UPDATES_FOLDER = "updates"


class PostedUpdates(BaseModel):
    samples: list[UpdateSample] = Field(max_length=MAX_BATCH)


class UpdatesOutcome(BaseModel):
    """The outcome of a batch."""

    dropped: int = Field(0, description="Samples that the job has no more space for")
    why: str | None = Field(None, description="The limit that dropped them")


def write_samples(folder: Path, rank: int, samples: Sequence[UpdateSample]) -> Path:
    """Append samples to the list of a worker, a line for each, and return its file."""
    path = folder / UPDATES_FOLDER / f"worker-{rank}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"rank": rank, **sample.model_dump(mode="json")}) for sample in samples]
    with path.open("a") as out:
        out.write("".join(f"{line}\n" for line in lines))
    return path
