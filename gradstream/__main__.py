"""`python -m gradstream`: the command line, for where its script is not on PATH."""

from __future__ import annotations

from gradstream.cli.main import app

if __name__ == "__main__":
    app(prog_name="gradstream")
