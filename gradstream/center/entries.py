"""What stands in the ordered log of a job, and what a shard answers.

Every entry is small; vectors travel beside the log. `rank` names a worker, -1 an evaluator; `incarnation` counts the lives
of that rank; `seq` counts the entries of one life, from 1, without a gap.

Entries and answers travel as they are (`gradstream.wire.messages`), as lists of their values in the order of their fields.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from torch import Tensor

    from gradstream.center.ledger import Decision
else:
    Tensor = Any  # types are looked at when messages are decoded, and programs that only post entries start without torch

EVALUATOR = -1
FINAL_CUT = 0
"""The cut that is taken when all workers have left; those taken on the way count from 1."""

NOT_FINITE = -1.0
"""Instead of a sum of squares, since JSON has no word for it."""

Want = Literal["ack", "center", "answer"]


class ProtocolError(Exception):
    """The log holds what no correct worker writes: a bug, or a log that was tampered with. Nothing can be trusted then."""


class Buffers(NamedTuple):
    """The model's buffers: running statistics (float) and counters (integer), each as one vector."""

    floats: Tensor
    ints: Tensor


class Payload(NamedTuple):
    """What lies beside an `Init` or a `Push`, and beside an answer: this shard's slice; on shard 0 also the buffers."""

    x: Tensor
    buffers: Buffers | None = None


class Init(Struct, frozen=True, array_like=True, tag="init"):
    """Rank 0 proposes theta_0 (payload), and says how long the run is. The first one wins."""

    rank: int
    incarnation: int
    epoch_samples: int = 0
    """Of all workers in one pass over the data; 0: not known."""
    total_samples: int = 0
    """That all workers train, if nothing stops them."""


class Join(Struct, frozen=True, array_like=True, tag="join"):
    """A worker (or evaluator) is here. Its first answer is held until the gate lets it begin."""

    rank: int
    incarnation: int


class Push(Struct, frozen=True, array_like=True, tag="push"):
    """A direction to descend (payload), computed from the center of version `base`."""

    rank: int
    incarnation: int
    seq: int
    base: int
    steps: int
    """Mini-batches behind it."""
    examples: int
    """Examples behind it: its weight in a mean."""
    want: Want
    position: int
    """Mini-batches that this rank has taken, over all its lives."""
    finite: bool = True
    """False: the vector holds a NaN or an infinity; it is dropped."""
    norm: float = 0.0


class Pull(Struct, frozen=True, array_like=True, tag="pull"):
    """Answer with the center, now."""

    rank: int
    incarnation: int
    seq: int


class Saved(Struct, frozen=True, array_like=True, tag="saved"):
    """This worker has written its state for the cut and waits at the boundary between two rounds."""

    rank: int
    incarnation: int
    seq: int
    cut: int


class Leave(Struct, frozen=True, array_like=True, tag="leave"):
    """This life of the rank is over: it said so itself (done, stopped), or the agent saw it exit (lost)."""

    rank: int
    incarnation: int
    why: Literal["done", "stopped", "lost"]


class Snapshot(Struct, frozen=True, array_like=True, tag="snapshot"):
    """Take a cut: every worker writes its state at its next boundary and waits; then every shard copies its own."""

    cut: int


class Stop(Struct, frozen=True, array_like=True, tag="stop"):
    """Every worker leaves at its next boundary, or only the one of this rank."""

    reason: str
    rank: int | None = None


class Repeat(Struct, frozen=True, array_like=True, tag="repeat"):
    """This life has opened so many letters of each shard, and may have lost those behind: send them again. It changes nothing."""

    rank: int
    incarnation: int
    opened: tuple[int, ...]


class Unread(Struct, frozen=True, array_like=True, tag="unread"):
    """The vector of an answer could not be read: give its worker the center as it is by now, with the same words."""

    rank: int
    incarnation: int
    number: int
    """Of the letters with that answer: it is asked for once."""
    seq: int
    verdict: Verdict
    go: bool
    version: int
    """Of the center that was lost."""
    brings: Literal["center", "answer"]
    """An answer can be sent again as it was, by whoever keeps it: see `ps_node.mailbox`."""


Entry = Init | Join | Push | Pull | Saved | Leave | Snapshot | Stop | Repeat | Unread


def seq_of(entry: Entry) -> int:
    """0 for entries that are not numbered."""
    return entry.seq if isinstance(entry, Push | Pull | Saved) else 0


Verdict = Literal["ok", "applied", "buffered", "dropped", "go", "cut", "saved", "stop", "over", "fenced"]
"""ok: a pull or join, answered · applied, buffered, dropped: what became of the push · go: the gate opened, nothing else
cut: save your state · saved: the cut is made, go on · stop: leave · over: all workers have left · fenced: you are barred."""


class Answer(Struct, frozen=True, array_like=True):
    """To (rank, incarnation), about its entry `seq` (0: about none). The same on every shard but for the payload."""

    rank: int
    incarnation: int
    seq: int
    verdict: Verdict
    version: int
    samples: int
    """Examples whose updates the center has seen: schedules and progress count by it."""
    members: int
    """Live workers."""
    go: bool = False
    """The worker may begin its next round."""
    brings: Literal["nothing", "center", "answer"] = "nothing"
    cut: int = 0
    position: int = 0
    """With a center: mini-batches of this rank that are pushed."""
    payload: Payload | None = None
    """This shard's part of what it brings. A center is theta itself, not a copy: read it before the next entry."""
    moved: float | None = None
    """About a push of the sample: this shard's part of the squared distance between the center and its base, or NOT_FINITE."""

    def shared(self) -> Answer:
        """What all shards say alike."""
        return self if self.payload is None and self.moved is None else replace(self, payload=None, moved=None)


def moved_in_all(parts: Iterable[Answer]) -> float | None:
    """The squared distance, of the answers of all shards; infinite, if it is not finite in one."""
    found = [part.moved for part in parts if part.moved is not None]
    return None if not found else math.inf if NOT_FINITE in found else sum(found)


@dataclass(slots=True)
class Outcome:
    """What handling one entry led to."""

    answers: list[Answer] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    """What became of pushes, now."""
    cut: tuple[int, list[int], dict[str, object]] | None = None
    """A cut was made: its number, the ranks that saved, and this shard's state (a copy)."""
