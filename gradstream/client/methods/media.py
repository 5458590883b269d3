"""Media of a job: the images, figures, tables, texts and histograms that its user code has logged."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from gradstream.api.media import JobMedia, MediaItem, StoredHistograms
from gradstream.client.connection import ApiConnection, JobReference
from gradstream.errors import NotFound
from gradstream.user_logging.files import MEDIA_LIST, write_item
from gradstream.user_logging.items import LoggedItem, MediaKind


class MediaReading(ApiConnection):
    """The methods of `Client` about logged media."""

    def media(self, job: JobReference) -> JobMedia:
        """Return the names of what the user code of a job has logged beside numbers, with their kinds and counts."""
        return JobMedia.model_validate(self._transport.json("GET", f"jobs/{self._id(job)}/media"))

    def media_items(
        self, job: JobReference, name: str | None = None, *, kind: MediaKind | None = None, rank: int | None = None
    ) -> Iterator[MediaItem]:
        """Yield items in the order of their arrival: of this name, kind and worker (-1: the evaluator). Raises: NotFound: the job
        has no media of this name."""
        id = self._id(job)
        if name is not None and name not in (known := [each.name for each in self.media(id).items]):
            close = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean '{close[0]}'?" if close else f"it has {', '.join(known) or 'none yet'}"
            raise NotFound(f"the job has no media '{name}'; {hint}")
        asked = {"name": name, "kind": kind, "rank": rank, "limit": 500}
        params: dict[str, Any] = {key: value for key, value in asked.items() if value is not None}
        after: int | None = 0
        while after is not None:
            page = self._transport.json("GET", f"jobs/{id}/media/items", params={**params, "after": after})
            yield from (MediaItem.model_validate(item) for item in page["items"])
            after = page["next"]

    def media_content(self, job: JobReference, item: MediaItem | int) -> bytes:
        """Return the content of an item: a PNG file, UTF-8 text, or the JSON of a table or a histogram. `item`: or its `seq`."""
        seq = item if isinstance(item, int) else item.seq
        return b"".join(self._transport.bytes(f"jobs/{self._id(job)}/media/items/{seq}"))

    def histograms(self, job: JobReference, name: str, *, rank: int | None = None, most: int = 200) -> StoredHistograms:
        """Return histograms of one name with their counts, by step: at most `most`, evenly chosen."""
        params = {"name": name, "most": most} | ({} if rank is None else {"rank": rank})
        return StoredHistograms.model_validate(self._transport.json("GET", f"jobs/{self._id(job)}/media/histograms", params=params))

    def download_media(
        self,
        job: JobReference,
        name: str | None = None,
        *,
        into: Path | str,
        kind: MediaKind | None = None,
        rank: int | None = None,
    ) -> list[Path]:
        """Write media into a folder: a file for each item, and `media.jsonl` with a line about each. Return the files."""
        id, folder = self._id(job), Path(into)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MEDIA_LIST).unlink(missing_ok=True)
        paths = list[Path]()
        for item in self.media_items(id, name, kind=kind, rank=rank):
            place = item.step, item.samples, item.version, item.time.timestamp()
            known = cast(MediaKind, item.kind)
            paths.append(write_item(folder, LoggedItem(item.name, known, item.rank, *place, self.media_content(id, item))))
        return paths
