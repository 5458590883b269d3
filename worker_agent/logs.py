"""The output of one process, on its way from its file to the control plane."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CHUNK = 256 * 1024
"""Bytes in one request."""


@dataclass(slots=True)
class Tail:
    """Reads `path` from `offset` on. The offset moves only when the control plane has stored what came before it."""

    path: Path
    offset: int = 0
    unwanted: bool = False
    """The control plane takes no more of it."""

    @property
    def complete(self) -> bool:
        """Everything written so far is stored."""
        return self.unwanted or self.offset >= self._size()

    def next(self, *, ended: bool) -> tuple[str, int] | None:
        """The next text and the number of bytes that it stands for, or None.

        A character whose bytes are not all written yet waits for them, unless the process has `ended`."""
        if self.complete:
            return None
        with self.path.open("rb") as file:
            file.seek(self.offset)
            block = file.read(CHUNK)
        if not (ended and len(block) < CHUNK):
            block = block[: len(block) - _unfinished(block)]
        # a zero byte is legal in UTF-8 but not in the database's text
        return (block.decode("utf-8", "replace").replace("\0", "\ufffd"), len(block)) if block else None

    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0


def _unfinished(block: bytes) -> int:
    """How many of the last bytes begin a UTF-8 character that does not end in `block`."""
    for back in range(1, min(4, len(block)) + 1):
        byte = block[-back]
        if byte & 0b1100_0000 == 0b1000_0000:
            continue  # inside a character
        wanted = 4 if byte >= 0b1111_0000 else 3 if byte >= 0b1110_0000 else 2 if byte >= 0b1100_0000 else 1
        return back if back < wanted else 0
    return 0
