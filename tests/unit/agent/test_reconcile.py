from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from worker_agent.reconcile import State, steps

ID = uuid4()


@pytest.mark.parametrize(
    ("desired", "known", "step"),
    [
        ({ID}, {}, "start"),
        ({ID}, {ID: "starting"}, None),
        ({ID}, {ID: "running"}, None),
        ({ID}, {ID: "exited"}, None),  # the control plane replaces it, under a new id
        (set(), {ID: "starting"}, "kill"),
        (set(), {ID: "running"}, "kill"),
        (set(), {ID: "exited"}, "forget"),
        (set(), {}, None),
    ],
)
def test_one_process(desired: set[UUID], known: dict[UUID, State], step: str | None) -> None:
    found = steps(desired, known)
    for name in ("start", "kill", "forget"):
        assert getattr(found, name) == (frozenset({ID}) if name == step else frozenset())
