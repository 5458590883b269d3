"""The shard's end of the gradient plane: payloads in, letters and center slices out.

What a life on this host sends and gets lies in shared memory, and its letters go through a pipe (`Near`)."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from pathlib import Path

import torch
from msgspec.structs import replace
from redis import Redis
from torch import Tensor

from gradstream.center.entries import EVALUATOR, Answer, Payload
from gradstream.codecs.base import Codec
from gradstream.codecs.coding import Decoding
from gradstream.codecs.raw import RAW
from gradstream.process.order import ProcessOrder
from gradstream.wire import keys
from gradstream.wire.client import patiently
from gradstream.wire.layout import Coded, Layout, reused
from gradstream.wire.messages import FIELD, SHARED, Header, Letter, Part
from gradstream.wire.routes import Routes
from ps_node.far import Far
from ps_node.near import Near
from ps_node.settings import Settings

Life = tuple[int, int]
"""(rank, incarnation): who writes payloads and reads answers."""
_KEPT = 32
"""Letters of a life that can be sent again; it never has more than a few that it has not read."""


class Mailbox:
    def __init__(self, redis: Redis, routes: Routes, order: ProcessOrder, settings: Settings) -> None:
        self.layout: Layout | None = None
        """Known from the first `Init`, or from the cut."""
        self._redis, self._j, self._shard, self._settings = redis, order.plane_id, order.rank, settings
        self._codec: Codec = order.spec.codec
        self._pull_codec: Codec = order.spec.pull_codec
        self._folder = Path(order.shared.folder) if order.shared else None
        self._centers = 1 + order.spec.pipeline
        self._near: dict[Life, Near] = {}
        self._far = Far(routes, self._j, self._shard, settings.payload_patience, self._decoding)
        self.take_in = self._far.take_in
        self._filled: set[Life] = set()
        """Whose centers lie where they go, until they are answered."""
        self._rooms: dict[int, bytearray] = {}
        """Memory for the coded vectors of the answers to one entry."""
        self._numbers: dict[Life, int] = defaultdict(int)
        self.on_damage: Callable[[], None] = lambda: None
        """Told when a payload is asked for again."""
        self._sent: dict[Life, deque[tuple[int, bytes]]] = defaultdict(lambda: deque(maxlen=_KEPT))
        """The newest letters, with their numbers."""
        self._answered: dict[Life, Answer] = {}
        """Of lives on other hosts, the last answer that brought another vector than the center: nobody could make it anew."""
        self._readers: dict[str, dict[Life, int]] = {}
        """Vectors that lie in Redis, and who has not read them yet: the numbers of the letters that brought them."""

    def fetch(self, header: Header, life: Life, seq: int) -> Payload:
        """This shard's part of the header's payload. Freed in Redis before anybody is answered.

        Raises: PlaneLost, if it is damaged and does not come again in time."""
        assert self.layout is not None, "the layout came with the first Init"
        if seq and (near := self._near.get(life)):
            near.into = header.into
            return near.vectors(self.layout).take_out(self._shard)
        data, decoded = self._far.fetch(life, seq, header.parts[self._shard], lambda: self._ask_again(life, seq))
        if not seq:  # theta_0 is never rounded, and its memory stays the center's
            self._far.forget(life)
        if decoded is None:
            return self.layout.view(data, self._shard)
        return Payload(decoded, self.layout.buffers(data, self._shard))

    def _decoding(self, seq: int, memory: bytearray) -> Decoding | None:
        """Of a push that is about to arrive: coded slices are decoded part by part."""
        if not seq or not self._codec.lossy or self.layout is None or len(memory) != self.layout.coded(self._codec, self._shard):
            return None
        mine = self.layout.slices[self._shard]
        out = torch.empty(mine.stop - mine.start, dtype=self.layout.torch_dtype)
        return self.layout.decoding(self._codec, memory, self._shard, out)

    def room(self, answer: Answer) -> Tensor | None:
        """Where a worker of this host wants its center. Whoever asks fills it before `answer`."""
        life = (answer.rank, answer.incarnation)
        near = self._near.get(life)
        if near is None or self._pull_codec.lossy or self.layout is None:
            return None
        self._filled.add(life)
        return near.vectors(self.layout).room(near.into, self._shard)

    def answer(self, answers: list[Answer], position: str) -> None:
        """Write the vectors that the answers bring, then the letters: those through Redis are repeatable. Raises: PlaneLost."""
        stamped: list[tuple[str, bytes]] = []
        centers: list[tuple[str, Coded]] = []
        for answer in answers:
            life = (answer.rank, answer.incarnation)
            self._numbers[life] += 1
            where, part = self._lay_down(answer, position, centers)
            letter = Letter(self._numbers[life], answer, where, part).pack()
            self._sent[life].append((self._numbers[life], letter))
            if answer.brings == "answer" and life not in self._near:
                self._answered[life] = answer
            if near := self._near.get(life):
                near.letters.put(letter)
            else:
                stamped.append((keys.answers(self._j, self._shard, *life), letter))
        self._filled.clear()
        if stamped:
            patiently(lambda: self._write(stamped), what="answering")
        self._far.write(centers)  # after the letters: their readers read while we write

    def repeat(self, life: Life, opened: int) -> None:
        """Send the letters behind this number once more; what they bring still lies there. Raises: PlaneLost."""
        letters = [letter for number, letter in self._sent[life] if number > opened]
        if near := self._near.get(life):
            for letter in letters:
                near.letters.put(letter)
        elif letters:
            key = keys.answers(self._j, self._shard, *life)
            patiently(lambda: self._write([(key, letter) for letter in letters]), what="answering again")

    def answer_again(self, life: Life, number: int, position: str) -> None:
        """What brought an answer's vector could not be read, or that of another shard: send all of it in a new letter."""
        if life not in self._near:
            self.answer([self._answered[life]], position)
        elif packed := dict(self._sent[life]).get(number):  # the vector lies there
            self._numbers[life] += 1
            letter = replace(Letter.unpack(packed), number=self._numbers[life]).pack()
            self._sent[life].append((self._numbers[life], letter))
            self._near[life].letters.put(letter)

    def _write(self, stamped: list[tuple[str, bytes]]) -> None:
        pipe = self._redis.pipeline(transaction=False)
        for key, packed in stamped:
            pipe.xadd(key, {FIELD: packed}, maxlen=self._settings.answers_kept, approximate=True)
        pipe.execute()

    def joined(self, life: Life, near: bool) -> None:
        """`near`: it is on our host, and has made its vectors in shared memory."""
        if not near:
            self._far.joined(life)
            return
        assert self._folder is not None, "a life on this host has its files in this host's folder"
        self._near[life] = Near(self._folder, life, self._shard, 1 if life[0] == EVALUATOR else self._centers)

    def went_on(self, life: Life, read: int) -> None:
        """This life has read so many letters: vectors that nobody has to read any more are removed."""
        for where, readers in list(self._readers.items()):
            if readers.get(life, read + 1) <= read:
                del readers[life]
                if not readers:
                    del self._readers[where]
                    self._far.unlink(keys.center(self._j, self._shard, where))

    def gone(self, life: Life) -> None:
        """This life reads and writes nothing any more."""
        if near := self._near.get(life):
            near.leave()
        self.went_on(life, self._numbers[life])
        self._far.gone(life)
        self._sent.pop(life, None)
        self._answered.pop(life, None)

    def _lay_down(self, answer: Answer, position: str, centers: list[tuple[str, Coded]]) -> tuple[str, Part | None]:
        """The vector of an answer; in Redis a center once for all who get it at this position, another one for its reader.

        What is still to be written to Redis is added to `centers`."""
        if answer.payload is None:
            return "", None
        assert self.layout is not None, "there is a center, so there was an Init"
        life = (answer.rank, answer.incarnation)
        codec = RAW if answer.rank == EVALUATOR else self._pull_codec
        if near := self._near.get(life):
            there = answer.brings == "center" and life in self._filled
            x = None if there else codec.arrives(answer.payload.x)
            near.vectors(self.layout).put_center(near.into, self._shard, x, answer.payload.buffers)
            return SHARED, Part(0, 0)
        is_evaluator = answer.rank == EVALUATOR  # it may be given an older center than the workers at the same place of the log
        mine = answer.brings != "center" or is_evaluator
        where = f"{position}:{answer.rank}.{answer.incarnation}" if mine else position
        if where not in self._readers:
            centers.append((where, self._coded(codec, answer.payload, len(centers))))
        self._readers.setdefault(where, {})[life] = self._numbers[life]
        return where, Part(self.layout.coded(codec, self._shard), 0)

    def _coded(self, codec: Codec, payload: Payload, number: int) -> Coded:
        """Of the answer's vectors, the one of this number: coded while it is written."""
        assert self.layout is not None, "there is a center, so there was an Init"
        if not codec.lossy:
            return Coded(self.layout.encode(codec, payload))
        data = reused(self._rooms, number, self.layout.coded(codec, self._shard))
        return self.layout.coding(codec, payload, self._shard, memoryview(data))

    def _ask_again(self, life: Life, seq: int) -> None:
        letter = Letter(0, Answer(*life, seq, "ok", 0, 0, 0), again=seq)
        key = keys.answers(self._j, self._shard, *life)
        patiently(lambda: self._redis.xadd(key, {FIELD: letter.pack()}), what="asking for an update again")
        self.on_damage()
