"""What becomes of pushes: dropped if they are late, counted alone (asp, ssp), or kept for the round and counted together (bsp)."""

from __future__ import annotations

from torch import Tensor

from gradstream.center.answers import Answers, Held
from gradstream.center.drift import Drift
from gradstream.center.entries import Payload, ProtocolError, Pull, Push, Saved
from gradstream.center.gate import GateKeeper
from gradstream.center.ledger import Decision, Fate, Ledger, Reason
from gradstream.center.members import Members
from gradstream.center.updates import Update, Updates
from gradstream.center.waiting import Waiting
from gradstream.spec import JobSpec


class Pushes:
    """`gate`, `waiting` and `drift` are the shard's."""

    def __init__(
        self, spec: JobSpec, members: Members, gate: GateKeeper, waiting: Waiting, answers: Answers, drift: Drift | None
    ) -> None:  # fmt: skip
        self._spec, self._members, self._gate, self._waiting, self._answers, self._drift = (
            spec,
            members,
            gate,
            waiting,
            answers,
            drift,
        )
        self.ledger = Ledger()
        self.decisions: list[Decision] = []
        """Of the entry that is being handled."""

    def take(self, push: Push, payload: Payload) -> None:
        """Raises: ProtocolError."""
        center = self._answers.there()
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
        if self._spec.effective_gate.mode == "bsp":
            self._gate.pending[push.rank] = (push, payload.x)
        else:
            self._count_alone(push, payload.x)

    def fence(self, entry: Push | Pull | Saved) -> None:
        """From a life that is over, or not the newest: it changes nothing and says so."""
        if self._members.first_sight(entry.rank, entry.incarnation, entry.seq) and isinstance(entry, Push):
            self.ledger.pushed(entry.rank)
            self._decide(entry, "dropped", reason="superseded")
        self._answers.word(entry.rank, entry.incarnation, entry.seq, "fenced")

    def count_round(self, counting: list[int]) -> dict[int, Held]:
        """Fold the pushes of these ranks into the center together: what each of them is answered, when `end_round` is called."""
        pending = self._gate.pending
        us = Updates(self._update(*pending[rank]) for rank in sorted(counting))
        fate = self._fold(us)
        return {u.rank: Held(fate, u.push, u.answer) for u in us}

    def end_round(self, held: dict[int, Held]) -> None:
        """Drop the pushes that came too late for it, and begin the next one."""
        for rank, (push, _) in self._gate.pending.items():
            if rank not in held:
                self._decide(push, "dropped", reason="quorum")
            member = self._members.get(rank)
            if member and member.incarnation == push.incarnation:
                self._hold(held.get(rank, Held("dropped", push)), push)
        self._gate.open(self._members)

    def _count_alone(self, push: Push, x: Tensor) -> None:
        update = self._update(push, x)
        moved = self._drift.measure(push, self._answers.there()) if self._drift else None
        fate = self._fold(Updates([update]))
        self._hold(Held(fate, push, update.answer, moved), push)

    def _hold(self, held: Held, push: Push) -> None:
        """Answer a push when the gate lets its worker go, with the center of that moment. A worker that waits for the answer
        inside of its round gets it now, and later the word to go on."""
        if push.want == "center" and self._spec.strategy.pulls_every_round:
            self._waiting.add(push.rank, held)
        else:
            self._answers.reply(push.rank, held, go=False)
            self._waiting.add(push.rank, Held("go"))

    def _update(self, push: Push, x: Tensor) -> Update:
        center = self._answers.there()
        return Update(push, x, center.version - push.base, center.base(push.rank, push.base))

    def _fold(self, us: Updates) -> Fate:
        fate: Fate = "applied" if self._answers.there().fold(us) else "buffered"
        for u in us:
            self._decide(u.push, fate, u.staleness)
        return fate

    def _why_dropped(self, push: Push) -> Reason:
        if not push.finite:
            return "not_finite"
        return "quorum" if self._spec.effective_gate.mode == "bsp" else "stale"

    def _decide(self, push: Push, fate: Fate, staleness: int | None = None, reason: Reason | None = None) -> None:
        staleness = self._answers.there().version - push.base if staleness is None else staleness
        decision = Decision(push.rank, push.incarnation, push.seq, fate, staleness, push.steps, push.examples, push.norm, reason)
        self.ledger.decide(decision)
        self.decisions.append(decision)
