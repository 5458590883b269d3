"""Tables that follow a folder of exports."""

from __future__ import annotations

import threading
from pathlib import Path

import torch

from gradstream.errors import Invalid
from gradstream.serving.export import ExportSnapshot
from gradstream.serving.folder import chain_until, numbers_in, read_manifest


class Tables:
    """The newest export of a folder. Any number of threads may read while another one follows."""

    def __init__(self, folder: str | Path) -> None:
        """Read the newest export. Raises: Invalid: there is none, or a file of it is missing or damaged."""
        self._folder, self._lock = Path(folder), threading.Lock()
        self._current: ExportSnapshot | None = None
        if not self.follow():
            raise Invalid(f"{folder} has no export yet; `gradstream exports JOB --into {folder}` downloads them")

    @property
    def current(self) -> ExportSnapshot:
        """The newest export that was read. Take it once for each request, and all that you read is of one place in the log."""
        assert self._current is not None, "the constructor has read one"
        return self._current

    def follow(self) -> bool:
        """Read the exports that have come since, and return whether there were any.

        `current` changes once all of them are read. Raises: Invalid: a file is missing or damaged; `current` stays as it was."""
        with self._lock:
            there, now = numbers_in(self._folder), self._current
            if not there or (now and there[-1] <= now.number):
                return False
            newest = read_manifest(self._folder, there[-1])
            chain = chain_until(self._folder, newest, now.manifest if now else None)
            self._current = ExportSnapshot.read(self._folder, chain, now)
            return True

    def look_up(self, table: str, ids: torch.Tensor) -> torch.Tensor:
        """As `ExportSnapshot.look_up`, of `current`."""
        return self.current.look_up(table, ids)

    def state_dict(self) -> dict[str, torch.Tensor]:
        """As `ExportSnapshot.state_dict`, of `current`."""
        return self.current.state_dict()
