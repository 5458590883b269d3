"""The machine behind a node's name: random, made once, kept in the agent's folder."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

REMOVED_EXIT_CODE = 5
"""Of an agent whose node a user has removed from the platform: to start it again would bring the node back."""


def machine_of(folder: Path) -> str:
    """A restart of the agent of this folder has the same one, an agent of the same name elsewhere another one."""
    path = folder / "machine"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f".machine.{os.getpid()}"
        temporary.write_text(secrets.token_hex(16))
        os.replace(temporary, path)
    return path.read_text().strip()
