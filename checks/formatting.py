"""Comments that switch the formatter off. Code is written so that the formatter leaves it readable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_SWITCH = re.compile(r"#\s*(?:fmt|yapf):\s*(?:skip|off|disable)\b")


def problems(modules: Mapping[str, str]) -> Iterator[str]:
    """`modules`: the source of each file by its path."""
    for file, source in modules.items():
        for number, line in enumerate(source.splitlines(), 1):
            if _SWITCH.search(line):
                yield f"{file}:{number}: formatter: remove the comment, or shorten the statement until it reads well without it"
