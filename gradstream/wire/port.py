"""A worker's (or evaluator's) end of the gradient plane: a `Port`.

Out: the vector's slices go to where their shards find them; when all of them lie there, the header goes into the log. No
header, and nothing has happened. In: every shard answers every entry in the order of the log, so the n-th letters of all
shards belong together. Shards on this host are *near*: their vectors lie in shared memory and their letters come through a pipe.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from redis.exceptions import RedisError
from torch import Tensor

from gradstream.center.entries import EVALUATOR, Answer, Buffers, Entry, Init, Join, Payload, Push, Unread, moved_in_all, seq_of
from gradstream.codecs.base import Codec
from gradstream.codecs.coding import Decoding, Residual, carry
from gradstream.codecs.raw import RAW
from gradstream.errors import PlaneLost
from gradstream.process.order import PlaneAccess, SharedMemory
from gradstream.wire import keys
from gradstream.wire.client import BLOCK, connect, patiently
from gradstream.wire.far import Far
from gradstream.wire.layout import Coded, Layout, reused
from gradstream.wire.letterbox import Letterbox
from gradstream.wire.messages import FIELD, SHARED, Header, Letter, Part
from gradstream.wire.pipe import LetterPipe
from gradstream.wire.resp import Command, Resp
from gradstream.wire.routes import Routes
from gradstream.wire.shm import NoRoom, Shared
from gradstream.wire.tail import check_written

log = logging.getLogger(__name__)

TRIES = 20
"""Centers in a row that could not be read."""


class _Unread(Exception):
    """What a letter brings is damaged, or does not come; says which."""


class RedisPort:
    def __init__(
        self, access: PlaneAccess, j: str, rank: int, incarnation: int, layout: Layout, codec: Codec,
        pull_codec: Codec, on_wait: Callable[[float], None] = lambda seconds: None, *, shared: SharedMemory | None = None,
        pipeline: int = 0,
    ) -> None:  # fmt: skip
        """`codec` for what is pushed, `pull_codec` for what comes back. `on_wait(seconds)` is told, about every second, how
        long the port has been waiting for its next answer. `pipeline`: pushes that may be under way while their worker computes."""
        routes = Routes(access, j)
        access = routes.home
        self._redis = connect(access.url, user=access.user, password=access.password)
        self._log = Resp(access.url, user=access.user, password=access.password, block=BLOCK)
        self._posted: Command | None = None
        """The entry sent last, until Redis has confirmed it."""
        self._written = ""
        """The id of the last entry that Redis has confirmed."""
        self._is_posted = False
        """The connection that it was posted to still holds the reply."""
        self._j, self._rank, self._incarnation = j, rank, incarnation
        self._layout, self._on_wait = layout, on_wait
        self._codec, self._pull_codec = codec, RAW if rank == EVALUATOR else pull_codec
        self._in_vain = 0
        """Vectors in a row that were asked for again."""
        self._opened = 0
        """Letters of each shard that are opened; what they brought is copied."""
        self._shared: Shared | None = None
        self._pipe: LetterPipe | None = None
        self._near = frozenset[int]()
        if shared and shared.servers:
            self._share(Path(shared.folder), frozenset(shared.servers), pipeline)
        self.out = self._shared.out if self._shared else None
        self.centers = self._shared.centers if self._shared else [layout.vector() for _ in range(1 + pipeline)]
        self._into = 0
        """The center that the answer to the newest push comes into."""
        self._coming: dict[int, int] = {}
        """Centers that the answers to pushes will come into, by seq. Other answers come when no push is under way."""
        self.bytes_sent = self.bytes_received = 0
        """Vectors only, as they travelled."""
        self.bytes_raw = 0
        """Of the sent ones, without a codec."""
        self._far = Far(routes, j, rank, incarnation)
        self._letters = Letterbox(self._redis, j, (rank, incarnation), layout.servers, near=self._near, pipe=self._pipe)
        self._letters.on_payload_wanted = self._far.send_again
        self._letters.on_doubt = self._look_for_written
        self._asked_again = 0
        self._letters.on_refused = self._far.on_damage = self._ask
        self.on_damage: Callable[[int], None] = lambda count: None
        """Told how often something came damaged so far and was asked for again."""
        self._coming_in, self._going_out = dict[int, bytearray](), dict[int, bytearray]()
        """Coded slices of shards."""

    def send(self, entry: Entry, payload: Payload | None = None, residual: Residual | None = None) -> None:
        parts = self._lay_down(entry, payload, residual) if payload else ()
        layout = self._layout.as_dict() if isinstance(entry, Init) else None
        shared = tuple(sorted(self._near)) if isinstance(entry, Join) else ()
        packed = Header(entry, parts, layout, shared, self._next_center(entry), self._opened).pack()
        self.confirm()
        self._posted = ("XADD", keys.log(self._j), "NOMKSTREAM", "*", FIELD, packed)
        try:
            self._log.post(self._posted)
            self._is_posted = True
        except RedisError:
            pass  # repeated below, or before the next answer
        if not isinstance(entry, Push):
            self.confirm()

    def flow(self, seq: int, x: Tensor, start: int) -> None:
        if start < 0:
            self._far.drop()
        for shard, mine in enumerate(self._layout.slices):
            if 0 <= start < mine.stop and self._flows(shard):
                first = max(0, start - mine.start)
                self._far.flow(shard, seq, RAW.encode(x[mine]), first * x.itemsize)

    @property
    def flows(self) -> bool:
        return any(self._flows(shard) for shard in range(self._layout.servers))

    def _flows(self, shard: int) -> bool:
        """Not in shared memory; and not with buffers behind it, which are not known yet."""
        alone = shard > 0 or not self._layout.floats + self._layout.ints
        return alone and shard not in self._near and not self._codec.lossy

    def confirm(self) -> None:
        """Make sure that the entry sent last is in the log; to write it twice does no harm. Raises: PlaneLost."""
        if self._posted is not None:
            reply = patiently(self._reply_to_posted, what="writing to the log")
            self._posted = None
            if reply is None:
                raise PlaneLost("the log of this attempt is gone")
            self._written = reply.decode()

    def _look_for_written(self) -> None:
        if self._written:
            patiently(lambda: check_written(self._log, keys.log(self._j), self._written), what="looking for the last entry")

    def _reply_to_posted(self) -> Any:
        assert self._posted is not None
        is_posted, self._is_posted = self._is_posted, False
        [reply] = self._log.results(1) if is_posted else self._log.ask(self._posted)
        return reply

    def receive(self) -> Answer:
        answer = self.receive_within(float("inf"))
        assert answer is not None, "the wait had no end"
        return answer

    def receive_within(self, seconds: float) -> Answer | None:
        """The next answer; None if none came in so many seconds. See `gradstream.worker.link.Port`."""
        self.confirm()
        began, answer = time.monotonic(), None
        while answer is None:
            while not self._letters.complete:
                waited = time.monotonic() - began
                if waited >= seconds:
                    return None
                self._letters.collect(min(BLOCK, seconds - waited))
                if waited > BLOCK:
                    self._on_wait(waited)
            letters = self._letters.take()
            if any(letter.answer.shared() != letters[0].answer.shared() for letter in letters):
                raise PlaneLost(f"shards disagree: {letters}")
            answer = self._joined(letters)
            self._opened = letters[0].number
        return answer

    def _next_center(self, entry: Entry) -> int:
        """Where the answer to this entry goes: not where the worker computes meanwhile."""
        if isinstance(entry, Push):
            self._into = (self._into + 1) % len(self.centers)
            self._coming[entry.seq] = self._into
        return self._into

    def _joined(self, letters: list[Letter]) -> Answer | None:
        """None: some of what it brings cannot be read, and it will come again."""
        answer = letters[0].answer
        if answer.moved is not None:
            answer = replace(answer, moved=moved_in_all(letter.answer for letter in letters))
        if answer.brings == "nothing":
            return answer
        buffers, into = None, self._coming.pop(answer.seq, self._into)
        center = self.centers[into]
        try:
            for shard, letter in enumerate(letters):
                out = center[self._layout.slices[shard]]
                if letter.where != SHARED:
                    buffers = self._fetch(shard, letter, out) or buffers
                elif shard == 0 and self._shared:
                    buffers = self._shared.center_buffers(into)
        except _Unread as unread:
            self._coming[answer.seq] = into
            self._want_again(letters[0], str(unread))
            return None
        self._in_vain = 0
        return replace(answer, payload=Payload(center, buffers))

    def _want_again(self, letter: Letter, what: str) -> None:
        """Raises: PlaneLost, if that was in vain too often."""
        if self._in_vain == TRIES:
            raise PlaneLost(f"{what} is not there, or damaged, and {TRIES} others in its place were, too")
        log.warning("%s is not there, or damaged: it is refused, and the center asked for again", what)
        self._in_vain += 1
        self._ask()
        answer = letter.answer
        assert answer.brings != "nothing", "only a vector can be damaged"
        self.send(
            Unread(
                self._rank, self._incarnation, letter.number, answer.seq, answer.verdict, answer.go, answer.version, answer.brings
            )
        )

    def _share(self, folder: Path, servers: frozenset[int], pipeline: int) -> None:
        """Make this life's vectors and its pipe; without room for them, everything goes through Redis."""
        life = (self._rank, self._incarnation)
        try:
            pipe = LetterPipe(folder, *life)  # first: without it, the vectors would be room for nothing
            self._shared = Shared.make(folder, *life, self._layout, 1 + pipeline)
            self._pipe, self._near = pipe, servers
        except (NoRoom, OSError) as error:
            log.warning("no shared memory, so vectors go through Redis: %s", error)

    def _fetch(self, shard: int, letter: Letter, out: Tensor) -> Buffers | None:
        """Read a shard's slice of the center into `out`; returns the buffers that came with it. Raises: _Unread."""
        assert letter.part is not None, "a letter that brings a vector says how long it is"
        nbytes = letter.part.nbytes
        self.bytes_received += nbytes
        if not self._pull_codec.lossy and nbytes == out.nbytes:
            self._read(shard, letter, RAW.encode(out))  # the bytes of `out` itself
            return None
        data = reused(self._coming_in, shard, nbytes)
        if not self._pull_codec.lossy:
            self._read(shard, letter, memoryview(data))
            return self._layout.decode(RAW, data, shard, out).buffers
        self._read(shard, letter, memoryview(data), self._layout.decoding(self._pull_codec, data, shard, out))
        return self._layout.buffers(data, shard)

    def _read(self, shard: int, letter: Letter, place: memoryview, decoding: Decoding | None = None) -> None:
        if not self._far.fetch(shard, letter.where, place, decoding):
            raise _Unread(f"the center {letter.where} of shard {shard}")

    def _lay_down(self, entry: Entry, payload: Payload, residual: Residual | None) -> tuple[Part, ...]:
        """Put a vector where its shards find it: on this host in shared memory, else in their streams."""
        near = self._near if isinstance(entry, Push) else frozenset[int]()
        codec = RAW if isinstance(entry, Init) else self._codec
        layout, shards = self._layout, range(self._layout.servers)
        sent = self._far.send(seq_of(entry), {k: self._coded(codec, payload, k, residual) for k in shards if k not in near})
        if near and self._shared and self.out is not None:
            if codec.lossy:
                for mine in (layout.slices[k] for k in sorted(near)):  # what a shard would have decoded
                    carry(codec, payload.x[mine], self.out[mine], residual, mine.start)
            elif payload.x.data_ptr() != self.out.data_ptr():
                self.out.copy_(payload.x)
            self._shared.put_out(payload.buffers)
        if isinstance(entry, Push):  # theta_0, which goes out once, would blur what a codec saves
            self.bytes_sent += sum(part.nbytes for part in sent.values())
            self.bytes_raw += sum(map(layout.nbytes, sent))
        return tuple(sent.get(k, Part(0, 0)) for k in shards)

    def _coded(self, codec: Codec, payload: Payload, shard: int, residual: Residual | None) -> Coded:
        part = self._layout.part(payload, shard)
        if not codec.lossy:
            return Coded(self._layout.encode(codec, part))
        data = reused(self._going_out, shard, self._layout.coded(codec, shard))
        return self._layout.coding(codec, part, shard, memoryview(data), residual)

    def _ask(self) -> None:
        self._asked_again += 1
        self.on_damage(self._asked_again)

    @property
    def shares(self) -> bool:
        """This life has its vectors in shared memory."""
        return self._shared is not None

    @property
    def nbytes(self) -> int:
        """Of a whole vector with its buffers, as it is."""
        return sum(map(self._layout.nbytes, range(self._layout.servers)))
