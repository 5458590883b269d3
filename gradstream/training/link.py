"""`ps` of a strategy: all shards of the center as one. The protocol of a worker, over any transport.

A worker sends its entries through a `Port` and gets responses in the order of the log. Only `begin` waits for the gate, takes part
in a checkpoint and obeys a stop: a strategy never sees any of them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from gradstream.center.entries import Init, Join, Leave, Lookup, Payload, Pull, Push, Response, Saved, Want
from gradstream.center.tables.payload import RowKeys
from gradstream.codecs.coding import Residual
from gradstream.errors import PlaneLost
from gradstream.spec import JobSpec
from gradstream.training.link_events import LinkEvents
from gradstream.training.port import Port
from gradstream.training.push_buffer import PushBuffer, norm_of
from gradstream.training.replica import LossNotFinite, Replica
from gradstream.training.row_requests import RowRequests
from gradstream.training.tickets import Ticket, Tickets
from gradstream.training.worker_model import NextCenter

_LOOK_FOR_DATA = 0.5
"""Seconds between two looks for data that has not come yet."""


class Link:
    def __init__(self, spec: JobSpec, port: Port, w: Replica, rank: int, incarnation: int, events: LinkEvents) -> None:
        self._port, self._w, self._rank, self._incarnation, self._events = port, w, rank, incarnation, events
        self._strategy, self._gate, self._pipeline = spec.strategy, spec.effective_gate, spec.pipeline
        self._fails_on_nan = spec.on_nan == "fail" and not spec.drops_overflows
        self._buffer, self._tickets = PushBuffer(spec, port, w.theta), Tickets()
        self._next_center: NextCenter | None = None
        self._base = 0
        """The version that the next push was computed from."""
        self._go = False
        """True if the gate has opened for the next round."""
        self._checkpoint = 0
        """The checkpoint to save state for at the next boundary; 0: none."""
        self._fresh = True
        """True until the replica has a state of its own."""
        self.stopped = False
        self.samples = self.version = 0
        """Samples and version of the center, as of the last response."""
        self.wait_seconds = self.send_seconds = 0.0
        """Seconds spent since the last push."""
        self.codec_error = 0.0
        """Norm of what a lossy codec has not sent yet, over the norm of the last push."""
        self.rows = RowRequests(w, self._send_lookup, self._wait_until_answered)
        if spec.strategy.leaves_theta or (spec.strategy.pulls_every_round and not spec.pipeline):
            w.model.train_in(port.centers)
        if spec.strategy.leaves_theta and (port.out is None or not spec.codec.lossy):
            wait = w.batches.untimed(self._wait_for_push)
            w.model.gather_into(self._buffer.x, wait, self._send_ahead if port.can_send_ahead else None)

    # ---- for a strategy ----------------------------------------------------------------------------------------------------

    def pull(self, out: Tensor) -> None:
        if not self._strategy.pulls_every_round:
            self.wait(self.post(None, out))
            return
        assert self._next_center is not None, "a round begins after the gate has opened, which brought a center"
        if out is self._w.theta:
            self._w.model.set_theta(self._next_center.x)
        else:
            out.copy_(self._next_center.x)
        self._base = self._next_center.version
        self._w.model.load_averaged_optimizer(self._next_center.buffers)

    def push(self, x: Tensor) -> None:
        self.post(x, None)
        while self._w.has_gradients and self.begin():
            self.post(self._w.grad(), None)

    def exchange(self, x: Tensor, out: Tensor) -> Tensor:
        return self.wait(self._post_push(x, out, waits=True))

    def post(self, x: Tensor | None, out: Tensor | None) -> Ticket:
        if x is None:
            return self._send_entry(Pull(self._rank, self._incarnation, self._tickets.next_seq), out)
        return self._post_push(x, out, waits=self._strategy.pulls_every_round)

    def _post_push(self, x: Tensor, out: Tensor | None, *, waits: bool) -> Ticket:
        """`waits`: the next mini-batch waits for the response. Else the push asks for no rows where a gate may hold that."""
        rows, observed = self._w.model.take_row_gradients(), self._w.model.take_observations()
        norm = norm_of(x, rows)
        finite = math.isfinite(norm)
        if not finite and self._fails_on_nan:
            raise LossNotFinite(f"the update that ends with mini-batch {self._w.t - 1} holds a value that is not finite")
        asks = self.rows.keys_ahead() if waits or self._gate.never_holds else None
        self._wait_for_push()
        began = time.perf_counter()
        self._buffer.fill(self._tickets.next_seq, x)
        steps, examples = self._w.batches.post(self._tickets.next_seq), self._w.samples.post()
        push = Push(
            self._rank,
            self._incarnation,
            self._tickets.next_seq,
            base=self._base,
            steps=steps,
            examples=examples,
            want=self._wanted(out),
            position=self._w.batches.position,
            finite=finite,
            norm=norm if finite else 0.0,
        )
        self._events.posting(push, self._buffer.x)
        self._go = self._gate.never_holds
        residual = self._buffer.residual if finite else None
        model = self._w.model
        payload = Payload(self._buffer.x, model.buffers(), rows, observed, asks, model.passes_over(observed))
        ticket = self._send_entry(push, out, payload, residual)
        self.rows.note_push(ticket, asks)
        if residual:
            self.codec_error = residual.norm() / norm if norm else 0.0
        self.send_seconds = time.perf_counter() - began
        self._events.pushed(push)
        return ticket

    def _send_lookup(self, keys: Mapping[str, RowKeys]) -> Ticket:
        lookup = Lookup(self._rank, self._incarnation, self._tickets.next_seq)
        return self._send_entry(lookup, None, Payload(self._buffer.x[:0], rows=keys))

    def _wait_for_push(self) -> None:
        """Wait until no push is under way, so that the buffer may be overwritten. Where a gate may hold the response this is not
        needed: a round makes one push, and the next begins after its response."""
        while self._gate.never_holds and self._tickets.has_push:
            self._receive_response()

    def _send_ahead(self, start: int) -> None:
        """Send ahead the part from `start` on of the gradient that will be pushed; -1: no part of it is final."""
        self._buffer.send_ahead(self._tickets.next_seq, start)

    def _wanted(self, out: Tensor | None) -> Want:
        if self._strategy.responds:
            return "response"
        return "center" if self._strategy.pulls_every_round or out is not None else "ack"

    def wait(self, ticket: Ticket) -> Tensor:
        self._wait_until_answered(ticket)
        assert ticket.out is not None, "wait is for tickets with an `out`"
        return ticket.out

    def _wait_until_answered(self, ticket: Ticket) -> None:
        while not ticket.answered:
            self._receive_response()

    # ---- for the loop ------------------------------------------------------------------------------------------------------

    def join(self, theta: Payload | None, resumed: dict[str, Any] | None) -> None:
        """Join the job. `theta`: propose it as theta_0. `resumed`: continue from this state instead of from the center."""
        if theta is not None:
            tables = tuple(sorted(self._w.model.tables.items()))
            run_length, planned = self._w.samples.run_length, self._w.batches.planned
            self._port.send(Init(self._rank, self._incarnation, *run_length, tables, planned), theta)
        if resumed and resumed["replica"]:
            self._w.load(resumed["replica"])
            self._base, self._fresh = resumed["base"], False
            if self._buffer.residual is not None:
                self._buffer.residual.x.copy_(resumed["residual"])
        self._port.send(Join(self._rank, self._incarnation))

    def begin(self) -> bool:
        """Wait at the boundary between two rounds until the gate opens. False: leave now.

        Here a checkpoint can be made, with the pushes so far: applied, or kept by a gate. No push is on its way, unless rounds
        overlap, and then its response comes at once.

        The next incarnation does not learn the outcome of a push that a gate kept at the checkpoint. If that push is dropped, the
        residual that it carried is lost."""
        while not self.stopped:
            if self._checkpoint and not (self._checkpoint_waits and self._tickets):
                self._save_for_checkpoint()
            elif self._go and not self._checkpoint and len(self._tickets) <= self._pipeline and not self._w.batches.awaits_grant:
                if self._w.batches.must_wait:
                    self._wait_for_data()
                    continue
                return self._w.batches.has_work  # none: this rank's last incarnation had pushed all, and only its leave was missing
            else:
                self._prepare_batch()
                self._receive_response()
        return False

    def _wait_for_data(self) -> None:
        """Stay at the boundary until the next mini-batch is there, or a response says to do something else. Then take the center of
        that moment, where others may have moved it on."""
        while self._w.batches.must_wait and not (self.stopped or self._checkpoint):
            self._events.waits_for_data()
            if response := self._port.receive_within(_LOOK_FOR_DATA):
                self._act_on(response)
        if self._gate.never_holds and self._strategy.pulls_every_round and not (self.stopped or self._checkpoint):
            self._wait_until_answered(self._send_entry(Pull(self._rank, self._incarnation, self._tickets.next_seq), None))

    @property
    def _checkpoint_waits(self) -> bool:
        """True if a checkpoint waits for the responses to all pushes: the residual of a push depends on whether it counts."""
        return bool(self._pipeline) or (self._gate.may_drop and self._gate.never_holds)

    def wait_for_responses(self) -> None:
        """Wait for the responses to all entries that were sent."""
        while self._tickets:
            self._receive_response()

    def _prepare_batch(self) -> None:
        """Fetch the next mini-batch while a response is to come."""
        if self._tickets:
            began = time.perf_counter()
            self._w.prepare()
            self.wait_seconds += time.perf_counter() - began

    def leave(self) -> None:
        self._port.send(Leave(self._rank, self._incarnation, "stopped" if self.stopped and not self._w.done else "done"))

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint. Before its first round a worker has none: its next incarnation begins at the center,
        too."""
        residual = self._buffer.residual
        return {
            "replica": None if self._fresh else self._w.state(),
            "base": self._base,
            "residual": None if residual is None else residual.x.clone(),
        }

    def _save_for_checkpoint(self) -> None:
        checkpoint, self._checkpoint = self._checkpoint, 0
        self._events.save_state(checkpoint, self.state)
        ticket = self._send_entry(Saved(self._rank, self._incarnation, self._tickets.next_seq, checkpoint), None)
        while not ticket.answered and not self.stopped:
            self._receive_response()
        self.rows.forget_asked()

    # ---- entries and responses -------------------------------------------------------------------------------------------

    def _send_entry(
        self,
        entry: Push | Pull | Lookup | Saved,
        out: Tensor | None,
        payload: Payload | None = None,
        residual: Residual | None = None,
    ) -> Ticket:
        ticket = self._tickets.open(entry, out, residual)
        self._port.send(entry, payload, residual)
        return ticket

    def _receive_response(self) -> None:
        """Receive one response and act on it."""
        began = time.perf_counter()
        response = self._port.receive()
        self.wait_seconds += time.perf_counter() - began
        self._act_on(response)

    def _act_on(self, response: Response) -> None:
        if response.outcome == "fenced":
            raise PlaneLost(f"worker {self._rank}.{self._incarnation} is superseded by a newer incarnation; exiting")
        self.samples, self.version = response.samples, response.version
        self._w.samples.note_center(response.samples, response.members)
        self._go = response.go or (self._go and response.outcome != "saved")
        if response.outcome == "checkpoint":
            self._checkpoint = response.checkpoint
        elif response.outcome == "stop":
            self.stopped = True
        elif response.brings == "center":
            self._receive_center(response)
        if response.moved is not None:
            self._events.measured_distance(math.sqrt(response.moved))
        self._w.batches.receive_grant(response)
        if ticket := self._tickets.close(response):
            self._finish_ticket(ticket, response)

    def _receive_center(self, response: Response) -> None:
        assert response.payload is not None, "a response that brings a center has one"
        if self._strategy.pulls_every_round:
            self._next_center = NextCenter(response.payload.x, response.version, response.payload.buffers)
        if self._fresh and response.go:  # a replica without a state of its own goes on where its rank had got to
            self._fresh = False
            self._base = response.version
            self._w.start(response.payload, response.position)

    def _finish_ticket(self, ticket: Ticket, response: Response) -> None:
        self._w.samples.answer(ticket.examples)
        if ticket.is_push:
            self._events.answered(response)
        if ticket.residual and response.outcome == "dropped" and self._gate.may_drop:
            ticket.residual.take_back()
        if response.payload:
            self.rows.receive(ticket, response.payload)
        if ticket.out is not None and response.payload:
            ticket.out.copy_(response.payload.x)
            if not self._strategy.pulls_every_round:
                self._base = response.version
