"""Trims the stream that a job follows, up to what its last checkpoint needs: `python trim.py JOB FILE`. Ends with Ctrl-C.

FILE holds the URL of the Redis. Its account needs +xtrim there."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from gradstream import Client, data


def trim(client: Client, job: str, stream: data.RedisStream) -> int:
    """Return how many entries were removed."""
    committed = client.events(job, kinds=["checkpoint"])
    return stream.trim(stream.start + committed[-1].data["first_needed"]) if committed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job")
    parser.add_argument("url_file", type=Path)
    parser.add_argument("--every", type=float, default=60, help="seconds")
    given = parser.parse_args()
    followed = data.redis_stream(given.url_file.read_text().strip(), "clicks", ["click"])
    while True:
        print(f"{trim(Client(), given.job, followed):,} entries trimmed")
        time.sleep(given.every)
