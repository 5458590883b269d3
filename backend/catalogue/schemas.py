from __future__ import annotations

from typing import Any

from pydantic import Field

from backend.bundles.schemas import BundledFile
from backend.schemas import Schema
from gradstream.gate import Mode
from gradstream.strategies.base import Side


class StrategyInfo(Schema):
    name: str = Field(examples=["adag"])
    summary: str = Field(examples=["Accumulated gradient normalization: the mean of a window of local steps."])
    intent: str = Field(examples=["Fast on unequal machines"], description="The aim that it is selected for")
    gates: list[Mode]
    default_gate: str = Field(examples=["asp"])
    descends: str = Field(description="The side that uses lr and optimizer: worker or server")
    optimizers: list[Side] = Field(description="The sides that make their steps by an optimizer; one named for another is refused")
    json_schema: dict[str, Any] = Field(alias="schema", description="JSON Schema of its hyper-parameters")


class Example(Schema):
    name: str = Field(examples=["digits"])
    title: str
    yaml: str = Field(description="The job file")
    files: list[BundledFile]
    bundle: str = Field(description="Hash of its code, stored and ready to submit")
