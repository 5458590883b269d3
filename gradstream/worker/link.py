"""`ps` of a strategy: all shards of the center as one. The protocol of a worker, whatever carries its messages.

A worker's entries go out through a `Port`, answers come back in the order of the log. `begin` is the only place where the
gate holds a worker, where a cut happens and where a stop is obeyed: a strategy never sees any of them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from gradstream.center.entries import Answer, Buffers, Entry, Init, Join, Leave, Payload, Pull, Push, Saved, Want
from gradstream.codecs.coding import Residual
from gradstream.errors import PlaneLost
from gradstream.spec import JobSpec
from gradstream.worker.replica import LossNotFinite, Replica


class Port(Protocol):
    """Carries entries to all shards and answers back. Vectors are whole here, and on the CPU."""

    @property
    def out(self) -> Tensor | None:
        """Where a vector travels from without being copied once more; None: it makes no difference."""

    @property
    def centers(self) -> list[Tensor]:
        """Where centers arrive, in turn. A worker may train in them, as long as its rounds begin with a pull: what it is
        answered comes into another one than the center before, or there is only one. Empty: they arrive elsewhere."""

    def send(self, entry: Entry, payload: Payload | None = None, residual: Residual | None = None) -> None:
        """Returns when the entry is on its way: a push is in the log when the next entry is sent or an answer received, others at
        once. The payload must not change before its answer has come; what lies in `out` may become what arrives of it, under
        a lossy codec. `residual`: what earlier pushes did not carry goes with this one, and what this one does not stays there."""

    @property
    def flows(self) -> bool:
        """Some of a vector may go ahead of its header."""

    def flow(self, seq: int, x: Tensor, start: int) -> None:
        """Let `x` from `start` on go ahead of the push `seq` that will have it as its payload. -1: nothing of it is final, also of
        what went."""

    def receive(self) -> Answer:
        """The next answer, with its parts of all shards joined; its vector is valid until the next answer that brings one.

        Waits as long as the attempt lives. Raises: PlaneLost when it does not."""


@dataclass(slots=True)
class Ticket:
    """An entry that is not answered yet."""

    out: Tensor | None
    is_push: bool = False
    examples: int = 0
    residual: Residual | None = None
    """Of which some went with this push."""
    answered: bool = False


class Link:
    def __init__(
        self, spec: JobSpec, port: Port, w: Replica, rank: int, incarnation: int, save: Callable[[int, dict[str, Any]], None]
    ) -> None:
        """`save(cut, state)` keeps this worker's state for a cut."""
        self._port, self._w, self._rank, self._incarnation = port, w, rank, incarnation
        self._save = save
        self._strategy_answers, self._pulls_every_round = spec.strategy.answers, spec.strategy.pulls_every_round
        self._never_held = spec.effective_gate.never_holds
        self._pipeline = spec.pipeline
        self._fails_on_nan = spec.on_nan == "fail"
        self._out = torch.zeros_like(w.theta, device="cpu", pin_memory=w.theta.is_cuda) if port.out is None else port.out
        self._flowed: int | None = None
        """How often `_out` had been written to when some of it went ahead."""
        self._hand: Tensor | None = None
        """The center that the next pull gives."""
        feeds_back = spec.codec.lossy and spec.strategy.pushes == "direction"
        self._may_drop = spec.effective_gate.may_drop
        self._cuts_answered = bool(spec.pipeline) or (self._may_drop and self._never_held)
        """A state for a cut is made when all pushes are answered: what is left of one depends on whether it counts."""
        self._residual = Residual(torch.zeros_like(self._out), keeps=self._may_drop) if feeds_back else None
        self._hand_version = -1
        self._hand_buffers: Buffers | None = None
        self._open: dict[int, Ticket] = {}
        self._seq = 0
        self._base = 0
        self._go = False
        self._cut = 0
        self._fresh = True
        self.stopped = False
        self.samples = self.version = 0
        """As of the last answer."""
        self.wait_seconds = self.send_seconds = 0.0
        """Since the last push."""
        self.codec_error = 0.0
        """Norm of what a lossy codec has not sent yet, over the norm of the last push."""
        self.on_push: Callable[[Push], None] = lambda push: None
        self.on_distance: Callable[[float], None] = lambda distance: None
        """Told how far the center was from a push's base when the push was applied (L2 norm), of a sample of pushes."""
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
            self._rank, self._incarnation, self._seq + 1, base=self._base, steps=steps, examples=examples,
            want=self._wanted(out), position=self._w.t, finite=finite, norm=norm if finite else 0.0,
        )  # fmt: skip
        self._go = self._never_held
        residual = self._residual if finite else None
        ticket = self._enter(push, out, Payload(self._out, self._w.buffers()), residual)
        if residual:
            self.codec_error = residual.norm() / norm if norm else 0.0
        self.send_seconds = time.perf_counter() - began
        self.on_push(push)
        return ticket

    def _settle(self) -> None:
        """Wait until no push is under way: what it sends may be written over, then. Where a gate may hold the answer, a round
        makes one push, and begins when that is answered."""
        while self._never_held and any(ticket.is_push for ticket in self._open.values()):
            self._take()

    def _flow(self, start: int) -> None:
        """Of the gradient that is about to be pushed, everything from `start` on is there. It may go: no header, and nothing has
        happened. -1: nothing of it is."""
        self._port.flow(self._seq + 1, self._out, start)
        self._flowed = self._out._version

    def _wanted(self, out: Tensor | None) -> Want:
        if self._strategy_answers:
            return "answer"
        return "center" if self._pulls_every_round or out is not None else "ack"

    def wait(self, ticket: Ticket) -> Tensor:
        while not ticket.answered:
            self._take()
        assert ticket.out is not None, "wait is for tickets with an `out`"
        return ticket.out

    # ---- what the loop uses -----------------------------------------------------------------------------------------------

    def join(self, theta: Payload | None, resumed: dict[str, Any] | None) -> None:
        """Take part. `theta`: propose it as theta_0. `resumed`: go on from this state instead of from the center."""
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

        This is where a cut can be made: what was pushed is part of it, applied or kept by a gate. Nothing is on its way, unless
        rounds overlap, and then its answer comes at once.

        A next life is not told what became of a push that a gate kept at the cut: if it is dropped, what it carried of earlier
        ones is lost."""
        while not self.stopped:
            if self._cut and not (self._cuts_answered and self._open):
                self._make_cut()
            elif self._go and not self._cut and len(self._open) <= self._pipeline:
                return self._w.has_work  # none: this rank's last life had pushed all, and only its leave was missing
            else:
                self._prepare()
                self._take()
        return False

    def _prepare(self) -> None:
        """Use the time until an answer comes."""
        if self._open:
            began = time.perf_counter()
            self._w.prepare()
            self.wait_seconds += time.perf_counter() - began

    def leave(self) -> None:
        self._port.send(Leave(self._rank, self._incarnation, "stopped" if self.stopped and not self._w.done else "done"))

    def state(self) -> dict[str, Any]:
        """A worker that the gate has never let begin has none: in its next life it begins at the center, too."""
        residual = None if self._residual is None else self._residual.x.clone()
        return {"replica": None if self._fresh else self._w.state(), "base": self._base, "residual": residual}

    def _make_cut(self) -> None:
        cut, self._cut = self._cut, 0
        self._save(cut, self.state())
        ticket = self._enter(Saved(self._rank, self._incarnation, self._seq + 1, cut), None)
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
        """Receive one answer and do what it says."""
        began = time.perf_counter()
        answer = self._port.receive()
        self.wait_seconds += time.perf_counter() - began
        if answer.verdict == "fenced":
            raise PlaneLost(f"worker {self._rank}.{self._incarnation} was replaced; this life of it is over")
        self.samples, self.version = answer.samples, answer.version
        self._w.samples, self._w.n = answer.samples, answer.members
        self._go = answer.go or (self._go and answer.verdict != "saved")
        if answer.verdict == "cut":
            self._cut = answer.cut
        elif answer.verdict == "stop":
            self.stopped = True
        elif answer.brings == "center":
            self._take_center(answer)
        if answer.moved is not None:
            self.on_distance(math.sqrt(answer.moved))
        ticket = self._open.pop(answer.seq, None)
        if ticket:
            ticket.answered = True
            self._w.posted -= ticket.examples
            if ticket.residual and answer.verdict == "dropped" and self._may_drop:
                ticket.residual.take_back()
            if ticket.out is not None and answer.payload:
                ticket.out.copy_(answer.payload.x)
                if not self._pulls_every_round:
                    self._base = answer.version

    def _take_center(self, answer: Answer) -> None:
        assert answer.payload is not None, "an answer that brings a center has one"
        if self._pulls_every_round:
            self._hand = answer.payload.x
            self._hand_version = answer.version
            self._hand_buffers = answer.payload.buffers
        if self._fresh and answer.go:  # a replica without a state of its own goes on where its rank had got to
            self._fresh = False
            self._base = answer.version
            self._w.start(answer.payload, answer.position)


def _norm(x: Tensor) -> float:
    """L2 norm. Squares that overflow float32 are no reason to call a vector infinite."""
    norm = float(torch.linalg.vector_norm(x))
    return norm if math.isfinite(norm) else float(torch.linalg.vector_norm(x, dtype=torch.float64))
