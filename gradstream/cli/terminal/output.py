"""How commands print: data on stdout, talk on stderr, tables for people and JSON for programs."""

from __future__ import annotations

import json
import math
import os
import sys
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from gradstream.cli.terminal.tables import Column as Column
from gradstream.cli.terminal.tables import print_table as print_table
from gradstream.cli.terminal.visible import escape_in_json, make_visible

if TYPE_CHECKING:
    from gradstream.api.progress import Progress
    from gradstream.client import Job

STYLES = {
    "succeeded": "green",
    "ready": "green",
    "running": "cyan",
    "starting": "cyan",
    "stopping": "yellow",
    "queued": "yellow",
    "draining": "yellow",
    "unavailable": "red",
    "failed": "red",
    "lost": "red",
    "timed_out": "red",
    "cancelled": "magenta",
}


@cache
def talking() -> Console:
    return Console(stderr=True, soft_wrap=True, highlight=False, color_system=None if "NO_COLOR" in os.environ else "auto")


def talk(words: str, style: str = "") -> None:
    """Say something to the person at the terminal."""
    talking().print(Text(make_visible(words), style))


def print_text(text: str) -> None:
    """Print a text that others wrote: a file gets every byte, a terminal no commands of others."""
    print(make_visible(text) if sys.stdout.isatty() else text, end="" if text.endswith("\n") else "\n")


def print_json(data: Any) -> None:
    """One JSON value on one line. Values that are not finite become null, as JSON has no word for them. A terminal finds no control
    characters in it: they are escaped."""
    print(escape_in_json(json.dumps(_finite(data), ensure_ascii=False, allow_nan=False)), flush=True)


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def status(word: str) -> Text:
    return Text(word, STYLES.get(word, ""))


def ago(moment: datetime) -> str:
    seconds = max(0.0, (datetime.now(UTC) - moment).total_seconds())
    return f"{duration(seconds)} ago"


def duration(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def number(value: float | None) -> str:
    """Short for a person: 12,345 or 0.0123."""
    if value is None or not math.isfinite(value):
        return "" if value is None else str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"


def score(value: float | None) -> str:
    """A metric of an evaluation: one that has no finite value is named, too."""
    return "nan" if value is None else number(value)


def size(count: int) -> str:
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


def time_left(now: Progress) -> str:
    """`3 to 5 min left`; `about 4 min left` where both bounds round to the same, or are not known yet."""
    if now.seconds_left_low is None or now.seconds_left_high is None:
        return f"about {duration(now.seconds_left or 0)} left"
    low, high = duration(now.seconds_left_low), duration(now.seconds_left_high)
    if low == high:
        return f"about {duration(now.seconds_left or 0)} left"
    same_unit = low.split()[1] == high.split()[1]
    return f"{low.split()[0] if same_unit else low} to {high} left"


def progress_line(job: Job) -> str:
    """`12,345/90,000 samples  5,120/s  loss 0.31  eval/accuracy 0.94  staleness 1.2  about 3 min left`

    Evaluation metrics have their whole names: user code may call one `staleness` or `train/loss`."""
    now = job.progress
    total = f"/{now.total_samples:,}" if now.total_samples else ""
    parts = [f"{now.samples:,}{total} samples"]
    rate = now.mean_samples_per_second if job.ended else now.samples_per_second
    parts += [f"{number(rate)}/s"] if rate else []
    parts += ["loss NaN"] if now.not_finite else [f"loss {number(now.loss)}"] if now.loss is not None else []
    parts += [f"eval/{name} {score(value)}" for name, value in sorted(now.eval.items()) if name != "loss"]
    parts += [f"staleness {number(now.mean_staleness)}"] if now.mean_staleness is not None else []
    parts += [time_left(now)] if job.status == "running" and now.seconds_left else []
    return "  ".join(parts)
