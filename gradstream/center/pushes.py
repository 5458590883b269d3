"""The handling of pushes: drop late ones, count each alone (asp, ssp), or keep them and count a round together (bsp)."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from gradstream.center.dealing.dealer import Dealer
from gradstream.center.entries import Lookup, Outcome, Payload, ProtocolError, Pull, Push, Saved
from gradstream.center.gate import GateKeeper
from gradstream.center.ledger import Decision, Ledger, PushOutcome, Reason
from gradstream.center.members import Members
from gradstream.center.parameters.drift import Drift
from gradstream.center.parameters.updates import PushUpdate, PushUpdates
from gradstream.center.passes.clock import PassClock
from gradstream.center.responses import Held, Responses
from gradstream.center.tables.payload import RowGradients, of_kind
from gradstream.center.waiting import WaitingRanks
from gradstream.observations.pushes import ObservedPushes
from gradstream.spec import JobSpec


class Pushes:
    """All that it is given is the shard's."""

    def __init__(
        self,
        spec: JobSpec,
        members: Members,
        gate: GateKeeper,
        waiting: WaitingRanks,
        responses: Responses,
        drift: Drift | None,
        dealer: Dealer,
    ) -> None:
        self._spec, self._members, self._gate, self._waiting, self._responses = spec, members, gate, waiting, responses
        self._drift, self._dealer = drift, dealer
        self.ledger, self.observed, self.passes = Ledger(), ObservedPushes(), PassClock()
        self.decisions: list[Decision] = []
        """Decisions on pushes that the current entry led to."""

    def handle_push(self, push: Push, payload: Payload) -> None:
        """Raises: ProtocolError. Invalid: the rows are none of these tables."""
        center = self._responses.there()
        if push.rank in self._gate.pending:
            raise ProtocolError(f"worker {push.rank} pushed twice in one round: under bsp, a strategy's round makes one push")
        self.ledger.pushed(push.rank)
        numbers = self._dealer.push(push.rank, push.steps)
        self.passes.hold(push.rank, payload.passes_over)
        rows = of_kind(RowGradients, payload.rows)
        if center.tables:
            center.tables.check_push(rows)
        if not push.finite or self._gate.late(push, center.version):
            self._drop_rows(rows)
            self._dealer.drop(numbers, again=push.finite)
            if self._drift:
                self._drift.give_up(push.rank)
            self._decide(push, "dropped", reason=self._why_dropped(push))
            self.passes.decide(push.rank)
            self._hold(self._held("dropped", push), push)
            return
        if center.buffers and payload.buffers:
            center.buffers.put(push.rank, push.examples, payload.buffers)
        self.observed.hold(push.rank, payload.observed)
        if self._spec.effective_gate.mode == "bsp":
            self._gate.pending[push.rank] = (push, payload.x)
            if center.tables and rows:
                center.tables.hold(push.rank, rows)
        else:
            self._count_alone(push, payload.x, rows)

    def fence(self, entry: Push | Pull | Lookup | Saved) -> None:
        """Answer `fenced` to an entry of an incarnation that is over or superseded. The entry changes nothing."""
        if self._members.first_sight(entry.rank, entry.incarnation, entry.seq) and isinstance(entry, Push):
            self.ledger.pushed(entry.rank)
            self._decide(entry, "dropped", reason="superseded")
        self._responses.send_outcome(entry.rank, entry.incarnation, entry.seq, "fenced")

    def count_round(self, counting: list[int]) -> dict[int, Held]:
        """Apply the pushes of these ranks to the center together. Return the responses by rank, which `end_round` sends."""
        pending = self._gate.pending
        us = PushUpdates(self._with_staleness(*pending[rank], self._held_rows(rank)) for rank in sorted(counting))
        outcome = self._apply(us)
        return {u.rank: self._held(outcome, u.push, u) for u in us}

    def end_round(self, held: dict[int, Held]) -> None:
        """Drop the pushes that came too late for the round, and begin the next one."""
        for rank, (push, _) in self._gate.pending.items():
            if rank not in held:
                self._decide(push, "dropped", reason="quorum")
                self._drop_rows(self._held_rows(rank))
                self.observed.drop(rank)
                self.passes.decide(rank)
            member = self._members.get(rank)
            if member and member.incarnation == push.incarnation:
                self._hold(held.get(rank, self._held("dropped", push)), push)
        self._gate.open(self._members)

    def _held_rows(self, rank: int) -> Mapping[str, RowGradients] | None:
        tables = self._responses.there().tables
        return tables.take_held(rank) if tables else None

    def _drop_rows(self, rows: Mapping[str, RowGradients] | None) -> None:
        tables = self._responses.there().tables
        if tables and rows:
            tables.drop(rows)

    def _count_alone(self, push: Push, x: Tensor, rows: Mapping[str, RowGradients] | None) -> None:
        update = self._with_staleness(push, x, rows)
        moved = self._drift.measure(push, self._responses.there()) if self._drift else None
        outcome = self._apply(PushUpdates([update]))
        self._hold(self._held(outcome, push, update)._replace(moved=moved), push)

    def _held(self, outcome: Outcome, push: Push, update: PushUpdate | None = None) -> Held:
        """Return the response to a push. `update`: None, if the push is dropped."""
        samples = self._spec.update_histograms is not None
        staleness = self._responses.there().version - push.base if update is None else update.staleness
        return Held(outcome, push, update.response if update else None, staleness=staleness if samples else None)

    def _hold(self, held: Held, push: Push) -> None:
        """Answer a push when the gate releases its worker, with the center of that moment. A worker that waits for the response
        within its round gets it now, and `go` later."""
        if push.want == "center" and self._spec.strategy.pulls_every_round:
            self._waiting.add(push.rank, held)
        else:
            self._responses.reply(push.rank, held, go=False)
            self._waiting.add(push.rank, Held("go"))

    def _with_staleness(self, push: Push, x: Tensor, rows: Mapping[str, RowGradients] | None) -> PushUpdate:
        """Return the push with its staleness: the changes of the center since the version that the push was computed from."""
        center = self._responses.there()
        return PushUpdate(push, x, center.version - push.base, center.base(push.rank, push.base), rows)

    def _apply(self, us: PushUpdates) -> PushOutcome:
        outcome: PushOutcome = "applied" if self._responses.there().apply_updates(us) else "deferred"
        for u in us:
            self._decide(u.push, outcome, u.staleness)
            self.observed.count(u.rank)
            self.passes.decide(u.rank)
        return outcome

    def _why_dropped(self, push: Push) -> Reason:
        if not push.finite:
            return "not_finite"
        return "quorum" if self._spec.effective_gate.mode == "bsp" else "stale"

    def _decide(self, push: Push, outcome: PushOutcome, staleness: int | None = None, reason: Reason | None = None) -> None:
        staleness = self._responses.there().version - push.base if staleness is None else staleness
        decision = Decision(push.rank, push.incarnation, push.seq, outcome, staleness, push.steps, push.examples, push.norm, reason)
        self.ledger.decide(decision)
        self.decisions.append(decision)
