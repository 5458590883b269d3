"""The shortest job file that makes a given job. Pure."""

from __future__ import annotations

from typing import Any

from gradstream.spec import JobSpec

_KINDS = {"name", "mode", "metric"}


def shortest(spec: JobSpec) -> dict[str, Any]:
    """Return the job file without defaults. Keys that name the kind of a part stay: a name, a gate's mode, a target's metric."""
    full = spec.model_dump(mode="json")
    short = _with_names(spec.model_dump(mode="json", exclude_defaults=True), full)
    return short if JobSpec.model_validate(short) == spec else full


def _with_names(short: dict[str, Any], full: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in full.items():
        if key in _KINDS and isinstance(value, str):
            kept[key] = value
        elif key in short:
            part = short[key]
            kept[key] = _with_names(part, value) if isinstance(part, dict) and isinstance(value, dict) else part
    return kept
