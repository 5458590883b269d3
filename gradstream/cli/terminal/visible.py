"""Control characters in what others wrote: shown at a terminal, never obeyed by it."""

from __future__ import annotations

import re

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters of ASCII and Latin-1, and those of Unicode that turn the direction of a line. Tabs and ends of lines stay."""
_COLOUR = re.compile("(\x1b\\[[0-9;]*m)")
_REVEALED, _PLAIN = "\x1b[28m", "\x1b[m"
"""No letter is concealed; letters look as they did at first."""


def make_visible(text: str) -> str:
    """With `^[` for an escape, as `cat -v` shows it."""
    return _CONTROLS.sub(_name, text)


def escape_in_json(text: str) -> str:
    """The same JSON value, without control characters: `json.dumps` escapes those of ASCII only."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def make_visible_but_colours(line: str) -> str:
    """Colours of a line stay, and end with it."""
    pieces = _COLOUR.split(line)
    if len(pieces) == 1:
        return make_visible(line)
    return "".join(piece + _REVEALED if at % 2 else make_visible(piece) for at, piece in enumerate(pieces)) + _PLAIN


def _name(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"^{chr(code ^ 0x40)}" if code < 0x80 else f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
