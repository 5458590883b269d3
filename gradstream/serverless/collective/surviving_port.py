"""The port of a worker that goes on when another one is lost, and combines pushes by gloo.

    a turn:      the workers gather the entries of all, and rehearse them: which vectors does the turn need?
                 they exchange these;   then each handles the entries, and waits for none
    a break:     the workers meet anew. One that has handled the broken turn gives its vectors to the others, which handle it, too;
                 if none has, all repeat it without the lost worker
    a newcomer:  the workers meet anew after a turn, and one of them gives it the whole shard

So a turn is handled by all or by none. No worker is more than one turn ahead of another, as each turn begins with the entries of
all. Worker 0 reads in the log who is lost; its own loss ends the attempt.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace
from torch import Tensor

from gradstream.center.entries import Leave, Payload, Response
from gradstream.center.parameters.updates import PushUpdates
from gradstream.center.shard import Shard
from gradstream.process.exits import UserError
from gradstream.process.order import ProcessOrder
from gradstream.serverless.awaited import ReportAwaited, report_nothing
from gradstream.serverless.barrier import LOOK_INTERVAL
from gradstream.serverless.collective.copied_shard import CopiedShard, payload_of
from gradstream.serverless.collective.group import GlooGroup, GroupBroken
from gradstream.serverless.collective.handover import Handover, Turn
from gradstream.serverless.collective.machine_copy import unpack_shard
from gradstream.serverless.collective.port import CollectivePort, WorkerTurn, decode_turn, encode_turn
from gradstream.serverless.collective.rehearsal import rehearse
from gradstream.serverless.collective.roster import ANY, NONE, Meetings, Roster
from gradstream.shard_server.settings import ServerSettings
from gradstream.wire.transport.layout import Layout
from gradstream.wire.transport.messages import Header

log = logging.getLogger(__name__)

_TRIES = 3
"""Meetings in a row after which the same workers could not connect: then their machines cannot."""


class SurvivingPort(CollectivePort):
    """A `gradstream.training.port.Port`. See `CollectivePort`."""

    def __init__(
        self,
        order: ProcessOrder,
        folder: Path,
        layout: Layout,
        settings: ServerSettings,
        on_wait: Callable[[float], None] = lambda seconds: None,
        on_awaited: ReportAwaited = report_nothing,
    ) -> None:
        """The first turn waits for the others, and raises UserError if they cannot reach this machine."""
        self._order = order
        self._roster: Roster | None = None
        """The newest that has this worker; None: none yet."""
        self._is_in_group = self._is_over = False
        """The group of the roster is whole, as far as this worker knows; the job is over, and others take no turns any more."""
        self._failed = 0
        """Groups of these workers in a row that could not connect."""
        self._left: dict[int, int] = {}
        """The last incarnation of each rank that is lost, as far as worker 0 has read the log."""
        self._kept_outside: list[bytes] = []
        self._given, self._pushes = WorkerTurn([]), False
        """This worker's part in the next turn, which may have to be repeated, and whether it has a push."""
        self._last, self._last_vectors = Turn(0 if order.incarnation == 0 else ANY, []), list[Tensor]()
        """The last turn that this worker has handled."""
        self._newcomers_due = 0.0
        super().__init__(order, folder, layout, settings, on_wait, on_awaited)
        self._meetings = Meetings(self._redis, self._j, self._rank, order.incarnation, self._count, self._look)

    def _connect(self) -> GlooGroup:
        return GlooGroup(self._redis, self._routes.home, self._j, self._rank, [self._rank], self._look)

    def _copy(self, order: ProcessOrder, folder: Path) -> CopiedShard:
        """A newcomer gets the whole shard from another worker."""
        mine = order if order.incarnation == 0 else order.model_copy(update={"resume": None})
        return super()._copy(mine, folder)

    # ---- meetings -------------------------------------------------------------------------------------------------------------

    def _meet(self) -> None:
        """Go on in a new group, after the last turn that any of its workers has handled."""
        while not self._is_over:
            try:
                group = self._form_group()
                if group:
                    self._enter(group)
                return
            except GroupBroken as error:
                self._note_break(error)

    def _note_break(self, why: object) -> None:
        log.info("the workers meet anew: %s", why)
        if self._roster:
            self._meetings.put(f"broken-{self._roster.number}", b"")
        self._is_in_group = False
        self._group.abandon()

    def _form_group(self) -> GlooGroup | None:
        """Meet the others, and connect; None: the job is over. Raises: GroupBroken: one of them is lost meanwhile."""
        number = self._roster.number + 1 if self._roster else ANY if self._incarnation else 0
        roster = self._attend(number)
        if roster is None:
            self._is_over = True
            return None
        if self._roster and roster.incarnations != self._roster.incarnations:
            self._failed = 0  # a loss explains the last one
        self._roster, self._is_in_group = roster, True
        given = self._redis, self._routes.home, self._j, self._rank, roster.ranks, self._look
        try:
            group = GlooGroup(*given, prefix=f"{roster.number}/", end_timeout=0.0)
        except UserError as error:
            self._failed += 1
            if self._failed == _TRIES:
                raise
            raise GroupBroken(str(error)) from error
        self._failed = 0
        return group

    def _attend(self, number: int) -> Roster | None:
        turn = self._last.number
        if self._rank != 0:
            return self._meetings.attend(number, turn)
        return self._meetings.lead(number, turn, self._roster, self._find_left, admits=not self.shard.ended)

    def _find_left(self) -> dict[int, int]:
        self._read_outside(0.0)
        return self._left

    def _enter(self, group: GlooGroup) -> None:
        """Give what other workers lack, or get it. Raises: GroupBroken."""
        group.nbytes, group.seconds = self._group.nbytes, self._group.seconds
        self._group, roster = group, self._roster
        assert roster is not None, "a group has a roster"
        self._vectors.enter(group, roster.ranks)
        handover = Handover(self._meetings, group, roster.number, roster.ranks.index(roster.giver))
        if roster.is_behind:
            turn, vectors = handover.turn(self._last, self._last_vectors)
            if 0 <= self._last.number < turn.number:
                self._handle_turn(turn, vectors)
        if roster.has_newcomers:
            turn, packed = handover.shard(self._last, self.shard)
            if self._last.number < 0:
                self._last = turn
                self.shard = self._holder.shard = unpack_shard(packed, self._order.spec, self._layout)
        self._vectors.note_whole(self.shard.gate.pending)

    def _look(self, waited: float) -> None:
        """Raises: GroupBroken: a worker of the group is lost. PlaneLost: the attempt is over."""
        super()._look(waited)
        if not (self._roster and self._is_in_group):
            return
        left = self._find_left()
        if any(left.get(rank, ANY) >= incarnation for rank, incarnation in self._roster.incarnations.items()):
            raise GroupBroken("a worker is lost")
        if self._meetings.is_there(f"broken-{self._roster.number}"):
            raise GroupBroken("another worker is cut off")

    @property
    def _ranks(self) -> Sequence[int]:
        return self._roster.ranks if self._roster else super()._ranks

    # ---- turns ----------------------------------------------------------------------------------------------------------------

    def send_ahead(self, seq: int, x: Tensor, start: int) -> None:
        if self._is_in_group:
            try:
                super().send_ahead(seq, x, start)
            except GroupBroken as error:
                self._note_break(error)

    def serve(self) -> None:
        while not self._is_over:
            if not self.shard.ended:
                self._take_turn()
            elif self._parts():
                break
            else:
                self._meet()
        if self._rank == 0:
            self._meetings.put("over", b"")
        else:
            self._meetings.come(NONE, self._last.number)
        self._finish()

    def _parts(self) -> bool:
        """Return whether all workers of the group have come here. Else some may lack the last turn."""
        try:
            self._group.part()
        except GroupBroken as error:
            self._note_break(error)
        return self._is_in_group

    def _take_turn(self) -> None:
        if not self._is_in_group:
            self._meet()
        if self._is_over or self.shard.ended:  # the others go apart, and take no turn
            self._outgoing.take()
            stop = Response(self._rank, self._incarnation, 0, "stop", version=0, samples=0, members=self._count)
            self._inbox.append(stop)
            return
        try:
            if self._try_turn() and not self.shard.ended:  # another worker joins
                self._group.part()
                self._is_in_group = False
        except GroupBroken as error:
            self._note_break(error)

    def _try_turn(self) -> bool:
        """Return whether all meet anew after it. Raises: GroupBroken: the turn is not handled here."""
        assert self._roster is not None, "a group has a roster"
        given = self._give()
        given = replace(given, went_ahead=self._vectors.end_sending(pushes=self._pushes))
        found = [decode_turn(packed) for packed in self._group.gather(encode_turn(given))]
        left = self._last
        buffers = {rank: one.buffers for rank, one in zip(self._roster.ranks, found, strict=True) if one.buffers}
        entries = left.entries[left.handled :] + found[0].outside + [entry for one in found for entry in one.entries]
        turn = Turn(left.number + 1, entries, buffers=left.buffers | buffers)
        self._vectors.begin_turn(turn.buffers, hold_round=all(one.went_ahead for one in found))
        self._handle_turn(*self._exchange_vectors(turn))
        return found[0].meets

    def _give(self) -> WorkerTurn:
        self._pushes |= self._outgoing.has_push
        given, outside = self._given, self._take_outside()
        buffers, self._buffers = self._buffers or given.buffers, b""
        entries = given.entries + self._outgoing.take()
        self._given = WorkerTurn(entries, given.outside + outside, buffers, meets=self._finds_newcomers())
        return self._given

    def _take_outside(self) -> list[bytes]:
        self._awaited.end()
        has_more = self._kept_outside or self._given.entries or self._last.handled < len(self._last.entries)
        self._read_outside(LOOK_INTERVAL if self._is_idle and not self._outgoing and not has_more else 0.0)
        taken, self._kept_outside = self._kept_outside, []
        return taken

    def _read_outside(self, seconds: float) -> None:
        """Read the log as worker 0. Raises: PlaneLost."""
        for packed in self._outside.take(seconds) if self._outside else ():
            self._kept_outside.append(packed)
            header = Header.unpack(packed)
            if header and isinstance(header.entry, Leave):
                rank, incarnation = header.entry.rank, header.entry.incarnation
                self._left[rank] = max(self._left.get(rank, ANY), incarnation)

    def _finds_newcomers(self) -> bool:
        """Look now and then, as worker 0, for incarnations that are in no group."""
        if self._rank != 0 or not self._roster or time.monotonic() < self._newcomers_due:
            return False
        self._newcomers_due = time.monotonic() + LOOK_INTERVAL
        return self._meetings.has_newcomers(self._roster, self._left)

    def _exchange_vectors(self, turn: Turn) -> tuple[Turn, list[Tensor]]:
        """Return the turn with its vectors, which every worker has then, or none. Raises: GroupBroken."""
        headers = [Header.unpack(packed) for packed in turn.entries]
        rehearsed = rehearse(self.shard, [header for header in headers if header], self._payload_of)
        if rehearsed.init:
            brings, vectors = "theta_0", [self._vectors.send_whole(self.out, rehearsed.init.rank)]
        elif rehearsed.updates:
            brings, vectors = "mean", [self._vectors.find_mean(rehearsed.updates)]
        else:
            brings, pending = "pending", self._vectors.send_pending(rehearsed.pending)
            turn, vectors = replace(turn, pending=list(pending)), list(pending.values())
        self._vectors.finish_sums()
        return replace(turn, handled=rehearsed.handled, brings=brings), vectors

    def _payload_of(self, header: Header, shard: Shard) -> Payload | None:
        return payload_of(header, shard, self._vectors, self._layout)

    def _handle_turn(self, turn: Turn, vectors: list[Tensor]) -> None:
        """Handle a turn, of which this worker has all: it waits for no other."""
        self._last, self._last_vectors, self._turn = turn, vectors, turn.number
        self._given, self._pushes, self._is_idle = WorkerTurn([]), False, not turn.entries
        self._vectors.begin_turn(turn.buffers, hold_round=False)
        self._vectors.theta_0 = vectors[0] if turn.brings == "theta_0" else None
        for number, packed in enumerate(turn.entries[: turn.handled]):
            self._handle(f"{turn.number}-{number}", packed, turn.handled - number - 1)
        self._vectors.put_whole(self.shard.gate.pending, dict(zip(turn.pending, vectors, strict=False)))
        self._vectors.end_turn()
        self._vectors.keep_mean()
        self._after_turn()

    def _find_mean(self, us: PushUpdates) -> Tensor:
        assert self._last.brings == "mean", "the rehearsal found the round that closes"
        return self._last_vectors[0]
