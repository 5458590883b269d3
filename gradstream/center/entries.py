"""The entries of a job's ordered log, and a shard's responses.

Every entry is small; vectors travel beside the log. `rank` names a worker, -1 an evaluator. `incarnation` counts the starts of
that rank. `seq` counts the entries of one incarnation, from 1, without a gap.

Entries and responses travel (`gradstream.wire.transport.messages`) as lists of their values, in the order of their fields.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gradstream.center.dealing.grants import Grant
from gradstream.center.positions import Position

if TYPE_CHECKING:
    from torch import Tensor

    from gradstream.center.ledger import Decision
    from gradstream.center.tables.payload import AnyRows, RowKeys
    from gradstream.observations.histograms import Observations
    from gradstream.observations.passes import ClosedPass
    from gradstream.optim.parameters import ParameterShape
else:  # types are looked at when messages are decoded, and programs that only post entries start without torch
    AnyRows = ClosedPass = Observations = ParameterShape = RowKeys = Tensor = Any

EVALUATOR = -1
FINAL_CHECKPOINT = 0
"""The number of the checkpoint that is taken when all workers have left; earlier ones count from 1."""

LAST_EXPORT = 0
"""The number of the export that is made when all workers have left; earlier ones count from 1."""

NOT_FINITE = -1.0
"""Stands for a sum of squares that is not finite, since JSON has no value for that."""

Want = Literal["ack", "center", "response"]


class ProtocolError(Exception):
    """The log holds what no correct worker writes: a bug, or a log that was tampered with. Nothing can be trusted then."""


class Buffers(NamedTuple):
    """The model's buffers: running statistics (float) and counters (integer), each as one vector."""

    floats: Tensor
    ints: Tensor


class Payload(NamedTuple):
    """The vectors and rows beside an `Init`, a `Push`, a `Lookup` or a response."""

    x: Tensor
    """This shard's slice of a vector; empty beside a `Lookup`."""
    buffers: Buffers | None = None
    """On shard 0 only."""
    rows: Mapping[str, AnyRows] | None = None
    """By table: those of this shard's buckets. Keys of a `Lookup`, their rows in its response, gradients of a `Push`."""
    observed: Observations | None = None
    """On shard 0 only, beside a `Push`."""
    asks: Mapping[str, RowKeys] | None = None
    """Beside a `Push`: keys whose rows come with its response. None: it asks for none."""
    passes_over: int | None = None
    """Beside a `Push`, on every shard: passes over the data that are over for its worker. None: the job does not count them."""
    parameters: tuple[ParameterShape, ...] = ()
    """Beside an `Init`: those that lie in the vector, one behind another. Empty: not known."""


class Init(Struct, frozen=True, array_like=True, tag="init"):
    """Rank 0 proposes theta_0 (payload), and says how long the run is. The first one wins."""

    rank: int
    incarnation: int
    epoch_samples: int = 0
    """Samples of all workers in one pass over the data; 0: not known."""
    total_samples: int = 0
    """Samples that all workers train, if nothing stops them; 0: not known."""
    tables: tuple[tuple[str, int], ...] = ()
    """Name and width of each embedding table of the model."""
    planned: int = 0
    """Mini-batches of the job, which the servers deal to workers on demand; 0: each worker has a fixed share."""


class Join(Struct, frozen=True, array_like=True, tag="join"):
    """A worker (or evaluator) is here. Its first response is held until the gate lets it begin."""

    rank: int
    incarnation: int


class Push(Struct, frozen=True, array_like=True, tag="push"):
    """A direction to descend (payload), computed from the center of version `base`."""

    rank: int
    incarnation: int
    seq: int
    base: int
    steps: int
    """Mini-batches that it was computed from."""
    examples: int
    """Examples that it was computed from: its weight in a mean."""
    want: Want
    position: Position
    finite: bool = True
    """False: the vector holds a NaN or an infinity; it is dropped."""
    norm: float = 0.0


class Pull(Struct, frozen=True, array_like=True, tag="pull"):
    """Answer with the center, now."""

    rank: int
    incarnation: int
    seq: int


class Lookup(Struct, frozen=True, array_like=True, tag="lookup"):
    """Answer with the rows of these keys (payload), now. It changes no row."""

    rank: int
    incarnation: int
    seq: int


class Saved(Struct, frozen=True, array_like=True, tag="saved"):
    """This worker has written its state for the checkpoint and waits at the boundary between two rounds."""

    rank: int
    incarnation: int
    seq: int
    checkpoint: int


class Leave(Struct, frozen=True, array_like=True, tag="leave"):
    """This incarnation is over: it said so itself (done, stopped), or the agent saw it exit (lost)."""

    rank: int
    incarnation: int
    why: Literal["done", "stopped", "lost"]


class Checkpoint(Struct, frozen=True, array_like=True, tag="checkpoint"):
    """Take a checkpoint: every worker writes its state at its next boundary and waits; then every shard copies its own."""

    number: int


class ExportModel(Struct, frozen=True, array_like=True, tag="export"):
    """Export the model for serving, as it is here: every server copies its rows of embedding tables and its slice of the center."""

    number: int
    base: bool
    """Export all rows; else those that changed since the last export that is committed."""


class Committed(Struct, frozen=True, array_like=True, tag="committed"):
    """Checkpoint or export `number` is committed: later ones may rest on its rows of embedding tables. It changes nothing else."""

    number: int
    what: Literal["checkpoint", "export"] = "checkpoint"
    base_due: bool = False
    """The next export that servers make by themselves has all rows."""


class StopWorkers(Struct, frozen=True, array_like=True, tag="stop"):
    """Every worker leaves at its next boundary, or only the one of this rank."""

    reason: str
    rank: int | None = None


class Resend(Struct, frozen=True, array_like=True, tag="resend"):
    """This process has opened so many responses of each shard, and may have lost later ones: resend them. It changes nothing."""

    rank: int
    incarnation: int
    opened: tuple[int, ...]


class Rejected(Struct, frozen=True, array_like=True, tag="rejected"):
    """A worker rejected the vector of a response: the shard sends the current center, with the same outcome."""

    rank: int
    incarnation: int
    number: int
    """The number of the message with that response: the worker requests one resend of each."""
    seq: int
    outcome: Outcome
    go: bool
    version: int
    """The version of the center that was lost."""
    brings: Literal["center", "response"]
    """The kind of vector that was lost. A "response" is kept and resent unchanged: see `gradstream.shard_server.mailbox`."""


Entry = Init | Join | Push | Pull | Lookup | Saved | Leave | Checkpoint | ExportModel | Committed | StopWorkers | Resend | Rejected


def seq_of(entry: Entry) -> int:
    """Return the entry's `seq`, or 0 if it has none."""
    return entry.seq if isinstance(entry, Push | Pull | Lookup | Saved) else 0


Outcome = Literal["ok", "applied", "deferred", "dropped", "go", "checkpoint", "saved", "stop", "over", "fenced"]
"""ok: a pull or join, answered · applied, deferred, dropped: the outcome of the push · go: the gate opened, nothing else
checkpoint: save your state · saved: the checkpoint is made, go on · stop: leave · over: all workers have left
fenced: you are barred."""


class Response(Struct, frozen=True, array_like=True):
    """To (rank, incarnation), about its entry `seq` (0: about none). The same on every shard but for the payload."""

    rank: int
    incarnation: int
    seq: int
    outcome: Outcome
    version: int
    samples: int
    """Examples whose updates the center has seen: schedules and progress count by it."""
    members: int
    """Live workers."""
    go: bool = False
    """The worker may begin its next round."""
    brings: Literal["nothing", "center", "response", "rows"] = "nothing"
    checkpoint: int = 0
    position: Position = 0
    """With a center: where this rank had got to with its last push."""
    payload: Payload | None = None
    """This shard's slice of the vector. A center is theta itself, not a copy: read it before the next entry."""
    moved: float | None = None
    """For a sampled push: this shard's part of the squared distance between the center and its base, or NOT_FINITE."""
    grant: Grant = ()
    """With the answer to a join or a push: mini-batches that are dealt to the worker."""
    staleness: int | None = None
    """With the answer to a push, if the job samples updates: as in the ledger."""

    def shared(self) -> Response:
        """Return the response without this shard's own part: the same on every shard."""
        return self if self.payload is None and self.moved is None else replace(self, payload=None, moved=None)


def moved_in_all(parts: Iterable[Response]) -> float | None:
    """Sum the squared distance over the responses of all shards; infinite, if one part is not finite."""
    found = [part.moved for part in parts if part.moved is not None]
    return None if not found else math.inf if NOT_FINITE in found else sum(found)


@dataclass(slots=True)
class Output:
    """The result of handling one entry."""

    responses: list[Response] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    """The decisions on pushes that this entry led to."""
    passes: list[ClosedPass] = field(default_factory=list)
    """On shard 0: passes over data that workloads observed, and that are over now."""
    export: ExportModel | None = None
    """An export to make of the model as it is now."""
    checkpoint: tuple[int, list[int], dict[str, object] | None] | None = None
    """A checkpoint that was made: its number, the ranks that saved, and this shard's state (a copy). No state: this process
    still stores its part of an earlier one."""
