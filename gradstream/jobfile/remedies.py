"""Remedies for mistakes in job files: examples of the parts of a job file, and words that people know from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel

from gradstream.errors import pointer_to
from gradstream.spec import JobSpec

EXAMPLES: Mapping[str, str] = {
    "/name": "name: digits",
    "/workload": 'workload: {entrypoint: "digits:Digits"}',
    "/workload/entrypoint": 'entrypoint: "digits:Digits"',
    "/workload/args": "args: {hidden: 64}",
    "/strategy": "strategy: {name: sync, lr: 0.1}",
    "/gate": "gate: {ssp: 3}",
    "/roles": "roles: {worker: {count: 2}}",
    "/roles/worker": "worker: {count: 2}",
    "/roles/worker/group": "group: {replicate: 2}",
    "/roles/server": "server: {count: 2}",
    "/stop": "stop: {epochs: 10}",
    "/stop/target": "target: {metric: eval/accuracy, at_least: 0.97}",
    "/best": "best: {metric: eval/loss}",
    "/best/metric": "metric: eval/loss",
    "/start_from": "start_from: {job: digits}",
    "/optimizer": "optimizer: {name: adam}",
    "/schedule": "schedule: {name: cosine}",
    "/codec": "codec: {name: int8}",
    "/evaluate": "evaluate: {every: 5s}",
    "/checkpoint": "checkpoint: {every: 30s}",
    "/data": "data: {prefetch: 2}",
    "/env": 'env: {LEVEL: "3"}',
    "/update_histograms": "update_histograms: {every: 100}",
    "/retention": "retention: {metrics: 30d}",
}
"""Parts of a job file by pointer, as their author would write them."""

_OTHER_NAMES: Mapping[str, str] = {
    "learning_rate": "/strategy/lr",
    "bs": "/batch_size",
    "n_workers": "/roles/worker/count",
    "num_workers": "/roles/worker/count",
    "world_size": "/roles/worker/count",
    "nproc_per_node": "/roles/worker/count",
    "workers": "/roles/worker/count",
    "servers": "/roles/server/count",
    "gpu": "/roles/worker/gpu",
    "gpus": "/roles/worker/device",
    "model": "/workload/entrypoint",
    "module": "/workload/entrypoint",
    "script": "/workload/entrypoint",
    "command": "/workload/entrypoint",
    "class": "/workload/entrypoint",
    "kwargs": "/workload/args",
    "params": "/workload/args",
    "hyperparameters": "/workload/args",
    "max_epochs": "/stop/epochs",
    "num_epochs": "/stop/epochs",
    "max_steps": "/stop/steps",
    "iterations": "/stop/steps",
    "early_stopping": "/stop/patience",
    "eval_every": "/evaluate/every",
    "save_every": "/checkpoint/every",
    "grad_clip": "/optimizer/clip_norm",
    "gradient_accumulation_steps": "/accumulate",
    "micro_batches": "/accumulate",
    "fsdp": "/roles/worker/group/fsdp",
    "fsdp_size": "/roles/worker/group/fsdp",
    "pipeline_parallel_size": "/roles/worker/group/stages",
    "pipeline_stages": "/roles/worker/group/stages",
    "tp": "/roles/worker/group/tensor",
    "tp_size": "/roles/worker/group/tensor",
    "tensor_parallel_size": "/roles/worker/group/tensor",
    "tensor_model_parallel_size": "/roles/worker/group/tensor",
    "compression": "/codec",
    "resume": "/start_from",
    "environment": "/env",
    "lr_scheduler": "/schedule",
    "scheduler": "/schedule",
}
"""Keys of other programs, with the place of the same in a job file."""


def example_of(path: Sequence[str | int]) -> str:
    """`; e.g. stop: {epochs: 10}`; empty: there is no example of this place."""
    found = EXAMPLES.get(pointer_to(path))
    return f"; e.g. {found}" if found else ""


def known_elsewhere(key: str) -> str | None:
    """Return the pointer of what other programs call so."""
    return _OTHER_NAMES.get(key.lower().replace("-", "_"))


def other_kind(word: Any, what: str | int) -> str | None:
    """Return a sentence if the word names something else than a `what`: adam is no strategy, but an optimizer."""
    for kind, names in _kinds().items():
        if kind != what and word in names:
            example = f"gate: {word}" if kind == "gate" else f"{kind}: {{name: {word}}}"
            return f"{word} is {'an' if kind[0] in 'aeiou' else 'a'} {kind}, so write {example}"
    return None


@cache
def _kinds() -> dict[str, list[str]]:
    """The names of each choice."""
    kinds = ("strategy", "optimizer", "codec", "schedule")
    found = {kind: [name_of(model) for model in models_in(JobSpec.model_fields[kind].annotation)] for kind in kinds}
    return {**found, "gate": ["bsp", "ssp", "asp"]}


@cache
def owners() -> dict[tuple[str, str], list[str]]:
    """The names of the choices that have a key, by the pointer of the choice and the key: sgd has `/optimizer`, `momentum`."""
    found: dict[tuple[str, str], list[str]] = {}

    def visit(model: type[BaseModel], pointer: str) -> None:
        for key, field in model.model_fields.items():
            if "name" in model.model_fields and model is not JobSpec:
                found.setdefault((pointer, key), []).append(name_of(model))
            for inner in models_in(field.annotation):
                visit(inner, f"{pointer}/{key}")

    visit(JobSpec, "")
    return found


def name_of(model: type[BaseModel]) -> str:
    """The name by which a job file chooses this model."""
    return str(model.model_fields["name"].default)


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models in an annotation, through Annotated, Optional and unions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from models_in(inner)
