"""The shard machine. `handle(entry, payload) -> Output` is the whole of it: a deterministic function of the log so far.

    entry --> membership --> push: late? dropped : counted alone (asp, ssp) or kept for the round (bsp)      `pushes`
          --> settle: close the round, release the workers that the gate lets begin       after every entry
          --> checkpoint: when every live worker stands at a boundary and has saved                          `checkpoint_making`

The version counts changes of theta; the staleness of a push is the version just before it is applied minus its base.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradstream.center.checkpoint_making import CheckpointMaking
from gradstream.center.dealing.dealer import Dealer
from gradstream.center.entries import (
    EVALUATOR,
    FINAL_CHECKPOINT,
    Entry,
    Init,
    Join,
    Leave,
    Lookup,
    Output,
    Payload,
    ProtocolError,
    Pull,
    Push,
    Rejected,
    Response,
    Saved,
    StopWorkers,
)
from gradstream.center.evaluations import EvaluationQueue
from gradstream.center.gate import keeper
from gradstream.center.members import Members
from gradstream.center.parameters.buffers import CenterBuffers
from gradstream.center.parameters.center import Center
from gradstream.center.parameters.drift import Drift
from gradstream.center.parameters.hosting import TableHosting
from gradstream.center.passes.closing import PassClosing
from gradstream.center.passes.exports import ExportSchedule
from gradstream.center.pushes import Pushes
from gradstream.center.resending import Resending
from gradstream.center.responses import Held, Responses
from gradstream.center.tables.payload import RowKeys, of_kind
from gradstream.center.waiting import WaitingRanks
from gradstream.center.watchers import Watchers
from gradstream.optim.parameters import ParameterShape
from gradstream.own_pages import own_copy
from gradstream.spec import JobSpec

if TYPE_CHECKING:
    from gradstream.center.tables.storage.row_file import StoredRows  # needs numba, which jobs without tables never import

Destination = Callable[[Response], Tensor | None]
"""Returns the buffer for the center of a response, shape (n,) of this slice; None: no copy."""


def nowhere(response: Response) -> None:
    """Return no buffer: the reader takes theta from the response itself."""


class Shard:
    """One shard of the center, its workers and its gate. `theta` and all vectors are this shard's slices."""

    def __init__(self, spec: JobSpec, device: torch.device | None = None, hosting: TableHosting | None = None) -> None:
        """`device`: holds theta and the vectors of payloads. None: the CPU, where a plain step is one pass. `hosting`:
        of its tables; default: shard 0."""
        self.spec, self._hosting = spec, hosting or TableHosting(spec, 0)
        self._state_of_checkpoint = partial(self.state, rows=self._hosting.rows_in_checkpoints)
        self._device, self._one_pass = device or torch.device("cpu"), device is None
        self.center: Center | None = None
        """None until the first `Init`."""
        self.members = Members(spec.roles.worker.count)
        self.started = False
        """All ranks have joined or left, so the first responses are out."""
        self.over = False
        """All workers have left by themselves."""
        self.ended = False
        """The job is over, and an evaluator has made the last evaluation: no more entries follow."""
        self.gate = keeper(spec.effective_gate)
        self._waiting = WaitingRanks(self.gate, self.members)
        self._drift = Drift(spec) if Drift.is_worth_it(spec) else None
        self._stopping = False
        self.dealer = Dealer(spec.batches_ahead)
        self._responses = Responses(self.members, self.dealer)
        self._watchers = Watchers(self._responses)
        self._resending = Resending(self.members, self._responses, self._watchers)
        mine = spec, self.members, self.gate, self._waiting, self._responses
        self._pushes = Pushes(*mine, self._drift, self.dealer)
        self.checkpoint_making = CheckpointMaking(*mine, self._watchers)
        self._checkpoints, self.ledger = self.checkpoint_making.schedule, self._pushes.ledger
        self.observed, self.passes = self._pushes.observed, self._pushes.passes
        self._exports = ExportSchedule(spec)
        self._closing = PassClosing(self.members, self.gate, self.observed, self.passes, self._exports)
        self._out = Output()

    def handle(self, entry: Entry, payload: Payload | None = None, destination: Destination = nowhere) -> Output:
        """Take the next entry of the log. `destination` gives a buffer for each response that brings the center; theta is
        copied into it before this returns. Raises: ProtocolError."""
        self._out = Output()
        self._responses.written, self._pushes.decisions = self._out.responses, self._out.decisions
        match entry:
            case Init() if self.center is None and payload is not None:
                buffers = payload.buffers and CenterBuffers(payload.buffers)
                length, self.dealer.planned = (entry.epoch_samples, entry.total_samples), entry.planned
                tables = self._hosting.new_tables(dict(entry.tables), entry.epoch_samples)
                theta = own_copy(payload.x)
                told: dict[str, Any] = {"run_length": length, "tables": tables, "parameters": payload.parameters}
                self._adopt(Center(self.spec, theta, buffers, one_pass=self._one_pass, **told))
            case Join():
                self._join(entry)
            case Leave():
                self._leave(entry)
            case StopWorkers(rank=int(rank)):
                if rank in self.members:
                    self._responses.tell(rank, "stop")
            case StopWorkers() if not self._stopping:
                self._stopping = True
                self._checkpoints.give_up()  # who leaves now would be missing in the checkpoint
                self._responses.tell_all("stop")
            case Pull(rank) if rank == EVALUATOR:
                names_keys = payload is not None and payload.rows is not None
                self._watchers.pull(entry, of_kind(RowKeys, payload and payload.rows) if names_keys else None)
            case Lookup(rank) if rank == EVALUATOR:
                self._watchers.look_up(entry, of_kind(RowKeys, payload and payload.rows))
            case Push() | Pull() | Lookup() | Saved():
                self._from_worker(entry, payload)
            case Rejected():
                self._resending.resend(entry)
        self._exports.note_entry(entry)
        self.checkpoint_making.note_entry(entry, ending=self._stopping or self.over)
        self._settle()
        self._out.export = self._exports.take() if self.center and not self.over else None
        self._try_checkpoint()
        self._finish(destination)
        return self._out

    def is_news(self, entry: Entry) -> bool:
        """Return whether `handle` will act on this entry and read its payload. False for a repeat, and for an entry of an
        incarnation that is over."""
        if isinstance(entry, Push | Pull | Lookup | Saved) and entry.rank == EVALUATOR:
            return self._watchers.is_news(entry.incarnation, entry.seq)
        if isinstance(entry, Push | Pull | Lookup | Saved):
            return self.members.is_news(entry.rank, entry.incarnation, entry.seq)
        if isinstance(entry, Rejected):
            return self._resending.is_news(entry)
        return not isinstance(entry, Init) or self.center is None

    # ---- entries --------------------------------------------------------------------------------------------------------

    def _join(self, join: Join) -> None:
        if join.rank == EVALUATOR:
            self._watchers.join(join.incarnation)
        elif self.members.join(join):
            self._forget(join.rank)
            self.dealer.join(join.rank)
            self._waiting.add(join.rank, Held())
            making = self._checkpoints.making
            self._settle()  # so that who may begin has its center before it is asked to save its state
            if making:  # one that began just now was told to all
                self._responses.tell(join.rank, "checkpoint", checkpoint=self._checkpoints.making)
            if self._stopping:
                self._responses.tell(join.rank, "stop")

    def _leave(self, leave: Leave) -> None:
        """Remove a worker. Its earlier pushes still count."""
        if leave.rank == EVALUATOR:
            self._watchers.leave(leave)
            self.ended = self.over and leave.why == "done"
            return
        if self.members.leave(leave):
            self._waiting.drop(leave.rank)
            self._forget(leave.rank)
            self.dealer.take_back(leave.rank)
        if self.members.left[leave.rank].why == "lost" and self.spec.effective_on_worker_loss == "restart":
            self._checkpoints.give_up()
            self._checkpoints.barred = True

    def _forget(self, rank: int) -> None:
        self._responses.note_asks(rank, None)
        if self._drift:
            self._drift.forget(rank)

    def _from_worker(self, entry: Push | Pull | Lookup | Saved, payload: Payload | None) -> None:
        rank, seq = entry.rank, entry.seq
        member = self.members.get(rank)
        if member is None or entry.incarnation != member.incarnation:
            self._pushes.fence(entry)
            return
        if seq <= member.seq:
            return  # repeated after its connection was lost
        if seq != member.seq + 1:
            raise ProtocolError(f"worker {rank}.{entry.incarnation}: entry {seq} follows {member.seq}")
        member.seq = seq
        match entry:
            case Saved(checkpoint=checkpoint):
                member.saved = seq if checkpoint == self._checkpoints.making else 0
            case Pull():
                self._responses.center_to(rank, seq)
            case Lookup():
                self._responses.rows_to(rank, entry.incarnation, seq, of_kind(RowKeys, payload and payload.rows))
            case Push():
                if payload is None:
                    raise ProtocolError(f"worker {rank}.{entry.incarnation}: push {seq} has no payload")
                self.members.tick(rank)
                self.members.positions[rank] = entry.position
                self._responses.note_asks(rank, payload.asks)
                self._pushes.handle_push(entry, payload)

    # ---- after every entry ------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        if self.center is None or not (self.started or self.members.all_known()):
            return
        self.started = True
        counting = self.gate.closes(self.members)
        if counting is not None:
            self._close_round(counting)
        self._out.passes += self._closing.close_passes(self.center)
        self._watchers.keep_if_due(self.center)
        self.checkpoint_making.ask_if_due(self.center.samples, ending=self._stopping or self.over)
        self._watchers.answer()
        if not self._watchers.hold_workers:
            for rank, held in self._waiting.released(self.center.samples):
                self._responses.reply(rank, held, go=True)
        if self.members.all_done() and not self.over:
            self.over = True
            self._checkpoints.give_up()
            self._out.checkpoint = (FINAL_CHECKPOINT, list(range(self.members.count)), self._state_of_checkpoint())
        if self.over:
            self._watchers.tell_it_is_over()

    def _finish(self, destination: Destination) -> None:
        """Make the step that this entry led to, and copy theta into the buffers of the responses that bring it."""
        if self.center is None:
            return
        given = [response for response in self._out.responses if response.brings == "center" and response.rank != EVALUATOR]
        destinations = (destination(response) for response in given)
        self.center.finish([x for x in destinations if x is not None])
        if self._drift:
            for response in given:
                self._drift.given(response.rank, self.center)

    def _close_round(self, counting: list[int]) -> None:
        held = self._pushes.count_round(counting)
        self.checkpoint_making.announce_with_close()
        self._pushes.end_round(held)

    def _try_checkpoint(self) -> None:
        made = self.checkpoint_making.make(self.center if self.started else None, self._state_of_checkpoint)
        if made:
            self._out.checkpoint = made

    def _adopt(self, center: Center) -> None:
        self.center = self._responses.center = center
        self._watchers.has_tables = center.tables is not None
        evaluate, checkpoint = (
            part.cadence.in_samples(center.epoch_samples) for part in (self.spec.evaluate, self.spec.checkpoint)
        )
        self._watchers.queue = EvaluationQueue(evaluate) if evaluate else None
        self._checkpoints.by_samples(checkpoint, center.samples)

    # ---- checkpoints ---------------------------------------------------------------------------------------------------------

    def state(self, *, rows: bool = True) -> dict[str, Any]:
        """Return all that a new attempt needs to continue with the same numbers: tensors and plain values, a copy. `rows`: False
        leaves those of tables out."""
        state = {
            "center": self._responses.there().state(rows=rows),
            "members": self.members.state(),
            "ledger": self.ledger.state(),
            "gate": self.gate.state(),
            "evaluations": self._watchers.queue and self._watchers.queue.state(),
        }
        counted = {"observed": self.observed.state(), "passes": self.passes.state(), "dealer": self.dealer.state()}
        return state | {key: value for key, value in counted.items() if value}

    def load(self, state: dict[str, Any], rows: Iterable[StoredRows] = (), parameters: tuple[ParameterShape, ...] = ()) -> None:
        """Resume from a checkpoint, before the first entry: the same numbers, new members. `rows`: those that `state` lacks.
        `parameters`: those that lie in this slice."""
        tables = self._hosting.stored_tables(state["center"], rows)
        more: dict[str, Any] = {"one_pass": self._one_pass, "tables": tables, "parameters": parameters}
        self._adopt(Center.load(self.spec, state["center"], self._device, **more))
        self.members.load(state["members"])
        self.ledger.load(state["ledger"])
        self.gate.load(state["gate"], self._device)
        self.observed.load(state.get("observed"))
        self.passes.load(state.get("passes"))
        self.dealer.load(state.get("dealer"))
        if self._watchers.queue:
            self._watchers.queue.load(state.get("evaluations"), self._device)
