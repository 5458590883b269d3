"""Looking for the files that users name."""

from __future__ import annotations

import os
from pathlib import Path

from gradstream.errors import InvalidWorkload


def existing(path: str | Path) -> Path:
    """The path as it was given, if a readable file lies there. Raises: InvalidWorkload, with what lies beside it."""
    found = Path(path)
    if found.is_file():
        if not os.access(found, os.R_OK):
            raise InvalidWorkload(f"{found} may not be read by this account; change its permissions")
        return found
    if found.is_dir():
        raise InvalidWorkload(f"{found} is a folder; name a file in it")
    beside = next((other for other in (f"{found}.gz", str(found).removesuffix(".gz")) if Path(other).is_file()), None)
    if beside:
        raise InvalidWorkload(f"there is no file {found}; there is {beside}: name that")
    hint = f"it must be readable under this path on every node that runs a worker{own_place(found)}"
    raise InvalidWorkload(f"there is no file {found}; {hint}")


def own_place(path: str | Path) -> str:
    """Return the end of a sentence about a missing path: why it may be missing for a job alone. Empty: it has no such reason."""
    places = (place for place in ("/tmp", "/var/tmp", "/run") if Path(path).is_relative_to(place))
    return next((f". An isolated job has a {place} of its own; put the data elsewhere" for place in places), "")
