"""Letters of all shards to one life of a worker: each is opened once, in the order of its shard's numbers.

What is no letter is refused (user code shares its process's account and may have written it). One may have stood in its place, so
the shards that it may have come from are asked, by an entry of the log, for what they have sent since the last good one.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from redis import Redis

from gradstream.center.entries import Repeat
from gradstream.errors import PlaneLost
from gradstream.wire import keys
from gradstream.wire.client import patiently
from gradstream.wire.messages import FIELD, Header, Letter
from gradstream.wire.pipe import LetterPipe

log = logging.getLogger(__name__)

LOOK = 0.02
"""Seconds that a life with shards here and elsewhere waits for one kind of letter before it looks for the other."""
PAUSE = 0.5
"""Seconds between two requests for the same letters."""
TRIES = 20
"""Requests without a good letter."""
DOUBT = 10.0
"""Seconds between two requests while nothing comes at all: what was lost without a trace comes after them."""


class Letterbox:
    def __init__(
        self, redis: Redis, j: str, life: tuple[int, int], servers: int, *, near: frozenset[int], pipe: LetterPipe | None
    ) -> None:
        """`near`: the shards whose letters come through the pipe."""
        self._redis, self._j, self._life, self._near, self._pipe = redis, j, life, near, pipe
        self._letters: list[deque[Letter]] = [deque() for _ in range(servers)]
        self._numbers = [0] * servers
        self._answers = {keys.answers(j, k, *life): k for k in range(servers) if k not in near}
        self._read = dict.fromkeys(self._answers, "0")
        self._why: dict[int, str] = {}
        """Shards of which a letter may be missing, and how that was seen."""
        self._wanted = set[tuple[int, int]]()
        """(shard, seq): payloads to send again. A shard may have asked several times before it was heard."""
        self._tries, self._ask_at = 0, 0.0
        self._doubt_at = time.monotonic() + DOUBT
        self.on_payload_wanted: Callable[[int, int], None] = lambda shard, seq: None
        """Told when a shard has found the payload of an entry damaged."""
        self.on_doubt: Callable[[], None] = lambda: None
        """Told when nothing has come for long."""
        self.on_refused: Callable[[], None] = lambda: None
        """Told when letters are asked for again."""

    @property
    def complete(self) -> bool:
        """There is a letter of every shard."""
        return all(self._letters)

    def take(self) -> list[Letter]:
        """The next one of every shard."""
        return [queue.popleft() for queue in self._letters]

    def collect(self, block: float) -> None:
        """Read what letters there are, waiting for the first one up to `block` seconds. Raises: PlaneLost."""
        if self._answers and self._near:
            block = LOOK
        found = self._from_pipe(block) if any(not self._letters[k] for k in self._near) else False
        if self._answers:
            found = self._from_redis(LOOK if self._near else block) or found
        if self._why and time.monotonic() >= self._ask_at:
            self._ask_again()
        if found:
            self._doubt_at = time.monotonic() + DOUBT
        else:
            self._look_around()

    def _look_around(self) -> None:
        if not patiently(lambda: self._redis.exists(keys.log(self._j)), what="looking for the log"):
            raise PlaneLost("the log of this attempt is gone")
        if time.monotonic() >= self._doubt_at:
            self.on_doubt()
            self._request()

    def _from_pipe(self, block: float) -> bool:
        assert self._pipe is not None, "a life with shards on its host has a pipe"
        found = self._pipe.read(block)
        for shard, packed in found:
            if shard in self._near:
                self._open(shard, packed)
            else:
                self._refuse(self._near, f"one of a shard {shard}, which is not on this host")
        if self._pipe.torn:
            self._pipe.torn = False
            self._refuse(self._near, "a piece of one")
        return bool(found)

    def _from_redis(self, block: float) -> bool:
        found: Any = patiently(
            lambda: self._redis.xread(self._read, block=max(1, int(block * 1000))),  # type: ignore[arg-type]
            what="waiting for an answer",
        )
        for key, entries in found:
            name = key.decode()
            for entry, fields in entries:
                self._read[name] = entry.decode()
                self._open(self._answers[name], fields.get(FIELD, b""))
        for shard, seq in sorted(self._wanted):
            self.on_payload_wanted(shard, seq)
        self._wanted.clear()
        return bool(found)

    def _open(self, shard: int, packed: bytes) -> None:
        try:
            letter = Letter.unpack(packed)
        except ValueError as error:
            self._refuse((shard,), str(error))
            return
        if letter.again:
            self._wanted.add((shard, letter.again))
        elif letter.number == self._numbers[shard] + 1:
            self._numbers[shard] += 1
            self._letters[shard].append(letter)
            self._tries = 0
            self._why.pop(shard, None)
        elif letter.number > self._numbers[shard]:
            self._refuse((shard,), f"number {letter.number} after {self._numbers[shard]}")

    def _refuse(self, shards: Iterable[int], why: str) -> None:
        self._why.update(dict.fromkeys(shards, why))

    def _ask_again(self) -> None:
        rank, incarnation = self._life
        from_whom = "shard " + " or ".join(map(str, sorted(self._why)))
        why = next(iter(self._why.values()))
        what = f"a letter from {from_whom} to worker {rank}.{incarnation} is missing or cannot be read ({why})"
        if self._tries >= TRIES:
            raise PlaneLost(
                f"{what}, and did not come again: something else writes to this attempt's Redis or its folder in shared memory, or "
                "programs of this platform are of different versions; then start all of them again"
            )
        log.warning("%s: it is refused and asked for again", what)
        self._tries, self._ask_at = self._tries + 1, time.monotonic() + PAUSE
        self._why.clear()
        self._request()
        self.on_refused()

    def _request(self) -> None:
        self._doubt_at = time.monotonic() + DOUBT
        header = Header(Repeat(*self._life, tuple(self._numbers))).pack()
        patiently(lambda: self._redis.xadd(keys.log(self._j), {FIELD: header}, nomkstream=True), what="asking for a letter again")
