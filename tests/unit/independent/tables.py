"""Embedding tables once more, in a dictionary and plain numpy, written from the definitions. It knows nothing of Gradstream."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

F = np.float32
BITS = 2**64 - 1
NONE = F(0)


def mix(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & BITS
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & BITS
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & BITS
    return x ^ (x >> 31)


def bucket(key: int) -> int:
    return mix(key & BITS) >> 54


def draw(seed: int, table: str, key: int, number: int) -> int:
    name = 0xCBF29CE484222325
    for byte in table.encode():
        name = ((name ^ byte) * 0x100000001B3) & BITS
    return mix((mix((key & BITS) ^ mix((seed & BITS) ^ name)) + number) & BITS)


def first(seed: int, table: str, key: int, width: int, reach: float) -> Any:
    u = np.array([draw(seed, table, key, j) >> 40 for j in range(width)], F) * F(2**-24)
    return (F(2) * u - F(1)) * F(reach)


def needed(seed: int, table: str, key: int, p: float) -> int:
    u = (draw(seed, table, key, 2**32) >> 11) * 2.0**-53
    return 1 + math.floor(math.log(1 - u) / math.log(1 - p))


def step(rule: dict[str, Any], w: Any, s: Any, g: Any, t: int, rate: Any) -> tuple[Any, Any]:
    """Weights and state after a gradient, the row's `t`-th."""
    n = len(g)
    if rule["name"] == "sgd":
        return w - rate * g, s
    if rule["name"] == "adagrad" and rule.get("rowwise"):
        s = s + F(sum(float(x) * float(x) for x in g) / n)
        return w - rate * g / (np.sqrt(s) + F(1e-10)), s
    if rule["name"] == "adagrad":
        s = s + g * g
        return w - rate * g / (np.sqrt(s) + F(1e-10)), s
    if rule["name"] == "adam":
        b1, b2 = 0.9, 0.999
        m, v = F(b1) * s[:n] + F(1 - b1) * g, F(b2) * s[n:] + F(1 - b2) * (g * g)
        w = w - rate * (m / F(1 - b1**t)) / (np.sqrt(v / F(1 - b2**t)) + F(1e-8))
        return w, np.concatenate([m, v])
    a, b, l1, l2 = (F(rule[key]) for key in ("alpha", "beta", "l1", "l2"))
    z, q = s[:n], s[n:]
    after = q + g * g
    z = z + g - (np.sqrt(after) - np.sqrt(q)) / a * w
    solved = -(z - np.sign(z) * l1) / ((b + np.sqrt(after)) / a + l2)
    return np.where(np.abs(z) <= l1, F(0), solved).astype(F), np.concatenate([z, after])


STATE = {"sgd": 0, "adam": 2, "ftrl": 2}


@dataclass
class Row:
    incarnation: int
    w: Any
    s: Any
    updates: int = 0
    seen: int = 0
    shows: Any = NONE
    clicks: Any = NONE


@dataclass
class Candidate:
    occurrences: int = 0
    seen: int = 0
    shows: Any = NONE
    clicks: Any = NONE


@dataclass
class PlainTable:
    name: str
    width: int
    spec: dict[str, Any]
    seed: int
    scored: bool
    """Shows and clicks are kept."""
    rows: dict[int, Row] = field(default_factory=dict)
    candidates: dict[int, Candidate] = field(default_factory=dict)
    made: int = 0
    time: int = 0

    def read(self, key: int) -> tuple[Any, int, int]:
        """Weights, incarnation, updates. Incarnation 0: there is no row."""
        if row := self.rows.get(key):
            return row.w.copy(), row.incarnation, row.updates
        if self.spec.get("admit"):
            return np.zeros(self.width, F), 0, 0
        return first(self.seed, self.name, key, self.width, self.spec["init"]["uniform"]), 0, 0

    def push(self, key: int, incarnation: int, updates: int, g: Any, occurrences: int, clicks: Any) -> str:
        row, needs = self.rows.get(key), bool(self.spec.get("admit"))
        if (row and incarnation == row.incarnation) or (incarnation == 0 and not needs):
            row = row or self.make(key)
            self.see(row, occurrences, clicks)
            rule = self.spec["rule"]
            rate = F(rule["lr"]) if "lr" in rule else F(0)
            if rule.get("damp"):
                rate = rate / F(row.updates - updates + 1)
            row.updates += 1
            row.w, row.s = step(rule, row.w, row.s, g, row.updates, rate)
            return "applied"
        if row:
            self.see(row, occurrences, clicks)
            return "missed"
        found = self.candidates.setdefault(key, Candidate())
        found.occurrences += occurrences
        self.see(found, occurrences, clicks)
        if self.admits(key, found):
            row = self.make(key)
            row.shows, row.clicks, row.seen = found.shows, found.clicks, self.time
            del self.candidates[key]
        return "counted"

    def admits(self, key: int, found: Candidate) -> bool:
        match self.spec.get("admit"):
            case {"count": n}:
                return bool(found.occurrences >= n)
            case {"probability": p}:
                return bool(found.occurrences >= needed(self.seed, self.name, key, p))
            case {"score": least}:
                return bool(score(found) >= least)
        return True

    def make(self, key: int) -> Row:
        self.made += 1
        rule = self.spec["rule"]
        size = STATE.get(rule["name"], 1) * self.width
        state = np.full(1 if rule.get("rowwise") else size, rule.get("initial", 0), F)
        row = self.rows[key] = Row(self.made, first(self.seed, self.name, key, self.width, self.spec["init"]["uniform"]), state)
        return row

    def see(self, what: Row | Candidate, occurrences: int, clicks: Any) -> None:
        what.seen = self.time
        if self.scored:
            what.shows, what.clicks = what.shows + F(occurrences), what.clicks + F(clicks)

    def shrink(self) -> None:
        keep, gone = self.spec.get("keep", {}), []
        for held in (*self.rows.values(), *self.candidates.values()):
            held.shows, held.clicks = held.shows * F(keep.get("decay", 1)), held.clicks * F(keep.get("decay", 1))
        unseen = keep.get("unseen", 2**40)
        self.candidates = {key: found for key, found in self.candidates.items() if self.time - found.seen < unseen}
        for key, row in self.rows.items():
            if self.time - row.seen >= unseen or (score(row) < keep["score"] if "score" in keep else False):
                gone.append(key)
        for key in gone:
            del self.rows[key]
        if most := self.spec.get("most"):
            for number in {bucket(key) for key in self.rows}:
                held_keys = sorted((key for key in self.rows if bucket(key) == number), key=lambda k: (score(self.rows[k]), k))
                for key in held_keys[: max(0, len(held_keys) - most // 1024)]:
                    del self.rows[key]
        self.time += 1


def score(held: Row | Candidate) -> Any:
    return F(0.1) * (held.shows - held.clicks) + F(1) * held.clicks
