"""Media that a workload logs in `run --local`: written into a folder, which is made when the first item comes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from gradstream.user_logging.files import MEDIA_FOLDER, write_item
from gradstream.user_logging.items import LoggedItem
from gradstream.user_logging.media import LoggedMedia


class LocalMedia:
    def __init__(self, make_folder: Callable[[], Path]) -> None:
        self._make_folder = make_folder
        self._place: Path | None = None
        self.folder: Path | None = None
        """None: nothing was logged yet."""

    @property
    def run_folder(self) -> Path:
        """The folder of this run, in which the media get theirs."""
        self._place = self._place or self._make_folder()
        return self._place.parent

    def write(self, media: LoggedMedia, *, rank: int, step: int, samples: int) -> None:
        """Write what was logged since the last call. `rank`: -1 for evaluations."""
        for pending in media.take():
            content = media.encode(pending)
            if content is not None:
                item = LoggedItem(pending.name, pending.kind, rank, step, samples, step, time.time(), content)
                self.folder = self.run_folder / MEDIA_FOLDER
                write_item(self.folder, item)
