"""The runbook quotes messages, reasons and settings that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "guides" / "runbook.md").read_text(encoding="utf-8")
QUOTES = re.findall(r"`([^`\n]+)`", TEXT)
_COMMANDS = re.compile(r"(gradstream|docker|python|curl|df|cp) |.*: ")
MESSAGES = sorted({quote for quote in QUOTES if " " in quote and not _COMMANDS.match(quote)})


@cache
def texts() -> str:
    """Every text in the programs' code; a value inside a text ends it."""
    files = [
        file
        for package in ("gradstream", "backend", "worker_agent", "ps_node", "worker_node")
        for file in (ROOT / package).rglob("*.py")
    ]
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    found = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return "\0".join(text for text in found if isinstance(text, str))


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_is_one_of_ours(message: str) -> None:
    assert message in texts()


def test_every_reason_to_wait_has_its_row() -> None:
    files = sorted((ROOT / "backend" / "scheduler" / "placing").glob("*.py"))
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    place = {"Shortage": 0, "_compared": 4}
    given = [call.args[place[call.func.id]] for call in calls if isinstance(call.func, ast.Name) and call.func.id in place]
    reasons = {each.value for each in given if isinstance(each, ast.Constant)}
    assert {"no_capacity", "draining"} <= reasons
    table = TEXT.partition("| reason | message |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == reasons


def test_settings_and_services_exist() -> None:
    compose = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    for name in set(re.findall(r"GRADSTREAM_\w+", TEXT)):
        assert name in compose or name in texts(), name
    [listed] = re.findall(r"`SERVICE` below is\n(.*)\.", TEXT)
    for service in re.findall(r"`([\w-]+)`", listed):
        assert re.search(rf"^  {service}:", compose, re.MULTILINE), service
