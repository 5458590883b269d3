"""`python -m tests.headlines --jobs 30`: recompute the headline numbers of so many jobs, of all kinds."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.headlines.check import run
from tests.headlines.kinds import kinds
from tests.platforms import lab


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.headlines", description=__doc__)
    parser.add_argument("--jobs", type=int, default=30, help="how many; there are 30 kinds")
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, lab(Path(folder) / "lab", slots=8) as platform:
        Path(folder).chmod(0o777)  # a job with an account of its own leaves a file here
        for kind in kinds(parser.parse_args().jobs):
            found = run(platform, kind, Path(folder))
            wrong += bool(found)
            sys.stdout.write(f"{kind['name']}: {'; '.join(found) or 'all numbers are true'}\n")
            sys.stdout.flush()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
