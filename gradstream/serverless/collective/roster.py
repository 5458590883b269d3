"""The meetings of workers that go on without a lost one. Worker 0 leads each meeting, and says who goes on.

| key below `meet:`  | content                                                     | written by                     |
|--------------------|-------------------------------------------------------------|--------------------------------|
| `present-<rank>`   | the newest incarnation, and the meeting that it comes to    | that worker                    |
| `roster-<n>`       | the workers of the group that meeting n has formed          | worker 0                       |
| `roster`           | the newest of them, for those that know no meeting yet      | worker 0                       |
| `broken-<n>`       | that group is over                                          | who notices it                 |
| `turn-<n>`         | a turn that some workers of the group lack                  | one that has handled it        |
| `state-<n>`        | the shard machine, for those that join                      | the same one                   |
| `over`             | the job is over                                             | worker 0                       |

Redis lets only this attempt's account in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from redis import Redis

from gradstream.errors import PlaneLost
from gradstream.serverless.collective.meeting import poll
from gradstream.wire.redis import keys
from gradstream.wire.redis.client import retry

ANY = -1
"""The meeting to which a worker comes that knows none yet; and the turn of one that has no center."""
NONE = -2
"""The meeting of a worker that has ended in agreement with the others, and comes to no more."""


class Attendance(msgspec.Struct, frozen=True, array_like=True):
    incarnation: int
    meeting: int
    turn: int
    """The last turn that it has handled."""


class Roster(msgspec.Struct, frozen=True, array_like=True):
    """The workers of a group."""

    number: int
    members: dict[int, Attendance]
    """By rank, in the order of ranks."""

    @property
    def ranks(self) -> list[int]:
        return list(self.members)

    @property
    def incarnations(self) -> dict[int, int]:
        return {rank: one.incarnation for rank, one in self.members.items()}

    @property
    def newest_turn(self) -> int:
        return max(one.turn for one in self.members.values())

    @property
    def giver(self) -> int:
        """The rank of the first worker that has handled the newest turn."""
        return next(rank for rank, one in self.members.items() if one.turn == self.newest_turn)

    @property
    def is_behind(self) -> bool:
        """Some workers lack the newest turn."""
        return any(0 <= one.turn < self.newest_turn for one in self.members.values())

    @property
    def has_newcomers(self) -> bool:
        """Some workers have no center, and others have one."""
        return self.newest_turn >= 0 and any(one.turn < 0 for one in self.members.values())


_encode = msgspec.msgpack.Encoder().encode
_attendance, _roster = msgspec.msgpack.Decoder(Attendance).decode, msgspec.msgpack.Decoder(Roster).decode


class Meetings:
    """One worker's part in them."""

    def __init__(self, redis: Redis, j: str, rank: int, incarnation: int, count: int, look: Callable[[float], None]) -> None:
        """`look`: see `RedisStore`."""
        self._redis, self._j, self._rank, self._incarnation, self._count = redis, j, rank, incarnation, count
        self._look = look

    def attend(self, number: int, turn: int) -> Roster | None:
        """Come to this meeting, and wait for its roster; None: the job is over. `turn`: the last that this worker has handled.

        Raises: PlaneLost: others count this worker as lost, or the attempt is over."""
        self.come(number, turn)
        return poll(lambda: self._find_roster(number), self._look)[0]

    def _find_roster(self, number: int) -> tuple[Roster | None] | None:
        packed, over = self._get("roster" if number == ANY else f"roster-{number}", "over")
        roster = _roster(packed) if packed else None
        mine = roster.members.get(self._rank) if roster else None
        if roster and mine and mine.incarnation == self._incarnation:
            return (roster,)
        if roster and (number != ANY or (mine and mine.incarnation > self._incarnation)):
            raise PlaneLost(f"worker {self._rank}.{self._incarnation} counts as lost, and the others go on without it; exiting")
        return None if over is None else (None,)

    def come(self, number: int, turn: int) -> None:
        self.put(f"present-{self._rank}", _encode(Attendance(self._incarnation, number, turn)))

    def lead(self, number: int, turn: int, before: Roster | None, left: Callable[[], Mapping[int, int]], *, admits: bool) -> Roster:
        """As worker 0, wait until each worker of the roster `before`, or of the job, has come or is lost. `left`: the last lost
        incarnation of each rank. `admits`: incarnations that were in no roster may come, too. Raises: what `look` raises."""
        self.come(number, turn)
        known = before.incarnations if before else {}
        ranks = set(known if before else range(self._count))

        def find() -> Roster | None:
            lost, present = left(), self.present()
            members = {
                rank: one
                for rank, one in present.items()
                if one.incarnation > lost.get(rank, ANY)
                and (one.meeting == number or (admits and one.incarnation > known.get(rank, ANY)))
            }
            gone = {rank for rank, one in present.items() if one.meeting == NONE}
            gone |= {rank for rank in ranks if lost.get(rank, ANY) >= known.get(rank, 0)}
            return Roster(number, members) if ranks <= members.keys() | gone else None

        roster = poll(find, self._look)
        self.put(f"roster-{number}", _encode(roster))
        self.put("roster", _encode(roster))
        return roster

    def has_newcomers(self, roster: Roster, left: Mapping[int, int]) -> bool:
        """Return whether an incarnation waits that the roster lacks, and that is not lost."""
        known = roster.incarnations
        return any(one.incarnation > max(known.get(rank, ANY), left.get(rank, ANY)) for rank, one in self.present().items())

    def present(self) -> dict[int, Attendance]:
        """Return the newest incarnation of each rank that has come to any meeting."""
        found = self._get(*(f"present-{rank}" for rank in range(self._count)))
        return {rank: _attendance(packed) for rank, packed in enumerate(found) if packed}

    def put(self, name: str, value: bytes) -> None:
        retry(lambda: self._redis.set(keys.meeting(self._j, name), value), what="telling the other workers")

    def get(self, name: str) -> bytes:
        """Wait for it. Raises: what `look` raises."""
        return poll(lambda: self._get(name)[0], self._look)

    def is_there(self, name: str) -> bool:
        return self._get(name)[0] is not None

    def _get(self, *names: str) -> list[bytes | None]:
        def look() -> list[Any]:
            asked = self._redis.pipeline(transaction=False)
            for name in names:
                asked.get(keys.meeting(self._j, name))
            return asked.execute()

        return retry(look, what="looking for the other workers")
