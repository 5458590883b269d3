"""The program `gradstream`, also as `python -m gradstream` where its script is not on PATH."""

from __future__ import annotations

import sys

_INTERRUPTED = 130


def main() -> None:
    """Run the command line. Ctrl-C ends it without a traceback, also while it is still importing."""
    try:
        from gradstream.cli.main import app

        app(prog_name="gradstream")
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
