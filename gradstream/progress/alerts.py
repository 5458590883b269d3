"""Alerts from the figures of a job's processes: each says what is wrong with its training, and what to do about it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median

from gradstream.gate import Gate
from gradstream.progress.process_summary import ProcessSummaries, ProcessSummary

Cost = Callable[[ProcessSummary], float]

_SLOW, _NOT_SLOW = 2.0, 1.5
"""Times slower than the others at which an alert names a worker; and below which the alert ends."""
_PARTS = {
    "compute": "Computing",
    "data": "Waiting for mini-batches",
    "send": "Sending pushes",
    "wait": "Waiting for responses of the servers",
}
_MOST = 0.6
"""Share of the difference to the others from which on one part of a mini-batch is the cause."""
_CHANGED = 1.2
"""A factor that changes by less stays as it was, so that the sentence does not change with each report."""
_PUSHES = 3
_SECONDS = 5.0
"""Least seconds of a worker's time that a judgement needs."""
_ENOUGH_DROPPED = {"not_finite": (3, 0.05), "stale": (20, 0.25)}
"""Dropped pushes, and share of all, from which on an alert says so. Beyond a quorum they are dropped on purpose."""


def slow_workers(known: Mapping[int, float], found: ProcessSummaries) -> dict[int, float]:
    """Return how many times slower than the others each slow worker is, by rank. 0: it is not slow any more."""
    ranked = {int(label.removeprefix("worker-")): one for label, one in found.processes.items() if label.startswith("worker-")}
    counted = {rank: one for rank, one in ranked.items() if one.pushes >= _PUSHES and one.steps}
    slow = dict(known)
    for rank, one in counted.items():
        others = [other for number, other in counted.items() if number != rank]
        if not others or one.seconds < _SECONDS:
            continue
        factor, before = max(_factor(one, others, _whole), _factor(one, others, _busy)), slow.get(rank, 0.0)
        if factor >= _SLOW and not before / _CHANGED < factor < before * _CHANGED:
            slow[rank] = factor
        elif factor < _NOT_SLOW and before:
            slow[rank] = 0.0
    return slow


def _factor(one: ProcessSummary, others: list[ProcessSummary], cost: Cost) -> float:
    typical = median(cost(other) for other in others)
    return cost(one) / typical if typical > 0 else 0.0


def _whole(one: ProcessSummary) -> float:
    """Seconds of a mini-batch with everything. Where a gate holds the others back, it is the same for all."""
    return one.seconds / one.steps


def _busy(one: ProcessSummary) -> float:
    """Seconds of a mini-batch that the worker itself takes."""
    return sum(one.sums.get(part, 0.0) for part in ("compute", "data", "send")) / one.steps


def longest_part(rank: int, found: ProcessSummaries, gate: Gate) -> str | None:
    """Return the part of a mini-batch that makes most of a slow worker's difference to the others. None: none does.

    Where a gate holds workers back, a wait is no sign of a slow exchange."""
    one = found.worker(rank)
    others = [other for label, other in found.processes.items() if label.startswith("worker-") and other is not one and other.steps]
    if one is None or not one.steps or not others:
        return None
    names = [name for name in _PARTS if name != "wait" or gate.never_holds]
    more = {name: _mean(one, name) - median(_mean(other, name) for other in others) for name in names}
    more = {name: seconds for name, seconds in more.items() if seconds > 0}
    name = max(more, key=lambda name: more[name], default=None)
    return name if name and more[name] >= _MOST * sum(more.values()) else None


def _mean(one: ProcessSummary, part: str) -> float:
    return one.sums.get(part, 0.0) / one.steps


def slow_sentence(
    rank: int,
    factor: float,
    gate: Gate,
    finished: int,
    workers: int,
    *,
    part: str | None = None,
    follows: bool = False,
    dealt: bool = False,
    endless: bool = False,
    on_platform: bool = True,
    ended: bool = False,
) -> str:
    """`part`: as `longest_part` returns it. `finished`: workers that have trained all of their shares while this one still trains;
    0 if it has ended, too. `follows`: the job learns from a folder or a stream that grows. `dealt`: the servers deal mini-batches
    on demand. `endless`: the job never ends by itself. `on_platform`: users can stop the worker alone. `ended`: the job is over,
    so the sentence is in the past, and its remedies are for the next run."""
    in_rounds = gate.mode == "bsp" and gate.quorum is None
    waits = in_rounds or (endless and gate.mode == "ssp")
    is_, makes = ("was", "made") if ended else ("is", "makes")
    told = f"worker-{rank} {is_} {factor:.{0 if factor >= 3 else 1}f} times slower than the other workers. "
    told += f"{_PARTS[part]} {makes} most of the difference. " if part else ""
    if finished and finished == workers - 1:
        they = "They had finished, and the job waited" if ended else "They have finished, and the job waits"
        told += f"{they} for worker-{rank} alone. "
    elif waits:
        when = "in each round" if in_rounds else f"when they {'were' if ended else 'are'} {gate.bound} rounds ahead"
        told += f"They {'waited' if ended else 'wait'} for it {when}. "
    else:
        told += _cost_without_waiting(follows=follows, dealt=dealt, endless=endless)[ended]
    if (endless or dealt) and not (waits or follows):
        return f"{told}To train faster{' next time' if ended else ''}, run it on a faster machine."
    left_out = "its part of all data to come" if follows or endless else "the rest of its share"
    remedies = [f"stop worker-{rank} on the Workers tab to leave out {left_out}"] if on_platform and not ended else []
    remedies += _settings_for_slow(in_rounds=in_rounds, waits=waits, follows=follows, endless=endless)
    text = f"{', '.join(remedies[:-1])}{',' * (len(remedies) > 2)} or {remedies[-1]}" if len(remedies) > 1 else remedies[0]
    told += f"In the next run, {text}." if ended else f"{text[0].upper()}{text[1:]}."
    if in_rounds and not endless:
        told += " With gate.quorum alone the others end earlier; the job does not if this worker stays slow."
    return told


def _cost_without_waiting(*, follows: bool, dealt: bool, endless: bool) -> tuple[str, str]:
    """Return the cost of a worker for which the others do not wait: now, and once the job has ended."""
    if follows:
        return (
            "Each worker trains its own part of the data that comes, so passes close when the slowest one has trained its part. ",
            "Each worker trained its own part of the data that came, so passes closed when the slowest one had trained its part. ",
        )
    if dealt and not endless:
        return (
            "The others train what it leaves, so it costs the job only its own speed. ",
            "The others trained what it left, so it cost the job only its own speed. ",
        )
    if endless:
        return (
            "The others do not wait for it, so it costs the job only its own speed. ",
            "The others did not wait for it, so it cost the job only its own speed. ",
        )
    return (
        "Each worker trains a fixed share of the data, so the job ends when the slowest one does. ",
        "Each worker had a fixed share of the data to train, and such a job takes as long as its slowest worker. ",
    )


def _settings_for_slow(*, in_rounds: bool, waits: bool, follows: bool, endless: bool) -> list[str]:
    """Return changes for the next run. Data that grows has no mini-batches to deal, and a job without an end needs none dealt."""
    if waits and endless:
        return [
            *(["set gate.quorum, so that rounds end without it"] if in_rounds else []),
            f"{'use adag or dynsgd under' if in_rounds else 'set gate to'} asp, so that no worker waits",
        ]
    if waits and not follows:
        return ["use adag or dynsgd under asp with data.deal set to demand, so that the others train what it leaves"]
    deal = [] if follows else ["set data.deal to demand, so that the others train what it leaves"]
    return ["run it on a faster machine", "train with fewer workers", *deal]


def slow_resolutions(slow: Mapping[int, float]) -> dict[int, str]:
    """Return the sentence that says the alert is over, for each worker that is slow. `slow`: as `slow_workers` returns it."""
    return {
        rank: f"worker-{rank} is no longer slow: it takes less than {_NOT_SLOW} times as long as the other workers."
        for rank, factor in slow.items()
        if factor
    }


def dropped_reasons(known: list[str], ledger: Mapping[int, Mapping[str, int]]) -> list[str]:
    """Why many pushes were dropped: each reason, from when it is true until the job's end. An attempt that resumes from before all
    such pushes has none of them."""
    pushed, known = _sum(ledger, "pushed"), [reason for reason in known if _sum(ledger, f"dropped_{reason}")]
    found = [
        reason
        for reason, (least, share) in _ENOUGH_DROPPED.items()
        if (count := _sum(ledger, f"dropped_{reason}")) >= least and count >= share * pushed
    ]
    return [*known, *(reason for reason in found if reason not in known)]


def dropped_sentence(reason: str, ledger: Mapping[int, Mapping[str, int]], gate: Gate, *, ended: bool = False) -> str:
    """`reason`: as `dropped_reasons` returns it. `ended`: the job is over."""
    pushed, dropped = _sum(ledger, "pushed"), {rank: account.get(f"dropped_{reason}", 0) for rank, account in ledger.items()}
    next_run = "In the next run, " if ended else ""
    share = f"{100 * sum(dropped.values()) / max(1, pushed):.0f} %"
    if reason == "stale":
        return (
            f"{share} of the pushes were dropped because they were {gate.max_staleness} or more updates stale. "
            f"{next_run}{'raise' if ended else 'Raise'} gate.max_staleness, train with fewer workers, or use ssp, which holds fast "
            "workers back."
        )
    ranks = sorted(rank for rank, count in dropped.items() if count)
    who = f"worker {ranks[0]}" if len(ranks) == 1 else f"workers {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"
    learns = "The model did not learn from them." if ended else "The model does not learn from them."
    return (
        f"{share} of the pushes were dropped because they held a NaN or an infinity; they came from {who}. "
        f"{learns} {next_run}{'lower' if ended else 'Lower'} strategy.lr, or look for such values in the data."
    )


def _sum(ledger: Mapping[int, Mapping[str, int]], name: str) -> int:
    return sum(account.get(name, 0) for account in ledger.values())
