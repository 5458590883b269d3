"""The shard machine. `handle(entry, payload) -> Outcome` is the whole of it: a deterministic function of the log so far.

    entry --> membership --> push: late? dropped : counted alone (asp, ssp) or kept for the round (bsp)
          --> settle: close the round, let go whom the gate lets go          after every entry
          --> cut:    when every live worker stands at a boundary and has saved

The version counts changes of theta; the staleness of a push is the version just before it is applied minus its base.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from gradstream.center.answers import Answers, Held
from gradstream.center.buffers import CenterBuffers
from gradstream.center.center import Center
from gradstream.center.cuts import Cuts
from gradstream.center.drift import Drift
from gradstream.center.entries import (
    EVALUATOR,
    FINAL_CUT,
    Answer,
    Entry,
    Init,
    Join,
    Leave,
    Outcome,
    Payload,
    ProtocolError,
    Pull,
    Push,
    Saved,
    Snapshot,
    Stop,
    Unread,
)
from gradstream.center.evaluations import EvaluationQueue
from gradstream.center.gate import keeper
from gradstream.center.ledger import Decision, Fate, Ledger, Reason
from gradstream.center.members import Member, Members
from gradstream.center.updates import Update, Updates
from gradstream.center.waiting import Waiting
from gradstream.center.watchers import Watcher, Watchers
from gradstream.spec import JobSpec

Room = Callable[[Answer], Tensor | None]
"""Where the center of an answer should lie, shape (n,) of this slice."""


def nowhere(answer: Answer) -> None:
    """Who reads the answer takes theta from it."""


class Shard:
    """One shard of the center, its workers and its gate. `theta` and all vectors are this shard's slices."""

    def __init__(self, spec: JobSpec, device: torch.device | None = None) -> None:
        """`device`: where theta lives, and the vectors of payloads come from. None: on the CPU, where a plain step is one pass."""
        self.spec = spec
        self._device, self._one_pass = device or torch.device("cpu"), device is None
        self.center: Center | None = None
        """None until the first `Init`."""
        self.ledger = Ledger()
        self.members = Members(spec.roles.worker.count)
        self.started = False
        """All ranks were here once, so the first answers are out."""
        self.over = False
        """All workers have left by themselves."""
        self.ended = False
        """Over, and an evaluator has made the last evaluation: nothing more will come."""
        self._gate = keeper(spec.effective_gate)
        self._waiting = Waiting(self._gate, self.members)
        self._cuts = Cuts()
        self._drift = Drift(spec) if Drift.is_worth_it(spec) else None
        self._stopping = False
        self._answers = Answers(self.members)
        self._watchers = Watchers(self._answers)
        self._out = Outcome()

    def handle(self, entry: Entry, payload: Payload | None = None, room: Room = nowhere) -> Outcome:
        """Take the next entry of the log. `room` says where else theta should lie when this returns, for each answer that brings
        the center as it is. Raises: ProtocolError."""
        self._out = Outcome()
        self._answers.written = self._out.answers
        match entry:
            case Init() if self.center is None and payload is not None:
                buffers = payload.buffers and CenterBuffers(payload.buffers)
                length = entry.epoch_samples, entry.total_samples
                self._adopt(Center(self.spec, payload.x.clone(), buffers, one_pass=self._one_pass, run_length=length))
            case Join():
                self._join(entry)
            case Leave():
                self._leave(entry)
            case Snapshot(cut) if not (self._stopping or self.over):
                if self._cuts.ask(cut) and not self._waits_inside:
                    self._announce_cut()
            case Stop(rank=int(rank)):
                if rank in self.members:
                    self._answers.tell(rank, "stop")
            case Stop() if not self._stopping:
                self._stopping = True
                self._cuts.give_up()  # who leaves now would be missing in the cut
                self._answers.tell_all("stop")
            case Pull(rank) if rank == EVALUATOR:
                self._watchers.pull(entry)
            case Push() | Pull() | Saved():
                self._from_worker(entry, payload)
            case Unread():
                self._unread(entry)
        self._settle()
        self._try_cut()
        self._finish(room)
        return self._out

    def is_news(self, entry: Entry) -> bool:
        """Whether `handle` will do something with this entry, and read its payload: False for a repeat, and for what comes
        from a life that is over."""
        if isinstance(entry, Push | Pull | Saved):
            if entry.rank == EVALUATOR:
                return self._watchers.is_news(entry.incarnation, entry.seq)
            member = self.members.get(entry.rank)
            return member is not None and member.incarnation == entry.incarnation and member.seq < entry.seq
        if isinstance(entry, Unread):
            reader = self._reader(entry)
            return reader is not None and reader.unread < entry.number
        return not isinstance(entry, Init) or self.center is None

    # ---- entries --------------------------------------------------------------------------------------------------------

    def _join(self, join: Join) -> None:
        if join.rank == EVALUATOR:
            self._watchers.join(join.incarnation)
        elif self.members.join(join):
            self._forget(join.rank)
            self._waiting.add(join.rank, Held())
            making = self._cuts.making
            self._settle()  # so that who may begin has its center before it is asked to save its state
            if making:  # one that began just now was told to all
                self._answers.tell(join.rank, "cut", cut=self._cuts.making)
            if self._stopping:
                self._answers.tell(join.rank, "stop")

    def _leave(self, leave: Leave) -> None:
        """What a worker had pushed stays and counts."""
        if leave.rank == EVALUATOR:
            self._watchers.leave(leave)
            self.ended = self.over and leave.why == "done"
            return
        if self.members.leave(leave):
            self._waiting.drop(leave.rank)
            self._forget(leave.rank)
        if self.members.left[leave.rank].why == "lost" and self.spec.effective_on_worker_loss == "restart":
            self._cuts.give_up()
            self._cuts.barred = True

    def _forget(self, rank: int) -> None:
        if self._drift:
            self._drift.forget(rank)

    def _from_worker(self, entry: Push | Pull | Saved, payload: Payload | None) -> None:
        rank, seq = entry.rank, entry.seq
        member = self.members.get(rank)
        if member is None or entry.incarnation != member.incarnation:
            self._fence(entry)
            return
        if seq <= member.seq:
            return  # repeated after its connection was lost
        if seq != member.seq + 1:
            raise ProtocolError(f"worker {rank}.{entry.incarnation}: entry {seq} follows {member.seq}")
        member.seq = seq
        match entry:
            case Saved(cut=cut):
                member.saved = seq if cut == self._cuts.making else 0
            case Pull():
                self._answers.center_to(rank, seq)
            case Push():
                if payload is None:
                    raise ProtocolError(f"worker {rank}.{entry.incarnation}: push {seq} has no payload")
                self.members.tick(rank)
                self.members.positions[rank] = entry.position
                self._push(entry, payload)

    def _unread(self, entry: Unread) -> None:
        reader = self._reader(entry)
        if reader is None:
            self._answers.word(entry.rank, entry.incarnation, entry.seq, "fenced")
        elif reader.unread < entry.number:
            reader.unread = entry.number
            if entry.rank == EVALUATOR:
                self._watchers.answer_again(entry)
            elif entry.brings == "center":
                self._answers.center_again(entry)

    def _reader(self, entry: Unread) -> Member | Watcher | None:
        """None: its life is over."""
        if entry.rank == EVALUATOR:
            return self._watchers.here(entry.incarnation)
        member = self.members.get(entry.rank)
        return member if member and member.incarnation == entry.incarnation else None

    def _fence(self, entry: Push | Pull | Saved) -> None:
        """From a life that is over, or not the newest: it changes nothing and says so."""
        if self.members.first_sight(entry.rank, entry.incarnation, entry.seq) and isinstance(entry, Push):
            self.ledger.pushed(entry.rank)
            self._decide(entry, "dropped", reason="superseded")
        self._answers.word(entry.rank, entry.incarnation, entry.seq, "fenced")

    def _push(self, push: Push, payload: Payload) -> None:
        center = self._center()
        if push.rank in self._gate.pending:
            raise ProtocolError(f"worker {push.rank} pushed twice in one round: under bsp, a strategy's round makes one push")
        self.ledger.pushed(push.rank)
        if not push.finite or self._gate.late(push, center.version):
            if self._drift:
                self._drift.give_up(push.rank)
            self._decide(push, "dropped", reason=self._why_dropped(push))
            self._hold(Held("dropped", push), push)
            return
        if center.buffers and payload.buffers:
            center.buffers.put(push.rank, push.examples, payload.buffers)
        if self.spec.effective_gate.mode == "bsp":
            self._gate.pending[push.rank] = (push, payload.x)
        else:
            self._count_alone(push, payload.x)

    def _count_alone(self, push: Push, x: Tensor) -> None:
        update = self._update(push, x)
        moved = self._drift.measure(push, self._center()) if self._drift else None
        fate = self._fold(Updates([update]))
        self._hold(Held(fate, push, update.answer, moved), push)

    def _hold(self, held: Held, push: Push) -> None:
        """Answer a push when the gate lets its worker go, with the center of that moment. A worker that waits for the answer
        inside of its round gets it now, and later the word to go on."""
        if push.want == "center" and self.spec.strategy.pulls_every_round:
            self._waiting.add(push.rank, held)
        else:
            self._answers.reply(push.rank, held, go=False)
            self._waiting.add(push.rank, Held("go"))

    # ---- after every entry ------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        if self.center is None or not (self.started or self.members.all_known()):
            return
        self.started = True
        counting = self._gate.closes(self.members)
        if counting is not None:
            self._close_round(counting)
        self._go_by_samples(self.center)
        self._watchers.answer()
        if not self._watchers.hold_workers:
            for rank, held in self._waiting.released(self.center.samples):
                self._answers.reply(rank, held, go=True)
        if self.members.all_done() and not self.over:
            self.over = True
            self._cuts.give_up()
            self._out.cut = (FINAL_CUT, list(range(self.members.count)), self.state())
        if self.over:
            self._watchers.tell_it_is_over()

    def _go_by_samples(self, center: Center) -> None:
        """What falls due when the center has seen so many samples: an evaluation, a checkpoint."""
        self._watchers.keep_if_due(center)
        due = self._cuts.is_due(center.samples) and not (self._stopping or self.over)
        if due and self._cuts.ask_next() and not self._waits_inside:
            self._announce_cut()

    def _finish(self, room: Room) -> None:
        """Make the step that this entry led to, and lay theta where those want it who get it."""
        if self.center is None:
            return
        given = [answer for answer in self._out.answers if answer.brings == "center" and answer.rank != EVALUATOR]
        rooms = (room(answer) for answer in given)
        self.center.finish([x for x in rooms if x is not None])
        if self._drift:
            for answer in given:
                self._drift.given(answer.rank, self.center)

    @property
    def _waits_inside(self) -> bool:
        """Workers wait for the round's close inside of their round, where they cannot save: a cut is announced with the close, so
        that all of them, or none, begin another round before they save."""
        return self.spec.effective_gate.mode == "bsp" and not self.spec.strategy.pulls_every_round

    def _announce_cut(self) -> None:
        self._answers.tell_all("cut", cut=self._cuts.announce())

    def _close_round(self, counting: list[int]) -> None:
        pending = self._gate.pending
        us = Updates(self._update(*pending[rank]) for rank in sorted(counting))
        fate = self._fold(us)
        if self._cuts.asked:
            self._announce_cut()
        held = {u.rank: Held(fate, u.push, u.answer) for u in us}
        for rank, (push, _) in pending.items():
            if rank not in held:
                self._decide(push, "dropped", reason="quorum")
            member = self.members.get(rank)
            if member and member.incarnation == push.incarnation:
                self._hold(held.get(rank, Held("dropped", push)), push)
        self._gate.open(self.members)

    def _update(self, push: Push, x: Tensor) -> Update:
        center = self._center()
        return Update(push, x, center.version - push.base, center.base(push.rank, push.base))

    def _fold(self, us: Updates) -> Fate:
        fate: Fate = "applied" if self._center().fold(us) else "buffered"
        for u in us:
            self._decide(u.push, fate, u.staleness)
        return fate

    def _why_dropped(self, push: Push) -> Reason:
        if not push.finite:
            return "not_finite"
        return "quorum" if self.spec.effective_gate.mode == "bsp" else "stale"

    def _decide(self, push: Push, fate: Fate, staleness: int | None = None, reason: Reason | None = None) -> None:
        staleness = self._center().version - push.base if staleness is None else staleness
        decision = Decision(push.rank, push.incarnation, push.seq, fate, staleness, push.steps, push.examples, push.norm, reason)
        self.ledger.decide(decision)
        self._out.decisions.append(decision)

    def _try_cut(self) -> None:
        """Every live worker stands at a boundary and has written its state: here is the cut.

        Each gets a fresh center, and who had passed the gate passes it again: so it goes in a job that resumes from here."""
        if not (self._cuts.making and self.started and self.members) or not all(member.saved for member in self.members.values()):
            return
        self._out.cut = (self._cuts.making, sorted(self.members), self.state())
        self._cuts.making = 0
        for rank, member in sorted(self.members.items()):
            at_gate = rank in self._waiting or rank in self._gate.pending
            free = not at_gate and not self._watchers.hold_workers
            go = free and bool(self._gate.free([rank], self.members, self._center().samples))
            if not at_gate and not go:
                self._waiting.add(rank, Held())
            seq, member.saved = member.saved, 0
            self._answers.center_to(rank, seq, "saved", go=go)

    def _center(self) -> Center:
        return self._answers.there()

    def _adopt(self, center: Center) -> None:
        self.center = self._answers.center = center
        evaluate, checkpoint = (part.cadence.in_samples(center.epoch_samples) for part in (self.spec.evaluate, self.spec.snapshot))
        self._watchers.queue = EvaluationQueue(evaluate) if evaluate else None
        self._cuts.by_samples(checkpoint, center.samples)

    # ---- cuts ----------------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything that a new attempt needs to go on with the same numbers: tensors and plain values, a copy."""
        return {
            "center": self._center().state(),
            "members": self.members.state(),
            "ledger": self.ledger.state(),
            "gate": self._gate.state(),
            "evaluations": self._watchers.queue and self._watchers.queue.state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Begin from a cut, before the first entry: the same numbers, new members."""
        self._adopt(Center.load(self.spec, state["center"], self._device, one_pass=self._one_pass))
        self.members.load(state["members"])
        self.ledger.load(state["ledger"])
        self._gate.load(state["gate"], self._device)
        if self._watchers.queue:
            self._watchers.queue.load(state.get("evaluations"), self._device)
