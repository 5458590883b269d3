"""`ps` of a strategy: all shards of the center as one. The protocol of a worker, over any transport.

A worker sends its entries through a `Port` and gets responses in the order of the log. Only `begin` waits for the gate, takes part
in a checkpoint and obeys a stop: a strategy never sees any of them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from gradstream.center.entries import Buffers, Entry, Init, Join, Leave, Payload, Pull, Push, Response, Saved, Want
from gradstream.codecs.coding import Residual
from gradstream.errors import PlaneLost
from gradstream.spec import JobSpec
from gradstream.train.replica import LossNotFinite, Replica


class Port(Protocol):
    """Carries entries to all shards and responses back. Vectors are whole here, and on the CPU."""

    @property
    def out(self) -> Tensor | None:
        """The buffer from which the port sends a vector without another copy; None: it can send from any."""

    @property
    def centers(self) -> list[Tensor]:
        """The buffers into which centers arrive, in turn; empty: they arrive elsewhere. A worker whose rounds begin with a pull
        may train in them: each center arrives in another buffer than the one before, or there is only one."""

    def send(self, entry: Entry, payload: Payload | None = None, residual: Residual | None = None) -> None:
        """Post an entry. A push is in the log when the next entry is sent or a response received; other entries are at once.
        The payload must not change before its response has come. A lossy codec may overwrite `out` with the decoded values.
        `residual` holds the error of earlier pushes: it is added to this push, whose own error stays there."""

    @property
    def flows(self) -> bool:
        """True if parts of a vector may go ahead of its header."""

    def flow(self, seq: int, x: Tensor, start: int) -> None:
        """Send `x` from `start` on ahead of the push `seq` whose payload it will be. -1: nothing of it is final, nor of the
        parts that went."""

    def receive(self) -> Response:
        """Return the next response, joined from all shards; its vector is valid until the next response that brings one.

        Waits as long as the attempt lives. Raises: PlaneLost when it does not."""


@dataclass(slots=True)
class Ticket:
    """An entry that is not answered yet."""

    out: Tensor | None
    is_push: bool = False
    examples: int = 0
    residual: Residual | None = None
    """The residual of which this push carried some."""
    answered: bool = False


class Link:
    def __init__(
        self, spec: JobSpec, port: Port, w: Replica, rank: int, incarnation: int, save: Callable[[int, dict[str, Any]], None]
    ) -> None:
        """`save(checkpoint, state)` keeps this worker's state for a checkpoint."""
        self._port, self._w, self._rank, self._incarnation = port, w, rank, incarnation
        self._save = save
        self._strategy_responds, self._pulls_every_round = spec.strategy.responds, spec.strategy.pulls_every_round
        self._never_held = spec.effective_gate.never_holds
        self._pipeline = spec.pipeline
        self._fails_on_nan = spec.on_nan == "fail"
        self._out = torch.zeros_like(w.theta, device="cpu", pin_memory=w.theta.is_cuda) if port.out is None else port.out
        self._flowed: int | None = None
        """The version counter of `_out` when some of it went ahead."""
        self._hand: Tensor | None = None
        """The center that the next pull gives."""
        feeds_back = spec.codec.lossy and spec.strategy.pushes == "direction"
        self._may_drop = spec.effective_gate.may_drop
        self._checkpoint_when_answered = bool(spec.pipeline) or (self._may_drop and self._never_held)
        """True if a checkpoint waits for the responses to all pushes: the residual of a push depends on whether it counts."""
        self._residual = Residual(torch.zeros_like(self._out), keeps=self._may_drop) if feeds_back else None
        self._hand_version = -1
        self._hand_buffers: Buffers | None = None
        self._open: dict[int, Ticket] = {}
        self._seq = 0
        self._base = 0
        self._go = False
        self._checkpoint = 0
        self._fresh = True
        self.stopped = False
        self.samples = self.version = 0
        """Samples and version of the center, as of the last response."""
        self.wait_seconds = self.send_seconds = 0.0
        """Seconds spent since the last push."""
        self.codec_error = 0.0
        """Norm of what a lossy codec has not sent yet, over the norm of the last push."""
        self.on_push: Callable[[Push], None] = lambda push: None
        self.on_distance: Callable[[float], None] = lambda distance: None
        """Called, for a sample of pushes, with the L2 distance of the center from a push's base when the push was applied."""
        if spec.strategy.leaves_theta or (spec.strategy.pulls_every_round and not spec.pipeline):
            w.live_in(port.centers)
        if spec.strategy.leaves_theta and (port.out is None or not spec.codec.lossy):
            w.gather_into(self._out, self._settle, self._flow if port.flows else None)

    # ---- what a strategy uses -------------------------------------------------------------------------------------------

    def pull(self, out: Tensor) -> None:
        if self._pulls_every_round:
            assert self._hand is not None, "a round begins after the gate has opened, which brought a center"
            if out is self._w.theta:
                self._w.take(self._hand)
            else:
                out.copy_(self._hand)
            self._base = self._hand_version
            self._w.pulled(self._hand_buffers)
        else:
            self.wait(self.post(None, out))

    def push(self, x: Tensor) -> None:
        self.post(x, None)

    def exchange(self, x: Tensor, out: Tensor) -> Tensor:
        return self.wait(self.post(x, out))

    def post(self, x: Tensor | None, out: Tensor | None) -> Ticket:
        if x is None:
            return self._enter(Pull(self._rank, self._incarnation, self._seq + 1), out)
        norm = _norm(x)
        finite = math.isfinite(norm)
        if not finite and self._fails_on_nan:
            raise LossNotFinite(f"the update that ends with mini-batch {self._w.t - 1} holds a value that is not finite")
        self._settle()
        began = time.perf_counter()
        if x.data_ptr() != self._out.data_ptr():
            self._out.copy_(x)
        if self._flowed not in (None, self._out._version):
            self._flow(-1)  # the strategy pushes something else than the gradient that went
        steps, examples = self._w.hand_over()
        push = Push(
            self._rank,
            self._incarnation,
            self._seq + 1,
            base=self._base,
            steps=steps,
            examples=examples,
            want=self._wanted(out),
            position=self._w.t,
            finite=finite,
            norm=norm if finite else 0.0,
        )
        self._go = self._never_held
        residual = self._residual if finite else None
        ticket = self._enter(push, out, Payload(self._out, self._w.buffers()), residual)
        if residual:
            self.codec_error = residual.norm() / norm if norm else 0.0
        self.send_seconds = time.perf_counter() - began
        self.on_push(push)
        return ticket

    def _settle(self) -> None:
        """Wait until no push is under way, so that `_out` may be overwritten. Where a gate may hold the response this is not
        needed: a round makes one push, and the next begins after its response."""
        while self._never_held and any(ticket.is_push for ticket in self._open.values()):
            self._take()

    def _flow(self, start: int) -> None:
        """Send ahead the part from `start` on of the gradient that will be pushed; -1: no part of it is final. Without a header
        the shards do nothing with it."""
        self._port.flow(self._seq + 1, self._out, start)
        self._flowed = self._out._version

    def _wanted(self, out: Tensor | None) -> Want:
        if self._strategy_responds:
            return "response"
        return "center" if self._pulls_every_round or out is not None else "ack"

    def wait(self, ticket: Ticket) -> Tensor:
        while not ticket.answered:
            self._take()
        assert ticket.out is not None, "wait is for tickets with an `out`"
        return ticket.out

    # ---- what the loop uses -----------------------------------------------------------------------------------------------

    def join(self, theta: Payload | None, resumed: dict[str, Any] | None) -> None:
        """Join the job. `theta`: propose it as theta_0. `resumed`: continue from this state instead of from the center."""
        if theta is not None:
            self._port.send(Init(self._rank, self._incarnation, *self._w.run_length), theta)
        if resumed and resumed["replica"]:
            self._w.load(resumed["replica"])
            self._base, self._fresh = resumed["base"], False
            if self._residual is not None:
                self._residual.x.copy_(resumed["residual"])
        self._port.send(Join(self._rank, self._incarnation))

    def begin(self) -> bool:
        """Wait at the boundary between two rounds until the gate opens. False: leave now.

        Here a checkpoint can be made, with the pushes so far: applied, or kept by a gate. No push is on its way, unless rounds
        overlap, and then its response comes at once.

        The next incarnation does not learn the outcome of a push that a gate kept at the checkpoint. If that push is dropped, the
        residual that it carried is lost."""
        while not self.stopped:
            if self._checkpoint and not (self._checkpoint_when_answered and self._open):
                self._save_for_checkpoint()
            elif self._go and not self._checkpoint and len(self._open) <= self._pipeline:
                return self._w.has_work  # none: this rank's last incarnation had pushed all, and only its leave was missing
            else:
                self._prepare()
                self._take()
        return False

    def _prepare(self) -> None:
        """Fetch the next mini-batch while a response is to come."""
        if self._open:
            began = time.perf_counter()
            self._w.prepare()
            self.wait_seconds += time.perf_counter() - began

    def leave(self) -> None:
        self._port.send(Leave(self._rank, self._incarnation, "stopped" if self.stopped and not self._w.done else "done"))

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint. Before its first round a worker has none: its next incarnation begins at the center,
        too."""
        residual = None if self._residual is None else self._residual.x.clone()
        return {"replica": None if self._fresh else self._w.state(), "base": self._base, "residual": residual}

    def _save_for_checkpoint(self) -> None:
        checkpoint, self._checkpoint = self._checkpoint, 0
        self._save(checkpoint, self.state())
        ticket = self._enter(Saved(self._rank, self._incarnation, self._seq + 1, checkpoint), None)
        while not ticket.answered and not self.stopped:
            self._take()

    def _enter(
        self, entry: Push | Pull | Saved, out: Tensor | None, payload: Payload | None = None, residual: Residual | None = None
    ) -> Ticket:
        self._seq = entry.seq
        is_push = isinstance(entry, Push)
        ticket = self._open[entry.seq] = Ticket(out, is_push, entry.examples if isinstance(entry, Push) else 0, residual)
        self._port.send(entry, payload, residual)
        return ticket

    def _take(self) -> None:
        """Receive one response and act on it."""
        began = time.perf_counter()
        response = self._port.receive()
        self.wait_seconds += time.perf_counter() - began
        if response.outcome == "fenced":
            raise PlaneLost(f"worker {self._rank}.{self._incarnation} is superseded by a newer incarnation; exiting")
        self.samples, self.version = response.samples, response.version
        self._w.samples, self._w.n = response.samples, response.members
        self._go = response.go or (self._go and response.outcome != "saved")
        if response.outcome == "checkpoint":
            self._checkpoint = response.checkpoint
        elif response.outcome == "stop":
            self.stopped = True
        elif response.brings == "center":
            self._take_center(response)
        if response.moved is not None:
            self.on_distance(math.sqrt(response.moved))
        ticket = self._open.pop(response.seq, None)
        if ticket:
            ticket.answered = True
            self._w.posted -= ticket.examples
            if ticket.residual and response.outcome == "dropped" and self._may_drop:
                ticket.residual.take_back()
            if ticket.out is not None and response.payload:
                ticket.out.copy_(response.payload.x)
                if not self._pulls_every_round:
                    self._base = response.version

    def _take_center(self, response: Response) -> None:
        assert response.payload is not None, "a response that brings a center has one"
        if self._pulls_every_round:
            self._hand = response.payload.x
            self._hand_version = response.version
            self._hand_buffers = response.payload.buffers
        if self._fresh and response.go:  # a replica without a state of its own goes on where its rank had got to
            self._fresh = False
            self._base = response.version
            self._w.start(response.payload, response.position)


def _norm(x: Tensor) -> float:
    """Return the L2 norm, in float64 where float32 squares overflow, so that a finite vector has a finite norm."""
    norm = float(torch.linalg.vector_norm(x))
    return norm if math.isfinite(norm) else float(torch.linalg.vector_norm(x, dtype=torch.float64))
