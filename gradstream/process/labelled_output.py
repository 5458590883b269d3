"""Lines that say which process they come from, where several write into one log."""

from __future__ import annotations

import logging
import sys
from typing import Any, TextIO


class LabelledOutput:
    """A text stream whose lines begin with a label. Text that is written past it, from C or by its descriptor, has none."""

    def __init__(self, stream: TextIO, label: str) -> None:
        self._stream, self._label = stream, label
        self._begins = True
        """The next character begins a line."""

    def write(self, text: str) -> int:
        if text:
            end = "\n" if text.endswith("\n") else ""
            lines = text.removesuffix("\n").replace("\n", f"\n{self._label}")
            self._stream.write((self._label if self._begins else "") + lines + end)
            self._begins = bool(end)
        return len(text)

    def writelines(self, lines: Any) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def label_output(label: str) -> None:
    """Let everything that Python code of this process prints or logs begin its lines with `label`."""
    sys.stdout, sys.stderr = LabelledOutput(sys.stdout, label), LabelledOutput(sys.stderr, label)
    for handler in logging.getLogger().handlers:
        if type(handler) is logging.StreamHandler:
            handler.setStream(sys.stderr)
