"""From process summaries to the rows of the overview. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from backend.overview.schemas import BestMetric, PushOutcomes, ServerLoad, WorkerLoad
from backend.progress.attempt_span import AttemptSpan
from gradstream.api.progress import PeerLoad
from gradstream.metrics import CATALOGUE, REASONS
from gradstream.progress.exchange import ShardLoad
from gradstream.progress.process_summary import ProcessSummaries, ProcessSummary
from gradstream.spec import JobSpec

_WORKER, _PEERS = "worker-", "peers-"
_OUTCOMES = ("applied", "deferred", "dropped", "pending")
_REASONS = tuple(metric.name.removeprefix("ledger/") for metric in REASONS)
_LOWER = ("loss", "error", "perplexity")


def workers(
    found: ProcessSummaries,
    axis: AttemptSpan,
    slow: Mapping[int, float],
    recovering: Mapping[int, float],
    nodes: Mapping[str, str] = {},
) -> list[WorkerLoad]:
    """By rank. `recovering`: seconds for which a worker had no process, by rank. `nodes`: see `_peers`."""
    clocks = {rank: account["pushed"] for rank, account in found.ledger.items() if "pushed" in account}
    fastest = max(clocks.values(), default=0)
    ranked = {int(label.removeprefix(_WORKER)): one for label, one in found.processes.items() if label.startswith(_WORKER)}
    return [
        _worker(rank, ranked[rank], clocks.get(rank), fastest, axis).model_copy(
            update={
                "slower": slow.get(rank) or None,
                "recovering": recovering.get(rank, 0.0),
                "peers": _peers(found, f"{_WORKER}{rank}/", nodes),
            }
        )
        for rank in sorted(ranked)
    ]


def _peers(found: ProcessSummaries, prefix: str, nodes: Mapping[str, str]) -> list[PeerLoad]:
    """By number. `prefix`: how their labels begin. `nodes`: by label, where a group is on several machines."""
    numbered = {int(label.removeprefix(prefix)): one for label, one in found.peers.items() if label.startswith(prefix)}
    return [
        PeerLoad(
            number=number,
            label=f"{prefix}{number}",
            node=nodes.get(f"{prefix}{number}"),
            at=_moment(one.at),
            compute=one.last.get("compute"),
            cpu=one.last.get("cpu"),
            memory=_whole(one, "memory"),
        )
        for number, one in sorted(numbered.items())
    ]


def _worker(rank: int, one: ProcessSummary, clock: int | None, fastest: int, axis: AttemptSpan) -> WorkerLoad:
    return WorkerLoad(
        rank=rank,
        label=f"{_WORKER}{rank}",
        at=_moment(one.at),
        clock=clock,
        behind=None if clock is None else fastest - clock,
        step=one.step,
        samples_per_second=one.last.get("rate"),
        pushes=one.pushes,
        seconds=one.seconds,
        **{part: one.sums.get(part, 0.0) for part in ("compute", "data", "send", "wait")},
        before=max(0.0, one.began - axis.began) if one.began and axis.began else 0.0,
        ended=max(0.0, axis.ended - axis.left[rank]) if rank in axis.left else 0.0,
        slower=None,
        recovering=0.0,
        sent_per_second=_per_second(one, "sent"),
        received_per_second=_per_second(one, "received"),
        cpu=one.last.get("cpu"),
        memory=_whole(one, "memory"),
        gpu=one.last.get("gpu"),
        gpu_memory=_whole(one, "gpu_memory"),
        peers=[],
    )


def servers(found: ProcessSummaries, shards: Sequence[ShardLoad]) -> list[ServerLoad]:
    """The shards by rank, then the evaluator."""
    by_label = {f"server-{shard.rank}": shard for shard in shards}
    others = {label: one for label, one in found.processes.items() if not label.startswith((_WORKER, _PEERS))}
    return [
        ServerLoad(
            label=label,
            at=_moment(one.at),
            step=one.step,
            busy=one.last.get("busy"),
            worked=by_label[label].busy if label in by_label else None,
            apply=by_label[label].apply if label in by_label else None,
            queue=_whole(one, "queue"),
            cpu=one.last.get("cpu"),
            memory=_whole(one, "memory"),
        )
        for label, one in sorted(others.items(), key=_servers_by_rank)
    ]


def _servers_by_rank(item: tuple[str, ProcessSummary]) -> tuple[bool, int]:
    number = item[0].rpartition("-")[2]
    return not number.isdecimal(), int(number) if number.isdecimal() else 0


def ledger(accounts: Mapping[int, Mapping[str, int]]) -> PushOutcomes | None:
    """The shards' own count goes back with a checkpoint; what was rolled back is added to it."""
    if not any(accounts.values()):
        return None
    sums = {
        outcome: sum(account.get(outcome, 0) for account in accounts.values())
        for outcome in ("pushed", *_OUTCOMES, *_REASONS, "rolled_back")
    }
    return PushOutcomes(**{**sums, "pushed": sums["pushed"] + sums["rolled_back"]})


def best(found: ProcessSummaries, spec: JobSpec, began: datetime | None) -> list[BestMetric]:
    marks = []
    for metric, extremes in sorted(found.evaluations.items()):
        higher = higher_is_better(metric, spec)
        mark = extremes.high if higher else extremes.low
        at = datetime.fromtimestamp(mark.time, UTC)
        after = max(0.0, (at - began).total_seconds()) if began else None
        marks.append(BestMetric(metric=metric, higher_is_better=higher, at=at, after=after, **mark.model_dump(exclude={"time"})))
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


def _whole(one: ProcessSummary, name: str) -> int | None:
    return int(one.last[name]) if name in one.last else None


def _per_second(one: ProcessSummary, name: str) -> float | None:
    return one.sums.get(name, 0.0) / one.seconds if one.seconds else None
