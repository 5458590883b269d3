"""Every kind of event is written by the backend somewhere, and the API's document says each with its meaning."""

from __future__ import annotations

import ast
from pathlib import Path

from gradstream.api.history import Event
from gradstream.events import EventKind

BACKEND = Path(__file__).parents[3] / "backend"


def recorded() -> set[str]:
    """Return the third argument of each `feed.record(session, job, kind, ...)`."""
    calls = (node for path in BACKEND.rglob("*.py") for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    return {ast.unparse(call.args[2]) for call in calls if ast.unparse(call.func) == "feed.record"}


def test_every_kind_is_recorded() -> None:
    assert recorded() == {f"EventKind.{kind.name}" for kind in EventKind}


def test_the_document_says_each_kind_with_its_meaning() -> None:
    description = Event.model_fields["kind"].description
    assert description is not None
    assert description.split("; ") == [f"`{kind}`: {kind.meaning}" for kind in EventKind]
