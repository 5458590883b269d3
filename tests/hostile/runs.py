"""The number of attacks that each test draws, and the seed of the first one. To try others of one kind:

GRADSTREAM_HOSTILE_FIRST=700000 GRADSTREAM_HOSTILE_RUNS=2000 .venv/bin/pytest tests/hostile/archives
"""

from __future__ import annotations

import os

FIRST = int(os.environ.get("GRADSTREAM_HOSTILE_FIRST", "0"))
_WANTED = os.environ.get("GRADSTREAM_HOSTILE_RUNS", "few")


def runs(few: int, many: int) -> int:
    """Return `few` in `make test`. `make hostile` draws `many`, which take some minutes whatever one attack costs, and
    `make hostile RUNS=N` draws N of each kind."""
    return {"few": few, "many": many}.get(_WANTED) or int(_WANTED)
