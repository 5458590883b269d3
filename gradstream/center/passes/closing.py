"""The close of a pass: its figures, the shrink of tables, and the export of the model, in this order."""

from __future__ import annotations

from gradstream.center.gate import GateKeeper
from gradstream.center.members import Members
from gradstream.center.parameters.center import Center
from gradstream.center.passes.clock import PassClock
from gradstream.center.passes.exports import ExportSchedule
from gradstream.observations.passes import ClosedPass
from gradstream.observations.pushes import ObservedPushes


class PassClosing:
    """All that it is given is the shard's."""

    def __init__(
        self, members: Members, gate: GateKeeper, observed: ObservedPushes, clock: PassClock, exports: ExportSchedule
    ) -> None:
        self._members, self._gate, self._observed, self._clock, self._exports = members, gate, observed, clock, exports

    def close_passes(self, center: Center) -> list[ClosedPass]:
        """Close the passes that are over, after an entry. When no worker may push any more, a pass that workers left in its midst
        has its figures, and nothing else follows."""
        if not self._clock.counts:
            return []
        members = self._members.unfinished()
        before, closed = self._clock.close(members), self._clock.closed
        if closed > before:
            if center.tables:
                center.tables.shrink_with_passes(before, closed)
            self._exports.close_passes(before, closed)
        return self._observed.close_passes(closed if members or self._gate.pending else None)
