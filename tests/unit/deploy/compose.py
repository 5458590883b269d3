"""Compose files as Compose reads them: merge keys applied, ${...} filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
COMPOSE = ROOT / "docker-compose.yml"
MORE_MACHINES = ROOT / "deploy/more-machines.yml"
OPEN_AGENTS = ROOT / "deploy/open-agents.yml"
_VARIABLE = re.compile(r"\$(?:(?P<dollar>\$)|\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<rest>[^}]*))?\})")


def load(path: Path, settings: Mapping[str, str]) -> Any:
    """Raises: KeyError, for a variable that the file wants (`:?`) and `settings` lacks."""
    return _filled(yaml.safe_load(path.read_text()), settings)


def variables(path: Path) -> set[str]:
    """All that the file asks of its environment."""
    text = path.read_text()
    passed_through = re.findall(r"^ +(GRADSTREAM_\w+): *(?:#.*)?$", text, re.MULTILINE)
    return {found["name"] for found in _VARIABLE.finditer(text) if found["name"]} | set(passed_through)


def _filled(value: Any, settings: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(each, settings) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, settings) for each in value]
    return _VARIABLE.sub(lambda found: _value(found, settings), value) if isinstance(value, str) else value


def _value(found: re.Match[str], settings: Mapping[str, str]) -> str:
    if found["dollar"]:
        return "$"
    if found["kind"] == "?" and not settings.get(found["name"]):
        raise KeyError(found["name"])
    return settings.get(found["name"]) or (found["rest"] if found["kind"] == "-" else "")


def environment(service: Mapping[str, Any], settings: Mapping[str, str]) -> dict[str, str]:
    """What the service's program finds in its environment. A variable without a value is passed through, if there is one."""
    given = {name: settings.get(name) if value is None else str(value) for name, value in service.get("environment", {}).items()}
    return {name: value for name, value in given.items() if value is not None}


def secrets(service: Mapping[str, Any]) -> dict[str, str]:
    """The secrets that a service is given: path in the container -> name."""
    given = [each if isinstance(each, dict) else {"source": each} for each in service.get("secrets", [])]
    return {f"/run/secrets/{each.get('target', each['source'])}": each["source"] for each in given}
