"""JSON files of job processes: user code shares their account, so nothing in a file is trusted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo, field_validator

from backend.db import storable
from backend.schemas import Message
from gradstream.bounds import MAX_COUNT
from gradstream.errors import Invalid, Mistake
from gradstream.process.saving.checkpoint_names import LIST, STATE_SUFFIXES, CheckpointPath, folder_of, shard_part, worker_part
from gradstream.process.saving.exports import PART, ExportPart, ExportPath, export_folder
from gradstream.process.saving.model_files import INDEX, MAX_INDEX, describe, model_of, read_index
from gradstream.process.saving.part_list import MAX_BYTES, PartList
from gradstream.process.saving.table_summary import MAX_BYTES as MAX_SUMMARY
from gradstream.process.saving.table_summary import ShardSummary, is_summary_file
from gradstream.process.store import BEST, RESULT
from gradstream.spec import JobSpec
from gradstream.updates.parameter_table import MAX_BYTES as MAX_PARAMETERS
from gradstream.updates.parameter_table import PARAMETERS, ParameterTable

KIB = 1024
MAX_MANIFEST, MAX_RESULT = 64 * KIB, 1024 * KIB
"""Bytes. A manifest names each worker up to three times; a result holds the user's metrics."""

Total = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Rank = Annotated[int, Field(ge=0)]
Score = Annotated[float, Field(allow_inf_nan=False)]
Text = Annotated[str, BeforeValidator(lambda given: storable(given) if isinstance(given, str) else given)]


class Manifest(Message):
    """The parts that make a checkpoint whole, and its contents."""

    checkpoint: Annotated[int, Field(ge=0)] | None = None
    members: list[Rank] = Field(max_length=1000)
    away: list[Rank] = Field(default_factory=list, max_length=1000)
    """Workers that were lost, and had not come back."""
    servers: int
    version: Total | None = None
    samples: Total | None = None
    pushed: dict[Rank, Total] = Field(default_factory=dict, max_length=1000)
    positions: dict[Rank, Total] = Field(default_factory=dict, max_length=1000)
    """Mini-batches that each worker has pushed. Empty for a job that ends by itself."""
    offsets: dict[Rank, Annotated[list[Total], Field(max_length=10_000)]] = Field(default_factory=dict, max_length=1000)
    """Where each worker has got to in the partitions of a topic. Empty for data whose examples have numbers."""

    @field_validator("servers")
    @classmethod
    def _all_servers(cls, servers: int, info: ValidationInfo) -> int:
        if servers != (shards := _spec(info).shards):
            raise ValueError(f"the job has {shards} servers")
        return servers

    @field_validator("members", "away", "pushed", "positions", "offsets")
    @classmethod
    def _known_workers(cls, ranks: Any, info: ValidationInfo) -> Any:
        if any(rank >= _spec(info).roles.worker.count for rank in ranks):
            raise ValueError(f"the job has {_spec(info).roles.worker.count} workers")
        return ranks

    @property
    def parts(self) -> set[str]:
        return {worker_part(rank) for rank in self.members} | {shard_part(k) for k in range(self.servers)}


class BestScore(Message):
    """The score of the best evaluation."""

    metric: Text
    value: Score
    samples: Total


class StoredResult(Message):
    """The result of the evaluator."""

    eval: dict[Text, Score | None] = Field(default_factory=dict)
    version: Total | None = None
    samples: Total | None = None
    target: bool = False
    stopped_by: Text | None = None
    best: BestScore | None = None


Stored = TypeVar("Stored", Manifest, StoredResult, PartList, ExportPart, ShardSummary, ParameterTable)


def most_bytes(path: str) -> int | None:
    """The bytes that a stored file of this path may have; None: it is not one of these JSON files."""
    at = CheckpointPath.parse(path)
    if at and at.part is None:
        return MAX_MANIFEST
    exported = ExportPath.parse(path)
    if (at and at.suffix == LIST) or (exported and exported.suffix == PART):
        return MAX_BYTES
    if is_summary_file(path):
        return MAX_SUMMARY
    if path.endswith(INDEX) and model_of(path):
        return MAX_INDEX
    return {RESULT: MAX_RESULT, PARAMETERS: MAX_PARAMETERS}.get(path)


def read_manifest(path: Path, spec: JobSpec) -> Manifest:
    """Raises: Invalid: it is too large, or fits neither the form nor the job."""
    return _check(Manifest, _read(path, MAX_MANIFEST), "manifest", spec)


def read_result(path: Path) -> StoredResult:
    """Read the evaluator's result. Raises: Invalid: it is too large, or does not have its form."""
    return _check(StoredResult, _read(path, MAX_RESULT), "result", None)


def about_model(path: Path, name: str) -> str | None:
    """Return a note on a file of a model: `eval/loss 0.31 at 20,000 samples` of the best one, as the file itself says, and how
    many parts an index names. None: there is nothing to say."""
    if name.endswith(INDEX) and (model := model_of(name)):
        index = read_index(path, model)
        best = _about_best(index.metadata.gradstream)
        parts = f"{len(index.parts)} parts, {index.metadata.total_size:,} bytes of tensors"
        return f"{best}; {parts}" if best else parts
    return _about_best(describe(path)) if name == BEST else None


def _about_best(described: str | None) -> str | None:
    """`eval/loss 0.31 at 20,000 samples`; None, if it does not say it."""
    try:
        about = json.loads(described or "")["best"]
        return f"{storable(about['metric'])} {float(about['value']):.6g} at {int(about['samples']):,} samples"
    except (ValueError, KeyError, TypeError):
        return None


def check_part_list(path: Path, part: str) -> PartList:
    """Read the list of a part. Raises: Invalid: it does not have its form, or names a file of another part or one twice."""
    listed = _check(PartList, _read(path, MAX_BYTES), "part list", None)
    for file in listed.files:
        if _is_reserved(file.name, part):
            raise Invalid(f"The list of {part} names '{file.name}'; its files begin with '{part}.'.")
    if any(CheckpointPath.parse(folder_of(0) + file.name) is None for file in listed.rests_on):
        raise Invalid(f"The list of {part} rests on a file whose name is none of a checkpoint.")
    if len({file.name for file in listed.files}) < len(listed.files):
        raise Invalid(f"The list of {part} names a file twice.")
    return listed


def read_export_part(path: Path, part: str, spec: JobSpec) -> ExportPart:
    """Read the part of a server in an export. Raises: Invalid: it does not have its form, or is of another server or job."""
    read = _check(ExportPart, _read(path, MAX_BYTES), "part of an export", None)
    if shard_part(read.shard) != part or read.exported.shards != spec.shards:
        raise Invalid(f"The part of {part} in an export is of another server, or of another number of servers.")
    names = [file.name for file in read.files]
    if len(set(names)) < len(names) or any(
        (at := ExportPath.parse(export_folder(0) + name)) is None or at.part != part for name in names
    ):
        raise Invalid(f"The part of {part} in an export names a file twice, or one that is not its own.")
    return read


def read_table_summary(path: Path) -> ShardSummary:
    """Read what a server tells of its tables. Raises: Invalid: it is too large, or does not have its form."""
    return _check(ShardSummary, _read(path, MAX_SUMMARY), "summary of tables", None)


def read_parameters(path: Path) -> ParameterTable:
    """Read the table of a model's parameters. Raises: Invalid: it is too large, or does not have its form."""
    return _check(ParameterTable, _read(path, MAX_PARAMETERS), "table of parameters", None)


def _is_reserved(name: str, part: str) -> bool:
    at = CheckpointPath.parse(folder_of(0) + name)
    return at is None or at.part != part or at.suffix in (LIST, *STATE_SUFFIXES)


def _check(kind: type[Stored], given: Any, name: str, spec: JobSpec | None) -> Stored:
    try:
        return kind.model_validate(given, context=spec)
    except ValidationError as error:
        problems = [Mistake(_pointer(one["loc"]), one["msg"]) for one in error.errors()[:10]]
        message = f"The {name} of a process does not fit its job. Leave the file as the platform writes it."
        raise Invalid(message, problems) from error


def _pointer(loc: tuple[int | str, ...]) -> str:
    return "".join(f"/{storable(str(part))[:100]}" for part in loc)


def _read(path: Path, most: int) -> Any:
    if path.stat().st_size > most:
        raise Invalid(f"The file has {path.stat().st_size:,} bytes, {most:,} are allowed.")
    try:
        return json.loads(path.read_bytes(), parse_constant=lambda _: None)  # Postgres takes no NaN in JSON
    except (ValueError, RecursionError) as error:
        raise Invalid("The file is not JSON; leave it as the platform writes it.") from error


def _spec(info: ValidationInfo) -> JobSpec:
    assert isinstance(info.context, JobSpec)
    return info.context
