"""When a worker may begin its next round, and which pushes count: the gate, as it stands in a job file.

    bsp   all wait for all: a round's pushes are averaged and applied once      (quorum: the first K of n count)
    ssp   nobody is more than `bound` rounds ahead of the slowest               (stale synchronous parallel)
    asp   nobody waits                                                          (max_staleness: older pushes are dropped;
                                                                                 warm_start: one begins alone)

How each decides is `gradstream.center.gate`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, Field, model_validator

from gradstream.bounds import Count

Mode = Literal["bsp", "ssp", "asp"]

_OPTIONS: Final[Mapping[Mode, tuple[str, ...]]] = {
    "bsp": ("quorum", "cohort"),
    "ssp": ("bound",),
    "asp": ("max_staleness", "warm_start"),
}
"""The options that each mode has."""


class Gate(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """In a job file: `gate: asp`, `gate: {ssp: 3}`, or in full `gate: {mode: bsp, quorum: 3}`."""

    mode: Mode = "asp"
    bound: Count = Field(3, ge=0, description="ssp: rounds a worker may be ahead of the slowest")
    quorum: Count | None = Field(None, ge=1, description="bsp: how many distinct workers make a round; the rest are backups")
    cohort: float = Field(1.0, gt=0, le=1, description="bsp: share of the workers drawn for each round")
    max_staleness: Count | None = Field(None, ge=1, description="asp: a push this stale or staler is dropped")
    warm_start: Count | None = Field(None, ge=1, description="asp: samples that the lowest worker trains before others may begin")

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, given: Any) -> Any:
        if isinstance(given, str):
            return {"mode": given}
        if isinstance(given, dict) and len(given) == 1 and "ssp" in given:
            return {"mode": "ssp", "bound": given["ssp"]}
        return given

    @model_validator(mode="after")
    def _options_of_the_mode(self) -> Self:
        """An option that the mode would ignore is refused, not ignored."""
        for option in self.model_fields_set - {"mode", *_OPTIONS[self.mode]}:
            if self._is_changed(option):
                raise ValueError(f"'{option}' means nothing under the gate '{self.mode}'; remove it")
        return self

    @property
    def settings(self) -> dict[str, Any]:
        """The mode and the options that shape it: the bound of ssp always, others only if set, as their defaults do nothing."""
        shaping = [option for option in _OPTIONS[self.mode] if option == "bound" or self._is_changed(option)]
        return {"mode": self.mode, **{option: getattr(self, option) for option in shaping}}

    def _is_changed(self, option: str) -> bool:
        return bool(getattr(self, option) != type(self).model_fields[option].default)

    @property
    def never_holds(self) -> bool:
        """Who has pushed may go on at once, whatever others do."""
        return self.mode == "asp" and self.warm_start is None

    @property
    def may_drop(self) -> bool:
        """Pushes of live workers may turn out not to count."""
        return self.max_staleness is not None or self.quorum is not None

    def __str__(self) -> str:
        extra = {"bsp": f" K={self.quorum}" if self.quorum else "", "ssp": f"({self.bound})", "asp": ""}[self.mode]
        return self.mode + extra
