"""Names of the files of checkpoints.

`checkpoints/3/manifest.json` says who has a **part** in checkpoint 3: `shard-0`, `worker-1`. Names of a part's files begin with the
part and a dot:

    shard-0.safetensors         the state of the process, which it stores last
    shard-0.json                its part list, if it has further files (`part_list`)
    shard-0.ANYTHING            such a further file
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple, Self

from gradstream.center.entries import FINAL_CHECKPOINT

MANIFEST = "manifest.json"
STATE, LIST = ".safetensors", ".json"
EARLIER = ".pt"
"""Suffix of state files that earlier versions stored, with `torch.save`."""
STATE_SUFFIXES = (STATE, EARLIER)
LARGEST_NUMBER = 999_999_999
_NUMBER = "(0|[1-9][0-9]{0,8})"
_PART = r"(?:worker|shard)-(?:0|[1-9][0-9]{0,3})"
_PATH = re.compile(rf"checkpoints/{_NUMBER}/(?:manifest\.json|({_PART})(\.[a-z0-9][a-z0-9._-]{{0,99}}))")


class CheckpointPath(NamedTuple):
    """`checkpoints/3/shard-0.safetensors`, taken apart."""

    number: int
    part: str | None
    """None: the manifest."""
    suffix: str
    """The rest of the name, with its dot."""

    @classmethod
    def parse(cls, path: str) -> Self | None:
        """Return None if this is no path of a checkpoint's file. Also: no such path leaves the folder of its checkpoint."""
        found = _PATH.fullmatch(path)
        return cls(int(found[1]), found[2], found[3] or "") if found else None

    @property
    def may_complete(self) -> bool:
        """A checkpoint is complete with its manifest, or with the last file of its last part."""
        return self.part is None or self.suffix == STATE


def worker_part(rank: int) -> str:
    return f"worker-{rank}"


def shard_part(rank: int) -> str:
    return f"shard-{rank}"


def numbers_with(part: str, resumed: int, away: Collection[int]) -> Sequence[int]:
    """Return the numbers of the checkpoints that may have the state with which a process resumes, in the order of the search.

    A worker that was done before the `resumed` one has left its state with the attempt's last checkpoint. A worker of `away` was
    lost when that one was made: a state that it has left since then is newer than the center."""
    return (resumed,) if part in map(worker_part, away) else (resumed, FINAL_CHECKPOINT)


def folder_of(number: int) -> str:
    return f"checkpoints/{number}/"
