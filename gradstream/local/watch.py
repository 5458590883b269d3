"""Programs that should not end: each that does is started again, with growing pauses, and not for ever. Their logs stay small."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from gradstream.errors import Unavailable
from gradstream.local.servers.child import Child

WINDOW = 60.0
PAUSES = (0.0, 0.5, 1.0, 2.0, 4.0)
"""Seconds before the first, second ... start again within one WINDOW; after the last there is no other."""
ROTATE_EVERY = 1.0
"""Seconds between two looks at the sizes of logs."""


@dataclass(slots=True)
class _Watched:
    child: Child
    start: Callable[[], None]
    ends: deque[float] = field(default_factory=deque)
    again_at: float | None = None


class Watch:
    def __init__(self, on_trouble: Callable[[str], None]) -> None:
        self._on_trouble = on_trouble
        self._programs: list[_Watched] = []
        self._rotated = 0.0

    def add(self, child: Child, start: Callable[[], None] | None = None) -> None:
        """`child` has been started. `start` starts it again; default: as it was started."""
        self._programs.append(_Watched(child, start or child.start))

    def look(self) -> None:
        """Raises: Unavailable, with the end of its log: a program ended more often than is put up with."""
        now = time.monotonic()
        if now - self._rotated > ROTATE_EVERY:
            self._rotated = now
            for program in self._programs:
                program.child.rotate_log()
        for program in self._programs:
            if program.again_at is not None:
                if now >= program.again_at:
                    program.again_at = None
                    program.start()
            elif (code := program.child.poll()) is not None:
                self._ended(program, code, now)

    def _ended(self, program: _Watched, code: int, now: float) -> None:
        while program.ends and now - program.ends[0] > WINDOW:
            program.ends.popleft()
        told = f"{program.child.name} ended by itself (exit code {code})"
        if len(program.ends) == len(PAUSES):
            raise Unavailable(f"{told}, {len(PAUSES) + 1} times within {WINDOW:g} s. {program.child.last_words()}")
        pause = PAUSES[len(program.ends)]
        program.ends.append(now)
        program.again_at = now + pause
        self._on_trouble(f"{told}; starting it again{f' in {pause:g} s' if pause else ''}")
