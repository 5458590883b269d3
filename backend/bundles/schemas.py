from __future__ import annotations

from typing import Any

from pydantic import Field

from backend.schemas import Schema
from gradstream.api.code import FileDifference


class BundledFile(Schema):
    path: str = Field(examples=["digits.py"])
    size: int
    warning: str | None = Field(None, description="Reason why it looks like a credential; null: it does not", examples=[None])


class BundledText(Schema):
    path: str = Field(examples=["digits.py"])
    size: int
    text: str | None = Field(description="Null: it is binary, or longer than 1 MiB")


class FileDifferences(Schema):
    items: list[FileDifference] = Field(description="By path")


class BundledArgument(Schema):
    """An annotated attribute of a workload class: a key of `workload.args`."""

    name: str = Field(examples=["hidden"])
    annotation: str = Field(description="Its type as it is written", examples=["int"])
    required: bool
    default: Any = Field(description="Null if it has none, or one that is not a literal")
    literal: bool = Field(description="`default` is its value")
    values: dict[str, Any] | None = Field(
        description="JSON Schema of its values; null: the annotation is not a simple type",
        examples=[{"type": "integer"}, {"enum": ["relu", "tanh"], "type": "string"}],
    )
    help: str = Field(
        description="Its help in the code: the text below it in quotes, or the comment behind it; empty: none",
        examples=["Units of the hidden layer"],
    )


class BundledWorkload(Schema):
    """A class that can be trained, as its text says: none of it is run."""

    entrypoint: str = Field(examples=["digits:Digits"])
    summary: str = Field(description="The first line of its docstring")
    arguments: list[BundledArgument] | None = Field(description="Null where the class takes them by rules of its own")


class StoredBundle(Schema):
    hash: str = Field(description="sha256 of the archive; names the bundle when a job is submitted")
    size: int
    files: list[BundledFile]
    workloads: list[BundledWorkload] = Field(
        description="Workload classes that `workload.entrypoint` may name, outer modules first"
    )
