"""Become one of the systems: `python -m benchmarks.peers.start <file> <told as JSON>`."""

from __future__ import annotations

import importlib
import json
import sys

from benchmarks.peers.system import Told


def main(name: str, given: str) -> None:
    told = Told(**json.loads(given))
    try:
        module = importlib.import_module(f"benchmarks.peers.{name}")
    except ImportError as error:
        told.absent(f"{error}; `--install` makes the environments of the peers that need one")
    module.main(told)


if __name__ == "__main__":
    main(*sys.argv[1:])
