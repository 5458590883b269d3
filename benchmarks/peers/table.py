"""What was measured, as one object for `--json` and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.peers.meter import Measured, median_of

FIELDS = (
    "samples_per_second",
    "cpu_seconds_per_1000_samples",
    "cores_busy",
    "peak_pss_mb",
    "peak_rss_mb",
    "loopback_bytes_per_step",
    "others_cores",
    "start_seconds",
    "first_loss",
    "loss",
)
RPC_AND_RAY = ("rpc", "rpc-batch", "ray", "ray-sync")
ITEMS = ("mlp", "cnn", "wide")


@dataclass
class Cell:
    """A system on an item: its launches by round, or why there are none."""

    launches: dict[int, Measured] = field(default_factory=dict)
    absent: str = ""

    @property
    def counted(self) -> dict[int, Measured]:
        """The quiet ones; all, if none was."""
        return {n: launch for n, launch in self.launches.items() if launch.quiet} or self.launches

    def median(self, what: str = "samples_per_second") -> float:
        return median_of(self.counted.values(), what)[0]


Cells = Mapping[str, Mapping[str, Cell]]
"""By item, then by system."""


@dataclass(frozen=True)
class Goal:
    """A ratio that is wanted: of `ours` to the best of `peers`."""

    work: str
    ours: str
    against: str
    peers: Sequence[str]
    wanted: Mapping[str, float]
    what: str = "samples_per_second"
    at_most: bool = False
    """Of memory, where the best is the least."""


ONE, P0 = "async, window 1, pipeline 1", "async, window 1, pipeline 0"
GOALS = (
    Goal(ONE, "gradstream-async", "best of RPC and Ray", RPC_AND_RAY, dict(zip(ITEMS, (2.0, 1.05, 1.6), strict=True))),
    Goal(ONE, "gradstream-async", "Hogwild", ["hogwild"], dict(zip(ITEMS, (0.88, 1.0, 0.9), strict=True)) | {"clicks": 1.05}),
    Goal(ONE, "gradstream-async", "torch, one process", ["single"], {"clicks": 1.8}),
    Goal(P0, "gradstream-async-p0", "Hogwild", ["hogwild"], dict(zip(ITEMS, (0.75, 1.0, 0.85), strict=True))),
    Goal("sync, window 1", "gradstream-sync", "DDP over gloo", ["ddp"], dict(zip(ITEMS, (1.5, 1.05, 1.4), strict=True))),
    Goal("sync, no servers", "gradstream-serverless", "DDP over gloo", ["ddp"], dict(zip(ITEMS, (1.8, 1.25, 1.9), strict=True))),
    Goal("sync, no servers", "gradstream-serverless", "Hogwild", ["hogwild"], dict(zip(ITEMS, (0.78, 1.0, 1.0), strict=True))),
    Goal(
        "sync, no servers: peak memory",
        "gradstream-serverless",
        "sync with a server",
        ["gradstream-sync"],
        {"wide": 0.7},
        "peak_pss_mb",
        at_most=True,
    ),
    Goal("adag, window 12", "gradstream-adag12", "Hogwild", ["hogwild"], dict.fromkeys(ITEMS, 1.0)),
    Goal("adag, window 12, two threads", "gradstream-adag12-threads", "Hogwild", ["hogwild"], dict.fromkeys(ITEMS, 0.95)),
    Goal(
        "adag, two threads: peak memory",
        "gradstream-adag12-threads",
        "Hogwild",
        ["hogwild"],
        {"mlp": 0.7},
        "peak_pss_mb",
        at_most=True,
    ),
    Goal(
        "diloco, one group of two",
        "gradstream-diloco-group",
        "sync, no servers",
        ["gradstream-serverless"],
        dict.fromkeys(ITEMS, 0.95),
    ),
    Goal("inline bf16, async", "gradstream-async-bf16", "torch RPC", ["rpc"], {"wide": 1.3}),
    Goal("peak memory (PSS)", "gradstream-async", "Ray", ["ray"], {"mlp": 0.5}, "peak_pss_mb", at_most=True),
    Goal(
        "the same (RSS: shared pages count for each process)",
        "gradstream-async",
        "Ray",
        ["ray"],
        {"mlp": 0.5},
        "peak_rss_mb",
        at_most=True,
    ),
)


@dataclass(frozen=True)
class Ratio:
    """What a goal came to on an item."""

    work: str
    item: str
    against: str
    wanted: float
    at_most: bool
    got: float | None = None
    """Of medians. None: one of the two is missing."""
    least: float | None = None
    most: float | None = None
    """Over the rounds, each with the launches of that round alone."""
    missing: str = ""

    @property
    def reached(self) -> bool:
        return self.got is not None and (self.got <= self.wanted if self.at_most else self.got >= self.wanted)


def ratios(cells: Cells, goals: Iterable[Goal] = GOALS) -> list[Ratio]:
    return [_ratio(goal, item, cells[item]) for goal in goals for item in goal.wanted if item in cells]


def _ratio(goal: Goal, item: str, row: Mapping[str, Cell]) -> Ratio:
    made = Ratio(goal.work, item, goal.against, goal.wanted[item], goal.at_most)
    ours, peers = row.get(goal.ours), [name for name in goal.peers if name in row and row[name].launches]
    if ours is None or not ours.launches or not peers:
        missing = goal.ours if ours is None or not ours.launches else " and ".join(goal.peers)
        return Ratio(**{**asdict(made), "missing": f"{missing} was not measured"})
    choose: Callable[..., str] = min if goal.at_most else max
    best = choose(peers, key=lambda name: row[name].median(goal.what))
    rounds = sorted(
        getattr(ours.counted[n], goal.what) / getattr(row[best].counted[n], goal.what)
        for n in ours.counted.keys() & row[best].counted.keys()
    )
    against = best if len(goal.peers) > 1 else goal.against
    least, most = (rounds[0], rounds[-1]) if rounds else (None, None)
    got = ours.median(goal.what) / row[best].median(goal.what)
    return Ratio(**{**asdict(made), "against": against, "got": got, "least": least, "most": most})


def as_object(cells: Cells, about: Mapping[str, Any]) -> dict[str, Any]:
    """`items.<item>.<system>.samples_per_second` is a median, `..._least` and `..._most` stand beside it."""
    items = {item: {name: _cell(cell) for name, cell in row.items()} for item, row in cells.items()}
    found = [{**asdict(ratio), "reached": ratio.reached} for ratio in ratios(cells)]
    return {**about, "items": items, "to_reach": found}


def _cell(cell: Cell) -> dict[str, Any]:
    if not cell.launches:
        return {"absent": cell.absent}
    made: dict[str, Any] = {}
    for what in FIELDS:
        made[what], made[f"{what}_least"], made[f"{what}_most"] = median_of(cell.counted.values(), what)
    quiet = all(each.quiet for each in cell.counted.values())
    made |= {"launches": len(cell.launches), "counted": len(cell.counted), "quiet": quiet}
    made |= list(cell.counted.values())[-1].more  # the newest one's books, but if they close, those of all
    closes = [each.more["ledger_closes"] for each in cell.launches.values() if "ledger_closes" in each.more]
    if closes:
        made["ledger_closes"] = all(closes)
    if cell.absent:
        made["failed"] = cell.absent
    return made


def markdown(cells: Cells, about: Mapping[str, Any]) -> str:
    machine, settings, versions = about["machine"], about["settings"], about["versions"]
    lines = [
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['system']}; {about['date']}",
        "",
        ", ".join(f"{name} {version}" for name, version in versions.items()),
        "",
        f"{settings['rounds']} rounds, 2 workers with one thread each, a window of {settings['window']:g} s that begins "
        f"{settings['settle']:g} s after the last worker's first step. Median (least-most) of the launches in which others used at "
        "most 0.15 cores; * where there was no such launch.",
    ]
    for item, row in cells.items():
        lines += ["", f"### {item}", "", *_rows(row)]
    lines += ["", "### To reach", "", *_goals(ratios(cells))]
    return "\n".join(lines) + "\n"


def _rows(row: Mapping[str, Cell]) -> list[str]:
    header = [
        "system",
        "samples/s",
        "x single",
        "CPU s / 1,000",
        "cores",
        "peak PSS / RSS MB",
        "lo kB / step",
        "staleness",
        "ledger",
        "loss, first and last",
        "launches",
    ]
    base = row.get("single")
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for name, cell in row.items():
        if not cell.launches:
            why = f"absent: {cell.absent.splitlines()[0]}" if cell.absent else "not run"
            lines.append(f"| {name} | {why} |" + " |" * (len(header) - 2))
            continue
        lines.append(f"| {' | '.join([name, *_values(_cell(cell), base)])} |")
    return lines


def _values(cell: dict[str, Any], base: Cell | None) -> list[str]:
    rate = cell["samples_per_second"]
    least, most = cell["samples_per_second_least"], cell["samples_per_second_most"]
    stale = f"{cell['mean_staleness']:.2f}" if "mean_staleness" in cell else ""
    return [
        f"{rate:,.0f} ({least:,.0f}-{most:,.0f}){'' if cell['quiet'] else ' *'}",
        f"{rate / base.median():.2f}" if base and base.launches else "",
        f"{cell['cpu_seconds_per_1000_samples']:.3f}",
        f"{cell['cores_busy']:.2f}",
        f"{cell['peak_pss_mb']:,.0f} / {cell['peak_rss_mb']:,.0f}",
        f"{cell['loopback_bytes_per_step'] / 1e3:,.1f}",
        stale,
        {None: "", True: "closes", False: "OPEN"}[cell.get("ledger_closes")],
        f"{cell['first_loss']:.2f}, {cell['loss']:.2f}",
        f"{cell['counted']} of {cell['launches']}{', one failed' if 'failed' in cell else ''}",
    ]


def _goals(found: list[Ratio]) -> list[str]:
    lines = ["| work | item | against | wanted | got (least-most) | |", "|---|---|---|---|---|---|"]
    for ratio in found:
        got = ratio.missing
        if ratio.got is not None:
            got = f"{ratio.got:.2f}" + (f" ({ratio.least:.2f}-{ratio.most:.2f})" if ratio.least is not None else "")
        said = "" if ratio.got is None else "reached" if ratio.reached else "short"
        wanted = f"{'<=' if ratio.at_most else '>='} {ratio.wanted:g}"
        lines.append(f"| {ratio.work} | {ratio.item} | {ratio.against} | {wanted} | {got} | {said} |")
    return lines
