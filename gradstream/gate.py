"""When a worker may begin its next round, and which pushes count: the gate, as it stands in a job file.

    bsp   all wait for all: a round's pushes are averaged and applied once      (quorum: the first K of n count)
    ssp    no worker is more than `bound` rounds ahead of the slowest               (stale synchronous parallel)
    asp    no worker waits                                                          (max_staleness: older pushes are dropped;
                                                                                 warm_start: one begins alone)

How each decides is `gradstream.center.gate`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, Self

from pydantic import Field, model_validator

from gradstream.bounds import BoundedPart, Count

Mode = Literal["bsp", "ssp", "asp"]

_OPTIONS: Final[Mapping[Mode, tuple[str, ...]]] = {
    "bsp": ("quorum", "cohort"),
    "ssp": ("bound",),
    "asp": ("max_staleness", "warm_start"),
}
"""The options that each mode has."""


class Gate(BoundedPart, frozen=True):
    """In a job file: `gate: asp`, `gate: {ssp: 3}`, or in full `gate: {mode: bsp, quorum: 3}`."""

    mode: Mode = Field("asp", description="Workers wait for all (bsp), for those too far behind (ssp), or for none (asp)")
    bound: Count = Field(3, ge=0, description="ssp: rounds by which a worker may be ahead of the slowest")
    quorum: Count | None = Field(
        None, ge=1, description="bsp: workers whose pushes complete a round; the others are backups; default: all"
    )
    cohort: float = Field(1.0, gt=0, le=1, description="bsp: share of the workers that take part in each round, drawn at random")
    max_staleness: Count | None = Field(None, ge=1, description="asp: drop pushes with staleness >= this; default: drop none")
    warm_start: Count | None = Field(
        None, ge=1, description="asp: samples that the worker with the lowest rank trains before the others begin; default: 0"
    )

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
        """Refuse an option that the mode would ignore."""
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
        """True if a worker that has pushed may continue at once, whatever the others do."""
        return self.mode == "asp" and self.warm_start is None

    @property
    def may_drop(self) -> bool:
        """True if the gate may drop pushes of live workers."""
        return self.max_staleness is not None or self.quorum is not None

    def __str__(self) -> str:
        extra = {"bsp": f" K={self.quorum}" if self.quorum else "", "ssp": f"({self.bound})", "asp": ""}[self.mode]
        return self.mode + extra
