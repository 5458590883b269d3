"""The shard's reading of the ordered log. Each read also reports the entries handled so far: one round trip for both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradstream.center.ledger import Account
from gradstream.errors import PlaneLost
from gradstream.process.order import PlaneAccess
from gradstream.wire.redis import keys
from gradstream.wire.redis.client import BLOCK, retry
from gradstream.wire.redis.resp import Command, Resp
from gradstream.wire.redis.tail import check_read
from gradstream.wire.transport.messages import Header, message_in


class LogReader:
    def __init__(
        self, access: PlaneAccess, j: str, shard: int, most: int, meanwhile: Callable[[Resp], None] = lambda reply: None
    ) -> None:
        """`most`: entries per read. `meanwhile`: done while entries are waited for, until they can be read from its argument."""
        self._redis = Resp(access.url, user=access.user, password=access.password, block=BLOCK)
        self._key, self._j, self._shard, self._most = keys.log(j), j, shard, most
        self._position, self._entries = "0", 0
        """How far it has come: the id of the last entry, and how many that were."""
        self._checked = 1
        """The connection on which the log was last known to be whole."""
        self._meanwhile = meanwhile
        self._news = False
        self.accounts: dict[int, Account] = {}
        """Accounts by rank, which the next read reports."""

    def read(self, *, wait: bool = True) -> list[tuple[str, Header | None]]:
        """The next entries with their ids; none, if none came for a while, or if none is there. Raises: PlaneLost."""
        block = ("BLOCK", int(BLOCK * 1000)) if wait else ()
        read = ("XREAD", "COUNT", self._most, *block, "STREAMS", self._key, self._position)
        reply: Any = retry(lambda: self._read(*self._told(), read), what="reading the log")
        self._forget()
        if self._redis.opened > self._checked:
            retry(lambda: check_read(self._redis, self._key, self._position, self._entries), what="looking for the log's end")
            self._checked = self._redis.opened
        if reply is None:
            if not retry(lambda: self._redis.ask(("EXISTS", self._key)), what="looking for the log")[0]:
                raise PlaneLost("the log of this attempt is gone")
            return []
        [[_, entries]] = reply
        try:
            return [(entry.decode(), Header.unpack(message_in(fields))) for entry, fields in entries]
        except ValueError as error:  # to leave one out would part this shard from the others
            raise PlaneLost(
                f"the log holds an entry that cannot be read ({error}): something else has written into it, or programs of this "
                "platform are of different versions; then start all of them again"
            ) from error

    def _read(self, *commands: Command) -> Any:
        self._redis.post(*commands)
        self._meanwhile(self._redis)
        return self._redis.results(len(commands))[-1]

    def handled(self, position: str) -> None:
        self._position, self._news = position, True
        self._entries += 1

    def tell(self) -> None:
        """Now, since nothing is read any more."""
        if told := self._told():
            retry(lambda: self._redis.ask(*told), what="telling the place in the log")
        self._forget()

    def _told(self) -> list[Command]:
        told: list[Command] = [("HSET", keys.pos(self._j), self._shard, self._position)] if self._news else []
        if self.accounts:
            packed = {rank: account.pack() for rank, account in self.accounts.items()}
            told.append(("HSET", keys.ledger(self._j), *(part for item in packed.items() for part in item)))
        return told

    def _forget(self) -> None:
        self._news = False
        self.accounts.clear()
