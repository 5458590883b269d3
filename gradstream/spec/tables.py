"""Embedding tables: the rule, first values, admission and eviction of their rows.

A mapping of table names to `TableSpec`; `default` is for tables that are not named. A named table inherits nothing from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from gradstream.bounds import Count, Number
from gradstream.errors import InvalidWorkload
from gradstream.optim.spec import Beta
from gradstream.spec.cadence import Cadence, ShrinkInterval, parse
from gradstream.spec.part import SpecPart

DEFAULT = "default"
MAX_TABLES = 1000
_OF_MEMBER = re.compile(r"members\.(\d{1,2})\.(.+)", re.DOTALL)


class _Rule(SpecPart, frozen=True):
    @property
    def initial_state(self) -> float:
        """First value of each number of the state."""
        return 0.0

    def state_size(self, width: int) -> int:
        """The numbers that the rule keeps behind the weights of a row."""
        return 0


class _SteppingRule(_Rule, frozen=True):
    lr: Number = Field(0.05, gt=0, description="Learning rate, times the factor of the schedule")
    damp: bool = Field(False, description="Divide the step of a row by its staleness + 1")


class SgdRule(_SteppingRule, frozen=True):
    name: Literal["sgd"] = "sgd"


class AdagradRule(_SteppingRule, frozen=True):
    name: Literal["adagrad"] = "adagrad"
    rowwise: bool = Field(False, description="Keep one sum per row, of the mean square of its gradient")
    initial: Number = Field(0.0, ge=0, description="First value of the sum")
    eps: Number = Field(1e-10, gt=0, description="Constant that is added to the denominator")

    @property
    def initial_state(self) -> float:
        return self.initial

    def state_size(self, width: int) -> int:
        return 1 if self.rowwise else width


class AdamRule(_SteppingRule, frozen=True):
    name: Literal["adam"] = "adam"
    betas: tuple[Beta, Beta] = Field(
        (0.9, 0.999), description="Decay rates of the mean of gradients and of the mean of their squares"
    )
    eps: Number = Field(1e-8, gt=0, description="Constant that is added to the denominator")

    def state_size(self, width: int) -> int:
        return 2 * width


class FtrlRule(_Rule, frozen=True):
    """No schedule and no damping: the rate of each weight falls by its own gradients, and the step has no factor."""

    name: Literal["ftrl"] = "ftrl"
    alpha: Number = Field(0.1, gt=0, description="Rate of a weight, divided by beta + the root of its summed squares")
    beta: Number = Field(1.0, ge=0, description="Constant in the rate's denominator")
    l1: Number = Field(0.0, ge=0, description="L1 penalty; a weight is 0 while its gradients do not exceed it")
    l2: Number = Field(0.0, ge=0, description="L2 penalty")

    def state_size(self, width: int) -> int:
        return 2 * width


AnyRule = Annotated[SgdRule | AdagradRule | AdamRule | FtrlRule, Field(discriminator="name")]


class FirstValues(SpecPart, frozen=True):
    uniform: Number = Field(0.05, ge=0, description="First values are uniform between -x and x, drawn from seed, table and key")


class AdmissionRule(SpecPart, frozen=True):
    """Exactly one of the three. A key without a row reads 0 until it is admitted."""

    count: Count | None = Field(None, ge=1, le=2**32 - 1, description="Make the row at this occurrence of its key")
    probability: float | None = Field(None, gt=0, lt=1, description="Make the row at an occurrence with this probability")
    score: Number | None = Field(None, gt=0, description="Make the row when the score of its key is at least this")

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if sum(value is not None for value in (self.count, self.probability, self.score)) != 1:
            raise ValueError("give exactly one of count, probability and score; leave `admit` out to make every row at once")
        return self


class EvictionRule(SpecPart, frozen=True):
    """Checked at each shrink."""

    decay: float | None = Field(None, gt=0, lt=1, description="Multiply shows and clicks by this")
    score: Number | None = Field(None, gt=0, description="Evict rows whose score is below this")
    unseen: int | None = Field(None, ge=1, le=2**32 - 1, description="Evict rows and candidates without a push for so many passes")

    @model_validator(mode="after")
    def _check_some(self) -> Self:
        if self.decay is None and self.score is None and self.unseen is None:
            raise ValueError("give decay, score or unseen, or leave `keep` out")
        return self


class ScoreWeights(SpecPart, frozen=True):
    """score = unclicked (shows - clicks) + clicked clicks"""

    unclicked: Number = Field(0.1, ge=0, description="Weight of a show without a click")
    clicked: Number = Field(1.0, ge=0, description="Weight of a click")


class RowCacheSpec(SpecPart, frozen=True):
    rows: Count = Field(ge=1, le=2**31 - 1, description="Rows of the table that each worker keeps, at most: those used last")
    bound: int = Field(
        0, ge=0, le=2**31 - 1, description="Updates of a row that its kept copy may lack; a row that lacks more is sent again"
    )


class TableMemory(SpecPart, frozen=True):
    rows: Count = Field(
        ge=1,
        le=2**31 - 1,
        description="Rows of the table whose vectors stay in the memory of its servers, of all together: those used last. The "
        "others lie in files on the servers' disks",
    )


class TableSpec(SpecPart, frozen=True):
    rule: AnyRule = Field(AdagradRule(rowwise=True), description="Rule that turns gradients into steps")
    init: FirstValues | None = Field(None, description="First values of a row; default: uniform 0.05, or 0 for ftrl")
    admit: AdmissionRule | None = Field(None, description="Condition to make a row; default: its first push makes it")
    keep: EvictionRule | None = Field(None, description="Rows to evict at a shrink; default: none")
    most: Count | None = Field(
        None, ge=1024, description="Rows of the table after a shrink, at most: 1/1024 of them in each bucket"
    )
    memory: TableMemory | None = Field(
        None, description="Bound of the table's rows in memory; the others lie on disk, and no bit differs; default: all in memory"
    )
    score: ScoreWeights | None = Field(None, description="Weights of the score")
    shrink: ShrinkInterval | None = Field(
        None,
        description="Interval between two shrinks in a job: samples of all workers together ('100000 samples', '0.5 epochs'), or "
        "passes over the data, at whose end it shrinks ('1 passes'); default: 1 epochs",
    )
    codec: Literal["raw", "fp16", "bf16"] = Field(
        "raw", description="Encoding of rows and of their gradients on the way between workers and servers; servers compute in fp32"
    )
    cache: RowCacheSpec | None = Field(
        None, description="Rows that each worker of a job keeps, so that only those come that have changed; default: none"
    )
    gradient: Literal["mean", "sum"] = Field("mean", description="sum: multiply gradients by the examples of the mini-batch")

    @property
    def reach(self) -> float:
        """First values lie in [-reach, reach)."""
        if self.init:
            return self.init.uniform
        return 0.0 if isinstance(self.rule, FtrlRule) else FirstValues().uniform

    @property
    def has_scores(self) -> bool:
        """Something needs shows and clicks."""
        by_score = (self.keep and self.keep.score) or (self.admit and self.admit.score)
        return bool(by_score or self.most)

    @property
    def shrinks_every(self) -> Cadence | None:
        """None: nothing is ever evicted."""
        return parse(self.shrink or "1 epochs") if self.keep or self.most else None

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        if isinstance(self.rule, FtrlRule) and self.reach:
            raise ValueError("init: ftrl computes weights from gradients alone, so they begin at 0; leave `init` out")
        if self.shrink and not self.shrinks_every:
            raise ValueError("shrink would be ignored: nothing is evicted; set keep or most")
        if not self.has_scores:
            if self.keep and self.keep.decay:
                raise ValueError("keep/decay would be ignored: nothing uses the score; set keep/score, admit/score or most")
            if self.score:
                raise ValueError("score would be ignored: nothing uses it; set keep/score, admit/score or most")
        return self


_TABLES = TypeAdapter(dict[str, TableSpec])


def name_for_member(member: int, name: str) -> str:
    """Return the name of the table that a member of an ensemble has for the table `name` of the workload."""
    return f"members.{member}.{name}"


def split_member(name: str) -> tuple[int, str]:
    """Return the member whose table this is, and the table's name in the workload. The only model is member 0."""
    match = _OF_MEMBER.fullmatch(name)
    return (int(match[1]), match[2]) if match else (0, name)


def workload_names(tables: Iterable[str]) -> list[str]:
    """Return the names that the workload has for these tables."""
    return sorted({split_member(name)[1] for name in tables})


def specs_of(rules: Mapping[str, Any] | None, tables: Iterable[str]) -> dict[str, TableSpec]:
    """The spec of each table of a model. `rules`: specs, or mappings of their fields, by table name. Members of an ensemble
    have the same.

    Raises: InvalidWorkload: `rules` name a table that the model lacks. pydantic.ValidationError."""
    given, tables = _TABLES.validate_python(dict(rules or {})), sorted(tables)
    there = workload_names(tables)
    for name in given:
        if name != DEFAULT and name not in there:
            close = get_close_matches(name, there, 1)
            hint = f"did you mean '{close[0]}'? There are" if close else "there are"
            raise InvalidWorkload(f"tables: the model has no table '{name}'; {hint} {', '.join(there) or 'none'}")
    return {name: given.get(split_member(name)[1]) or given.get(DEFAULT) or TableSpec() for name in tables}
