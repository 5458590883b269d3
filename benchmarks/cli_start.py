"""What a command costs before it does anything: `python -m benchmarks.cli_start`.

Prints the median seconds of `gradstream --version` and `gradstream --help` and their ratio to an empty Python, in turn."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "gradstream --version": [sys.executable, "-m", "gradstream.cli.main", "--version"],
    "gradstream --help": [sys.executable, "-m", "gradstream.cli.main", "--help"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(rounds):
        for name, command in COMMANDS.items():
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, timeout=60)
            seconds[name].append(time.perf_counter() - began)
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    for name, median in medians.items():
        print(f"{name:22} {median:6.3f} s  {median / medians['python -c pass']:5.1f} x")


if __name__ == "__main__":
    main()
