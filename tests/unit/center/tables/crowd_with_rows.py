"""The crowd of `tests.unit.center.crowd` with two embedding tables, beside plain tables that share no code with them.

Workers look keys up at any time, also to die before they push. Their pushes have gradients of some of the keys that they hold, and
ask for others. One that resumes has the rows of its checkpoint. What must hold after every entry is asserted in `_note_outputs`.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from gradstream.center.entries import EVALUATOR, Entry, Init, Lookup, Output, Payload, Push, Saved
from gradstream.center.ledger import Decision
from gradstream.center.parameters.hosting import TableHosting
from gradstream.center.shard import Shard
from gradstream.center.tables.hashing import bucket_order
from gradstream.center.tables.hosted import HostedTables
from gradstream.center.tables.payload import FoundRows, RowGradients, RowKeys, joined, piece, shard_part
from gradstream.center.tables.storage.contents import read_contents
from gradstream.center.tables.storage.worker_rows import loaded_rows, saved_rows
from gradstream.spec import JobSpec
from tests.unit.center.crowd import PARTS, Crowd, Header, LiveWorker
from tests.unit.center.tables.readers import Readers
from tests.unit.independent.tables import PlainTable

WIDTHS = {"item": 1, "user": 2}
TABLES: dict[str, Any] = {
    "user": {
        "rule": {"name": "sgd", "lr": 0.5, "damp": True},
        "init": {"uniform": 0.05},
        "keep": {"unseen": 1},
        "shrink": "7 samples",
    },
    "item": {
        "rule": {"name": "adagrad", "lr": 0.5, "rowwise": True},
        "init": {"uniform": 0.05},
        "admit": {"count": 3},
        "keep": {"decay": 0.8, "score": 0.25, "unseen": 3},
        "shrink": "11 samples",
    },
}
SHRINKS = {"user": 7, "item": 11}
KEYS = [0, 1, 2, 7, 42, -1, 2**62, -(2**63), 9, 10, 11, 12]
SHARD_OF_PART = ((0, 1), (0, 2), (1, 2))
"""Number of the shard, and how many there are, for each of `PARTS`."""
OUTCOMES = ("applied", "counted", "missed", "dropped")


@dataclass
class KeyPush:
    """The part of a push for one key."""

    incarnation: int
    updates: int
    gradient: Any
    occurrences: int
    clicks: Any


@dataclass
class PlainPush:
    examples: int
    keys: Mapping[str, Mapping[int, KeyPush]]
    """By table and key."""


@dataclass
class Beside:
    """The payload beside an entry, for each of the three shards."""

    x: torch.Tensor
    rows: list[dict[str, Any]]
    asks: list[dict[str, RowKeys]] | None = None
    keys: Mapping[str, Mapping[int, KeyPush]] = field(default_factory=dict)


@dataclass
class Window:
    """The rows that a worker holds."""

    found: list[dict[str, FoundRows]] = field(default_factory=lambda: [{} for _ in PARTS])
    """Rows of each shard, by table."""
    plain: dict[str, dict[int, tuple[int, int]]] = field(default_factory=lambda: {name: {} for name in WIDTHS})
    """Incarnation and updates of the plain rows, by table and key."""

    def resumed(self) -> Window:
        """As a worker has them that loads its state from a checkpoint."""
        found = [{name: loaded_rows(FoundRows, saved_rows(rows)) for name, rows in part.items()} for part in self.found]
        return Window(found, copy.deepcopy(self.plain))


@dataclass
class PlainState:
    """The state that a checkpoint is compared with, and that a resumed crowd begins with."""

    tables: dict[str, PlainTable]
    account: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Keys by table and outcome."""
    pending: dict[int, PlainPush] = field(default_factory=dict)
    """Pushes that wait for their round, by rank."""
    windows: dict[int, Window] = field(default_factory=dict)
    """By rank, of the workers that have saved."""


class CrowdWithRows(Crowd):
    def __init__(
        self, spec: JobSpec, seed: int, pushes: int, checkpoint: list[dict[str, Any]] | None = None, plain: PlainState | None = None
    ) -> None:
        self.plain = copy.deepcopy(plain) if plain else PlainState({name: _plain_table(name, spec) for name in WIDTHS})
        self.held: dict[int, Window] = {}
        self.plain_at: dict[int, PlainState] = {}
        """By checkpoint."""
        self._sent: dict[tuple[int, int, int], PlainPush] = {}
        self._samples = 0
        self._saved: dict[int, Window] = {}
        self._inherited, self.plain.windows = self.plain.windows, {}
        super().__init__(spec, seed, pushes, checkpoint)
        self.readers, self._read_shard = Readers(self.chance), seed % len(PARTS)
        if (center := self.shards[0].center) is not None:
            self._samples = center.samples

    def make_shard(self, number: int) -> Shard:
        index, of = SHARD_OF_PART[number]
        spec = self.spec.with_shards(of)
        return Shard(spec, hosting=TableHosting(spec, index))

    # ---- what happens ---------------------------------------------------------------------------------------------------

    def act(self) -> None:
        if self.chance.random() < 0.05 and self.shards[0].center is not None:
            self._feed(Lookup(EVALUATOR, 0, self.chance.randrange(1, 50)), self._lookup(self._some_keys()))
        super().act()

    def _init(self, rank: int, incarnation: int) -> Entry:
        return Init(rank, incarnation, tables=tuple(WIDTHS.items()))

    def _born(self, rank: int) -> None:
        super()._born(rank)
        inherited = self._inherited.pop(rank, None)
        self.held[rank] = inherited.resumed() if inherited else Window()

    def _next(self, worker: LiveWorker) -> Iterator[Header]:
        if not worker.checkpoint and self.chance.random() < 0.4:
            worker.seq += 1
            held = self.held[worker.rank].plain
            keys = {name: [key for key in of if key not in held[name]] for name, of in self._some_keys().items()}
            yield Lookup(worker.rank, worker.incarnation, worker.seq), self._lookup(keys)
            return
        for entry, x in super()._next(worker):
            if isinstance(entry, Push):
                assert isinstance(x, torch.Tensor)
                x = self._push(worker.rank, x)
                self._sent[entry.rank, entry.incarnation, entry.seq] = PlainPush(entry.examples, x.keys)
            if isinstance(entry, Saved):
                self._saved[worker.rank] = copy.deepcopy(self.held[worker.rank])
            yield entry, x

    def _some_keys(self) -> dict[str, list[int]]:
        return {name: self.chance.sample(KEYS, self.chance.randrange(5)) for name in WIDTHS}

    def _lookup(self, keys: Mapping[str, Sequence[int]]) -> Beside:
        return Beside(torch.empty(0), _in_parts({name: RowKeys(_by_bucket(of)) for name, of in keys.items()}))

    def _push(self, rank: int, x: torch.Tensor) -> Beside:
        """Gradients of some of the rows that the worker holds, which it forgets."""
        window, self.held[rank] = self.held[rank], Window()
        chosen: dict[str, dict[int, KeyPush]] = {}
        for name, loans in window.plain.items():
            keys = [key for key in loans if self.chance.random() < 0.8]
            chosen[name] = {key: self._key_push(WIDTHS[name], *loans[key]) for key in keys}
        rows = [{name: _gradients(found, chosen[name]) for name, found in part.items() if name in chosen} for part in window.found]
        asks = self._lookup(self._some_keys()).rows if self.chance.random() < 0.5 else None
        return Beside(x, rows, asks, chosen)

    def _key_push(self, width: int, incarnation: int, updates: int) -> KeyPush:
        gradient = np.array([self.chance.uniform(-1, 1) for _ in range(width)], np.float32)
        occurrences = self.chance.randrange(1, 3)
        return KeyPush(incarnation, updates, gradient, occurrences, np.float32(self.chance.randrange(occurrences + 1)))

    # ---- what must hold ---------------------------------------------------------------------------------------------------

    def _payload(self, number: int, x: Any) -> Payload | None:
        if not isinstance(x, Beside):
            return super()._payload(number, x)
        vector = x.x[PARTS[number]] if len(x.x) else x.x
        return Payload(vector, rows=x.rows[number], asks=x.asks and x.asks[number])

    def _note_outputs(self, entry: Entry, outputs: list[Output]) -> None:
        if self.shards[0].center is None:
            return
        self._apply(outputs[0].decisions)
        if isinstance(entry, Push) and self.shards[0].members.get(entry.rank) and entry.rank in self._pending_ranks():
            self.plain.pending.setdefault(entry.rank, self._sent[entry.rank, entry.incarnation, entry.seq])
        self._check_accounts()
        for responses in zip(*(output.responses for output in outputs), strict=True):
            if responses[0].payload and responses[0].payload.rows is not None:
                self._hold(responses[0].rank, responses[0].incarnation, [response.payload.rows for response in responses])
        self.readers.act(self._hosted()[self._read_shard])

    def _pending_ranks(self) -> set[int]:
        return set(getattr(self.shards[0].gate, "pending", {}))

    def _apply(self, decisions: Sequence[Decision]) -> None:
        """Decide the same about the plain rows."""
        counting = dict[int, PlainPush]()
        for decision in decisions:
            sent = self._sent.get((decision.rank, decision.incarnation, decision.seq))
            push = self.plain.pending.pop(decision.rank, sent) if decision.reason != "superseded" else None
            if push is None:
                continue
            if decision.outcome == "dropped":
                self.plain.account.update({(name, "dropped"): len(keys) for name, keys in push.keys.items()})
            else:
                counting[decision.rank] = push
        center = self.shards[0].center
        assert center is not None
        before, self._samples = self._samples, center.samples
        for name, table in self.plain.tables.items():
            for key, pushed in _together([counting[rank] for rank in sorted(counting)], name).items():
                outcome = table.push(key, pushed.incarnation, pushed.updates, pushed.gradient, pushed.occurrences, pushed.clicks)
                self.plain.account[name, outcome] += 1
            if before // SHRINKS[name] < self._samples // SHRINKS[name]:
                table.shrink()

    def _hold(self, rank: int, incarnation: int, rows: list[Any]) -> None:
        """The rows of a response, as all shards have found them."""
        for name in rows[0]:
            whole, parts = rows[0][name], joined([part[name] for part in rows[1:]])
            assert whole.keys.tolist() == parts.keys.tolist()
            assert whole.values.tobytes() == parts.values.tobytes()
            for key, values in zip(whole.keys, whole.values, strict=True):
                assert values.tobytes() == self.plain.tables[name].read(int(key))[0].tobytes()
        worker = self.live.get(rank)
        if worker is None or worker.incarnation != incarnation:
            return
        window = self.held[rank]
        for name in rows[0]:
            for key in map(int, rows[0][name].keys):
                window.plain[name][key] = self.plain.tables[name].read(key)[1:]
            for found, of_shard in zip(window.found, rows, strict=True):
                found[name] = joined([found[name], of_shard[name]]) if name in found else of_shard[name]

    def _hosted(self) -> list[HostedTables]:
        return [shard.center.tables for shard in self.shards if shard.center and shard.center.tables]

    def cold_reads(self) -> int:
        """Return how many rows were read from the files of tables that are bounded in memory."""
        return sum(table.tier.read for hosted in self._hosted() for table in hosted.tables.values() if table.tier)

    def _check_accounts(self) -> None:
        whole, *parts = ([*tables.accounts.items()] for tables in self._hosted())
        for number, (name, account) in enumerate(whole):
            expected = [self.plain.account[name, outcome] for outcome in OUTCOMES]
            assert [getattr(account, outcome) for outcome in OUTCOMES] == expected, name
            assert [sum(getattr(part[number][1], outcome) for part in parts) for outcome in OUTCOMES] == expected, name
            assert account.pushed == sum(expected)
        for tables in self._hosted():
            totals = tables.totals()
            assert totals.made == totals.rows + totals.evicted_rows

    def _check_checkpoint(self, number: int, ranks: list[int], states: list[dict[str, Any]]) -> None:
        super()._check_checkpoint(number, ranks, states)
        self._check_rows()
        self.plain.windows = {rank: window for rank, window in self._saved.items() if rank in ranks}
        self.plain_at[number] = copy.deepcopy(self.plain)
        self.plain.windows, self._saved = {}, {}

    def _check_end(self) -> None:
        super()._check_end()
        assert not self.plain.pending

    def _check_rows(self) -> None:
        """The rows of the whole shard, of the two others together, and of the plain tables are the same."""
        whole, *parts = self._hosted()
        for name, plain in self.plain.tables.items():
            found = read_contents(whole.tables[name]).columns()
            others = [read_contents(part.tables[name]).columns() for part in parts]
            for column, values in found.items():
                assert values.tobytes() == np.concatenate([other[column] for other in others]).tobytes(), (name, column)
            assert set(found["keys"].tolist()) == set(plain.rows)
            waiting = zip(found["waiting"].tolist(), found["waiting_occurrences"].tolist(), strict=True)
            assert dict(waiting) == {key: held.occurrences for key, held in plain.candidates.items()}
            for i, key in enumerate(found["keys"].tolist()):
                row = plain.rows[key]
                assert found["values"][i].tobytes() == np.concatenate([row.w, row.s]).astype(np.float32).tobytes(), (name, key)
                assert (found["updates"][i], found["seen"][i]) == (row.updates, row.seen), (name, key)


def _plain_table(name: str, spec: JobSpec) -> PlainTable:
    return PlainTable(name, WIDTHS[name], TABLES[name], spec.seed, spec.tables[name].has_scores)


def _by_bucket(keys: Sequence[int]) -> Any:
    found = np.array(keys, np.int64)
    return found[bucket_order(found)]


def _in_parts(rows: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [shard_part(rows, shard, of) for shard, of in SHARD_OF_PART]


def _gradients(found: FoundRows, chosen: Mapping[int, KeyPush]) -> RowGradients:
    """Those of the chosen keys that this shard has found, in bucket order."""
    some = np.array([number for number, key in enumerate(found.keys.tolist()) if key in chosen], np.int64)
    mine = piece(found, some)
    mine = piece(mine, bucket_order(mine.keys))
    pushed = [chosen[key] for key in mine.keys.tolist()]
    gradients = np.array([each.gradient for each in pushed], np.float32).reshape(len(pushed), found.values.shape[1])
    occurrences = np.array([each.occurrences for each in pushed], np.int64)
    return RowGradients(mine.keys, mine.loans, gradients, occurrences, np.array([each.clicks for each in pushed], np.float32))


def _together(pushes: Sequence[PlainPush], name: str) -> dict[int, KeyPush]:
    """One push per key. Gradients add up to the mean over all examples of the pushes."""
    if len(pushes) == 1:
        return dict(pushes[0].keys.get(name, {}))
    merged: dict[int, KeyPush] = {}
    for push in pushes:
        weight = np.float32(push.examples / sum(each.examples for each in pushes))
        for key, each in push.keys.get(name, {}).items():
            first = KeyPush(each.incarnation, each.updates, np.zeros_like(each.gradient), 0, np.float32(0))
            of_key = merged.setdefault(key, first)
            of_key.gradient = of_key.gradient + weight * each.gradient
            of_key.occurrences, of_key.clicks = of_key.occurrences + each.occurrences, of_key.clicks + each.clicks
    return merged
