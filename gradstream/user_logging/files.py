"""A folder of logged media: a file for each item, and `media.jsonl` with a line about each."""

from __future__ import annotations

import json
from pathlib import Path

from gradstream.user_logging.items import LoggedItem, file_name, media_source

MEDIA_FOLDER, MEDIA_LIST = "media", "media.jsonl"


def write_item(folder: Path, item: LoggedItem) -> Path:
    """Write an item, and return its file. It replaces one of the same name, process and step."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file_name(item.name, item.rank, item.step, item.kind)
    path.write_bytes(item.content)
    about = {
        "name": item.name,
        "kind": item.kind,
        "process": media_source(item.rank),
        "step": item.step,
        "samples": item.samples,
        "version": item.version,
        "time": item.time,
        "file": path.name,
    }
    with (folder / MEDIA_LIST).open("a") as lines:
        lines.write(json.dumps(about) + "\n")
    return path
