"""The kinds of events that the API's document names are those that are recorded."""

from __future__ import annotations

import ast
from pathlib import Path

from backend.jobs.history_schemas import Event

BACKEND = Path(__file__).parents[3] / "backend"


def recorded() -> set[str]:
    """The third argument of each `feed.record(session, job, kind, ...)`."""
    calls = (node for path in BACKEND.rglob("*.py") for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    kinds = [call.args[2] for call in calls if ast.unparse(call.func) == "feed.record"]
    assert kinds
    return {kind.value for kind in kinds if isinstance(kind, ast.Constant) and isinstance(kind.value, str)}


def test_the_document_names_every_kind() -> None:
    description = Event.model_fields["kind"].description
    assert description is not None
    assert set(description.split(", ")) == recorded()
