"""Media that a workload logs in `run --local`: written into a folder, which is made when the first item comes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from gradstream.user_logging.files import write_item
from gradstream.user_logging.items import LoggedItem
from gradstream.user_logging.media import LoggedMedia


class LocalMedia:
    def __init__(self, make_folder: Callable[[], Path]) -> None:
        self._make_folder = make_folder
        self.folder: Path | None = None
        """None: nothing was logged yet."""

    def write(self, media: LoggedMedia, *, rank: int, step: int, samples: int) -> None:
        """Write what was logged since the last call. `rank`: -1 for evaluations."""
        for pending in media.take():
            content = media.encode(pending)
            if content is not None:
                self.folder = self.folder or self._make_folder()
                item = LoggedItem(pending.name, pending.kind, rank, step, samples, step, time.time(), content)
                write_item(self.folder, item)
