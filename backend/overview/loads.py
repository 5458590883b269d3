"""From what is remembered of each process to what is shown of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from backend.overview.schemas import Account, Best, ServerLoad, Speed, WorkerLoad
from backend.overview.standing import Standing, Standings
from gradstream.exchange import ShardLoad
from gradstream.metrics import CATALOGUE
from gradstream.spec import JobSpec

_WORKER = "worker-"
_FATES = ("applied", "buffered", "dropped", "pending")
_LOWER = ("loss", "error", "perplexity")


def workers(found: Standings) -> list[WorkerLoad]:
    """By rank."""
    clocks = {rank: account["pushed"] for rank, account in found.ledger.items() if "pushed" in account}
    fastest = max(clocks.values(), default=0)
    ranked = {int(label.removeprefix(_WORKER)): one for label, one in found.processes.items() if label.startswith(_WORKER)}
    return [_worker(rank, ranked[rank], clocks.get(rank), fastest) for rank in sorted(ranked)]


def _worker(rank: int, one: Standing, clock: int | None, fastest: int) -> WorkerLoad:
    return WorkerLoad(
        rank=rank, label=f"{_WORKER}{rank}", at=_moment(one.at), clock=clock, behind=None if clock is None else fastest - clock,
        step=one.step, samples_per_second=one.last.get("rate"), pushes=one.pushes, seconds=one.seconds,
        **{part: one.sums.get(part, 0.0) for part in ("compute", "data", "send", "wait")},
        sent_per_second=_per_second(one, "sent"), received_per_second=_per_second(one, "received"),
        cpu=one.last.get("cpu"), memory=_whole(one, "memory"), gpu=one.last.get("gpu"), gpu_memory=_whole(one, "gpu_memory"),
    )  # fmt: skip


def servers(found: Standings, shards: Sequence[ShardLoad]) -> list[ServerLoad]:
    """The shards by rank, then the evaluator."""
    by_label = {f"server-{shard.rank}": shard for shard in shards}
    others = {label: one for label, one in found.processes.items() if not label.startswith(_WORKER)}
    return [
        ServerLoad(
            label=label, at=_moment(one.at), step=one.step, busy=one.last.get("busy"),
            apply=by_label[label].apply if label in by_label else None, queue=_whole(one, "queue"),
            cpu=one.last.get("cpu"), memory=_whole(one, "memory"),
        )
        for label, one in sorted(others.items(), key=_servers_by_rank)
    ]  # fmt: skip


def _servers_by_rank(item: tuple[str, Standing]) -> tuple[bool, int]:
    number = item[0].rpartition("-")[2]
    return not number.isdecimal(), int(number) if number.isdecimal() else 0


def speed(found: Standings, batch_size: int) -> Speed | None:
    """One worker alone is reckoned, not measured: it would need for a mini-batch what computing it and fetching it take now."""
    counted = [
        (batch_size * one.steps / one.seconds, batch_size * one.steps / busy)
        for label, one in found.processes.items()
        if label.startswith(_WORKER) and one.steps and one.seconds and (busy := _spent(one))
    ]
    if not counted:
        return None
    together, alone = sum(rate for rate, _ in counted), sum(rate for _, rate in counted) / len(counted)
    return Speed(samples_per_second=together, one_alone=alone, factor=together / alone, workers=len(counted))


def _spent(one: Standing) -> float:
    """Seconds that a worker alone would need, too."""
    return one.sums.get("compute", 0.0) + one.sums.get("data", 0.0)


def ledger(accounts: Mapping[int, Mapping[str, int]]) -> Account | None:
    """The shards' own count goes back with a cut; what was undone is added to it."""
    if not any(accounts.values()):
        return None
    sums = {fate: sum(account.get(fate, 0) for account in accounts.values()) for fate in ("pushed", *_FATES, "undone")}
    return Account(**{**sums, "pushed": sums["pushed"] + sums["undone"]})


def best(found: Standings, spec: JobSpec, began: datetime | None) -> list[Best]:
    marks = []
    for metric, extremes in sorted(found.evaluations.items()):
        higher = higher_is_better(metric, spec)
        mark = extremes.high if higher else extremes.low
        at = datetime.fromtimestamp(mark.time, UTC)
        after = max(0.0, (at - began).total_seconds()) if began else None
        marks.append(Best(metric=metric, higher_is_better=higher, at=at, after=after, **mark.model_dump(exclude={"time"})))
    return marks


def higher_is_better(metric: str, spec: JobSpec) -> bool:
    """By the job's target, by the catalogue, else by its name."""
    target = spec.stop.target
    if target is not None and target.metric == metric:
        return target.at_least is not None
    if metric in CATALOGUE and CATALOGUE[metric].better != "neither":
        return CATALOGUE[metric].better == "higher"
    return not any(word in metric for word in _LOWER)


def _moment(seconds: float) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def _whole(one: Standing, name: str) -> int | None:
    return int(one.last[name]) if name in one.last else None


def _per_second(one: Standing, name: str) -> float | None:
    return one.sums.get(name, 0.0) / one.seconds if one.seconds else None
