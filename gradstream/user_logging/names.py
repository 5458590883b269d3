"""Names of logged values and media. They stand in URLs, legends and columns beside the platform's own metrics, under `user/`."""

from __future__ import annotations

import re

from gradstream.errors import InvalidWorkload

GROUP = "user/"
"""Before the names of values that workers log."""
EVALUATION = "user/eval/"
"""Before the names of values that are logged while the center is evaluated."""
MAX_NAMES = 200
"""Names of one process. Values under further ones are dropped and counted."""
_LONGEST = 100
_NAME = re.compile(r"[\w.@=+-]+(/[\w.@=+-]+)*", re.ASCII)
_SHOWN = 60


def check_name(name: object, call: str = "log") -> str:
    """Return the name. `call`: the method that got it. Raises: InvalidWorkload."""
    if not isinstance(name, str) or len(name) > _LONGEST or not _NAME.fullmatch(name):
        raise InvalidWorkload(
            f"{call}: the name {repr(name)[:_SHOWN]} must have 1 to {_LONGEST} letters (a-z, A-Z), digits and _ . @ = + -, "
            'in parts with / between them, such as "grad_norm/encoder"'
        )
    for taken in (GROUP, "eval/"):
        if name.startswith(taken):
            raise InvalidWorkload(
                f"{call}: '{name}' begins with '{taken}', which the platform writes before names by itself: '{GROUP}' in training, "
                f"'{EVALUATION}' in evaluation; leave it out"
            )
    return name
