"""How fast the page is: `python -m benchmarks.page`.

A real Chromium, without a GPU, on a platform of its own: database, Redis, API, a process that stores as the controller does, and
a job of eight workers that report fifty metrics four times a second, as processes of a job do. Its parts, of which `--only`
selects some:

    a  from a value that a worker reports to the pixel        d  the scripts that travel for the page of a job
    b  fifty charts at four changes a second                  e  what twenty pages cost the server that follow one job
    c  opening the charts of a job, with nothing cached       f  the list of ten thousand jobs, opened and scrolled
    g  fifty runs compared by six metrics                     h  the queue with two thousand jobs
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from benchmarks import common
from benchmarks.page import compare, frames, latency, loading, rows, streams
from benchmarks.page.browser import Chromium, chromium
from benchmarks.page.stage import Stage, stage

Found = dict[str, Any]

MARKDOWN: dict[str, Callable[[Found], list[str]]] = {
    "a": latency.markdown,
    "b": frames.markdown,
    "c": loading.paint_markdown,
    "d": loading.scripts_markdown,
    "e": streams.markdown,
    "f": rows.markdown,
    "g": compare.markdown,
    "h": compare.queue_markdown,
}


def measure(part: str, at: Stage, browser: Chromium, options: argparse.Namespace) -> Found:
    match part:
        case "a":
            return latency.measure(at, browser, options.events)
        case "b":
            return frames.measure(at, browser, options.seconds / 2)
        case "c":
            return loading.measure_paint(at, browser, options.rounds)
        case "d":
            return loading.measure_scripts(at, browser)
        case "e":
            return streams.measure(at, options.seconds / 2)
        case "g":
            return compare.measure(at, browser, options.rounds)
        case "h":
            return compare.measure_queue(at, browser, options.waiting, options.rounds)
        case _:
            return rows.measure(at, browser, options.jobs, options.rounds, options.seconds / 4)


def run(options: argparse.Namespace) -> dict[str, Any]:
    with stage() as at, chromium(at) as browser:
        settings = {name: value for name, value in vars(options).items() if name != "json"}
        about = common.about(**settings, chromium=browser.browser.version)
        return {**about, "parts": {part: measure(part, at, browser, options) for part in options.only}}


def document(result: dict[str, Any]) -> list[str]:
    lines = ["# The page", "", *common.head(result), f"Chromium {result['settings']['chromium']}, no GPU.", ""]
    for part, found in result["parts"].items():
        lines += [*MARKDOWN[part](found), ""]
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=_parts, default=sorted(MARKDOWN), help="parts, as in a,b; all without it")
    parser.add_argument("--events", type=int, default=40, help="values whose way is followed (a)")
    parser.add_argument("--seconds", type=float, default=20.0, help="of watching: each way (b); half of it (e), a quarter (f)")
    parser.add_argument("--rounds", type=int, default=5, help="times that a page is opened (c, f, g, h)")
    parser.add_argument("--jobs", type=int, default=10_000, help="in the list (f)")
    parser.add_argument("--waiting", type=int, default=2_000, help="jobs in the queue (h)")
    parser.add_argument("--json", action="store_true", help="one object on stdout")
    options = parser.parse_args()
    result = run(options)
    print(json.dumps(result) if options.json else "\n".join(document(result)))
    return 0 if all(found["good"] for found in result["parts"].values()) else 1


def _parts(text: str) -> list[str]:
    parts = text.split(",")
    if unknown := sorted(set(parts) - MARKDOWN.keys()):
        raise argparse.ArgumentTypeError(f"there is no part {', '.join(unknown)}; the parts are {', '.join(MARKDOWN)}")
    return parts


if __name__ == "__main__":
    raise SystemExit(common.interruptible(main))
