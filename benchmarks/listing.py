"""What a page of a long list costs: `python -m benchmarks.listing`.

A platform of its own with ten thousand jobs, inserted as rows. For each order: the first page, a page from the middle and one from
the end, over HTTP, each against reading all pages, which is what a list without pages would have to do. Asked in turn, so that a
machine that drifts does not matter.
"""

from __future__ import annotations

import argparse
import json
import socket
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import text
from sqlalchemy.orm import Session

from backend.jobs.lists.schemas import JobSort
from benchmarks import common
from benchmarks.rows import engine_of, insert_jobs
from gradstream.client import Credentials
from gradstream.local.platform import LocalPlatform, Options

LIMIT = 100
WANTED_MS = 200.0
"""For a page of a hundred jobs."""

Query = dict[str, str | int | bool]


def pages(api: httpx.Client, query: Query) -> tuple[list[str | None], float, int]:
    """The cursors of all pages, the seconds that reading them took, and the bytes of one."""
    cursors: list[str | None] = [None]
    began, nbytes = time.perf_counter(), 0
    while True:
        answer = _get(api, query, cursors[-1])
        nbytes = nbytes or len(answer.content)
        following = answer.json()["next_cursor"]
        if following is None:
            return cursors, time.perf_counter() - began, nbytes
        cursors.append(following)


def _get(api: httpx.Client, query: Query, cursor: str | None) -> httpx.Response:
    answer = api.get("/jobs", params={**query, **({"cursor": cursor} if cursor else {})})
    answer.raise_for_status()
    return answer


def measure(api: httpx.Client, name: str, query: Query, rounds: int) -> dict[str, Any]:
    cursors, whole, nbytes = pages(api, query)
    places = {"first": cursors[0], "middle": cursors[len(cursors) // 2], "last": cursors[-1]}
    seconds: dict[str, list[float]] = {place: [] for place in places}
    for _ in range(rounds):
        for place, cursor in places.items():
            began = time.perf_counter()
            _get(api, query, cursor)
            seconds[place].append(time.perf_counter() - began)
    found: dict[str, Any] = {place: common.spread(taken, 1000) for place, taken in seconds.items()}
    slowest = max(found[place]["median"] for place in places)
    return {
        "order": name,
        "pages": len(cursors),
        "ms": found,
        "all_ms": 1000 * whole,
        "page_bytes": nbytes,
        "all_over_page": 1000 * whole / slowest,
        "good": slowest < WANTED_MS,
    }


def orders(most: int | None) -> dict[str, Query]:
    """Every column both ways, and a filter that few jobs pass."""
    every: dict[str, Query] = {
        f"{sort} {'down' if descending else 'up'}": {"sort": str(sort), "descending": descending, "limit": LIMIT}
        for sort in JobSort
        for descending in (True, False)
    }
    every["created down, name has digits-sync-0"] = {"q": "digits-sync-0", "limit": LIMIT}
    return dict(list(every.items())[:most])


def run(jobs: int, rounds: int, most: int | None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, LocalPlatform(Options(Path(folder), port=_free_port(), slots=1)) as platform:
        engine = engine_of(platform.folder)
        with Session(engine) as session, session.begin():
            insert_jobs(session, jobs, owners=("ada", "bob"))
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("ANALYZE jobs"))
        engine.dispose()
        credentials = Credentials.load(platform.folder.client_file)
        assert credentials, "the platform left no credentials"
        headers = {"Authorization": f"Bearer {credentials.token}"}
        with httpx.Client(base_url=f"{platform.url}/api/v1", headers=headers, trust_env=False, timeout=60) as api:
            rows = [measure(api, name, query, rounds) for name, query in orders(most).items()]
    return {**common.about(jobs=jobs, limit=LIMIT, rounds=rounds), "wanted_ms": WANTED_MS, "rows": rows}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def document(result: dict[str, Any]) -> list[str]:
    settings = result["settings"]
    header = ("order", "first page, ms", "middle, ms", "last, ms", "all pages, ms", "all over a page", "kB", "")
    lines = [
        (
            row["order"],
            *(common.said(row["ms"][place], 1) for place in ("first", "middle", "last")),
            f"{row['all_ms']:,.0f}",
            f"{row['all_over_page']:.0f}",
            f"{row['page_bytes'] / 1000:.0f}",
            "" if row["good"] else "SLOW",
        )
        for row in result["rows"]
    ]
    said = f"{settings['jobs']:,} jobs, pages of {settings['limit']}; wanted: a page in less than {result['wanted_ms']:.0f} ms."
    return ["# Lists of jobs", "", *common.head(result), said, "", *common.table(header, lines)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=15, help="times that each page is asked for")
    parser.add_argument("--orders", type=int, help="measure only the first so many orders")
    parser.add_argument("--json", action="store_true", help="one object on stdout")
    options = parser.parse_args()
    result = run(options.jobs, options.rounds, options.orders)
    print(json.dumps(result) if options.json else "\n".join(document(result)))
    return 0 if all(row["good"] for row in result["rows"]) else 1


if __name__ == "__main__":
    raise SystemExit(common.interruptible(main))
