"""One table of the rules that turn a job's progress into alerts and events. Pure.

The page shows an alert while its rule finds something. An event is written once for each thing that a rule finds, and one when
what it named is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from backend.progress import full_plane
from backend.progress.results import EVAL
from backend.progress.state import Folded
from gradstream.center.ledger import StarvedWorker
from gradstream.gate import Gate
from gradstream.process.watchdogs.start import hang_sentences
from gradstream.progress import alerts, awaited, damage, full_disk, log_dropped, shared_memory
from gradstream.progress.evaluation_alerts import late_files_sentence, not_finite_sentence, overlap_sentence

Found = Mapping[Any, Any]
"""Each thing that a rule finds, by a key that stays the same from report to report."""
_SERVER = "server-0"


@dataclass(frozen=True, slots=True)
class Alert:
    sentence: str
    actor: str = "controller"
    """The process that reported it: the actor of its event."""
    data: dict[str, Any] = field(default_factory=dict)
    """The data of its event."""


class DescribesAlerts(Protocol):
    def __call__(self, kept: Folded, gate: Gate, found: Found, /, *, ended: bool = False) -> Iterator[Alert]:
        """`ended`: the job is over, so sentences are in the past, and their remedies help the next run."""


class WatchesPoints(Protocol):
    """Part of the state that words its own alerts, by a key that stays the same."""

    def alerts(self, *, ended: bool = False) -> Mapping[Any, str]: ...

    def resolutions(self) -> Mapping[Any, str]: ...


@dataclass(frozen=True, slots=True)
class AlertRule:
    find: Callable[[Folded], Found]
    describe: DescribesAlerts
    """Describes some of what it finds: what is new, for events; all, for alerts."""
    shown: bool = True
    """The alert is shown with the job's progress."""
    recorded: bool = True
    """Its events are written here."""
    resolutions: Callable[[Folded], Mapping[Any, str]] | None = None
    """Returns a sentence for each alert that there is, which says that it is over. Such alerts are of one attempt. None: alerts
    stay to the end of the job."""


def new_alerts(before: dict[str, Any], state: dict[str, Any], gate: Callable[[], Gate]) -> Iterator[Alert]:
    """Yield an alert for each event to write: for what the rules find in `state`, and had not found in `before`."""
    old, new = Folded.model_validate(before), Folded.model_validate(state)
    for rule in filter(lambda rule: rule.recorded, RULES):
        known = {} if rule.resolutions and old.attempt != new.attempt else rule.find(old)
        found = {key: value for key, value in rule.find(new).items() if key not in known}
        if found:
            yield from rule.describe(new, gate(), found)


def resolved_alerts(before: dict[str, Any], state: dict[str, Any]) -> Iterator[str]:
    """Yield a sentence for each alert of `before` that is over in `state`. A new attempt ends none: nothing is known of it."""
    old, new = Folded.model_validate(before), Folded.model_validate(state)
    if old.attempt != new.attempt:
        return
    for rule in RULES:
        if rule.resolutions and (raised := rule.resolutions(old)):
            still = rule.resolutions(new)
            yield from (sentence for subject, sentence in raised.items() if subject not in still)


def shown_alerts(kept: Folded, gate: Gate, *, ended: bool = False) -> list[str]:
    """Return the sentences to show with the job's progress, in the order of the table. `ended`: the job has."""
    found = [(rule.describe, things) for rule in RULES if rule.shown and (things := rule.find(kept))]
    return [alert.sentence for describe, things in found for alert in describe(kept, gate, things, ended=ended)]


def _rule_of(watch: Callable[[Folded], WatchesPoints]) -> AlertRule:
    def describe(kept: Folded, _gate: Gate, found: Found, /, *, ended: bool = False) -> Iterator[Alert]:
        sentences = watch(kept).alerts(ended=ended)
        yield from (Alert(sentences[key]) for key in found)

    return AlertRule(lambda kept: watch(kept).alerts(), describe, resolutions=lambda kept: watch(kept).resolutions())


def _describe_starved(_kept: Folded, gate: Gate, found: Found, /, *, ended: bool = False) -> Iterator[Alert]:
    for rank, dropped in sorted(found.items()):
        yield Alert(StarvedWorker(rank, dropped).sentence(gate, ended=ended), _SERVER, {"rank": rank, "dropped": dropped})


def _describe_hanging(_kept: Folded, _gate: Gate, found: Found, /, *, ended: bool = False) -> Iterator[Alert]:
    yield from map(Alert, hang_sentences(found, ended=ended))


def _describe_odd_scores(_kept: Folded, _gate: Gate, found: Found, /, *, ended: bool = False) -> Iterator[Alert]:
    for key, samples in found.items():
        yield Alert(not_finite_sentence(f"{EVAL}{key}", samples, ended=ended), "evaluator", {"about": key})


def _describe_overlap(kept: Folded, _gate: Gate, _found: Found, /, *, ended: bool = False) -> Iterator[Alert]:  # noqa: ARG001
    """It stays true once the job has ended."""
    yield Alert(overlap_sentence(kept.shared_rows, kept.compared_rows), "evaluator", {"about": "overlap"})


def _describe_late_files(_kept: Folded, _gate: Gate, found: Found, /, *, ended: bool = False) -> Iterator[Alert]:
    yield from (Alert(late_files_sentence(count, ended=ended)) for count in found)


def _find_slow(kept: Folded) -> Found:
    return {rank: factor for rank, factor in kept.slow.items() if factor and rank not in kept.starved}


def _describe_slow(kept: Folded, gate: Gate, found: Found, /, *, ended: bool = False) -> Iterator[Alert]:
    for rank, factor in sorted(found.items()):
        finished = 0 if rank in kept.remaining.left else len(kept.remaining.left)
        part = alerts.longest_part(rank, kept.summaries, gate)
        how = {"follows": kept.passes.follows, "dealt": bool(kept.remaining.dealt), "endless": kept.endless, "ended": ended}
        how["on_platform"] = rank not in kept.remaining.left  # else it has ended by itself, and there is none to stop
        sentence = alerts.slow_sentence(rank, factor, gate, finished, len(kept.remaining.shares), part=part, **how)
        yield Alert(sentence, _SERVER, {"rank": rank, "slower": factor, "part": part})


def _find_awaited(kept: Folded) -> Found:
    return {rank: seconds for rank, seconds in kept.awaited.items() if seconds}


def _describe_awaited(_kept: Folded, _gate: Gate, found: Found, /, *, ended: bool = False) -> Iterator[Alert]:
    for rank, seconds in sorted(found.items()):
        yield Alert(awaited.sentence(rank, seconds, ended=ended), data={"rank": rank, "seconds": seconds})


def _describe_dropping(kept: Folded, gate: Gate, found: Found, /, *, ended: bool = False) -> Iterator[Alert]:
    for reason in found:
        sentence = alerts.dropped_sentence(reason, kept.summaries.ledger, gate, ended=ended)
        yield Alert(sentence, _SERVER, {"dropped": reason})


def _describe_shared_memory(_kept: Folded, _gate: Gate, found: Found, /, *, ended: bool = False) -> Iterator[Alert]:
    """Workers that are found together share one alert."""
    sentence = shared_memory.sentence(dict(found), ended=ended)
    yield Alert(sentence, f"worker-{min(found)}", {"ranks": sorted(found), "bytes": max(found.values())})


def _describe_damage(_kept: Folded, _gate: Gate, found: Found, /, *, ended: bool = False) -> Iterator[Alert]:  # noqa: ARG001
    for who, count in found.items():
        yield Alert(damage.sentence(who), who, {"source": who, "count": count})


def _describe_log_dropped(_kept: Folded, _gate: Gate, found: Found, /, *, ended: bool = False) -> Iterator[Alert]:
    for who, dropped in sorted(found.items()):
        yield Alert(log_dropped.sentence(who, ended=ended), who, {"dropped": dropped})


def _describe_media_dropped(_kept: Folded, _gate: Gate, found: Found, /, *, ended: bool = False) -> Iterator[Alert]:
    for who, dropped in sorted(found.items()):
        yield Alert(log_dropped.media_sentence(who, ended=ended), who, {"dropped": dropped})


def _find_full_disks(kept: Folded) -> Found:
    return {who: rows for who, rows in kept.rows_beyond.items() if rows}


def _describe_full_disk(_kept: Folded, _gate: Gate, found: Found, /, *, ended: bool = False) -> Iterator[Alert]:
    for who, rows in sorted(found.items()):
        yield Alert(full_disk.sentence(who, rows, ended=ended), who, {"rows": rows})


def _describe_full_machines(kept: Folded, _gate: Gate, found: Found, /, *, ended: bool = False) -> Iterator[Alert]:
    for label in sorted(found):
        yield Alert(kept.tables.sentence(label, ended=ended), label, {"memory_left": found[label]})


def _find_full_plane(kept: Folded) -> Found:
    return {kept.plane_holder: ""} if kept.plane_holder else {}


def _describe_full_plane(_kept: Folded, _gate: Gate, found: Found, /, *, ended: bool = False) -> Iterator[Alert]:
    yield from (Alert(full_plane.sentence(holder, ended=ended)) for holder in found)


def _describe_refused(_kept: Folded, _gate: Gate, found: Found, /, *, ended: bool = False) -> Iterator[Alert]:  # noqa: ARG001
    """They are in the past from the start."""
    yield from map(Alert, found.values())


RULES: tuple[AlertRule, ...] = (
    AlertRule(lambda kept: kept.starved, _describe_starved),
    AlertRule(lambda kept: kept.hanging, _describe_hanging, recorded=False),  # by `hanging`, also when a process goes on
    AlertRule(lambda kept: kept.odd_scores, _describe_odd_scores),
    AlertRule(lambda kept: {"": kept.shared_rows} if kept.shared_rows else {}, _describe_overlap),
    AlertRule(lambda kept: {kept.late_files: ""} if kept.late_files else {}, _describe_late_files),  # more files: another alert
    _rule_of(lambda kept: kept.exports),
    _rule_of(lambda kept: kept.checkpoints),
    _rule_of(lambda kept: kept.source),
    _rule_of(lambda kept: kept.passes),
    AlertRule(lambda kept: kept.tables.full, _describe_full_machines, resolutions=lambda kept: kept.tables.resolutions()),
    AlertRule(_find_slow, _describe_slow, resolutions=lambda kept: alerts.slow_resolutions(kept.slow)),
    AlertRule(_find_awaited, _describe_awaited, resolutions=lambda kept: awaited.resolutions(kept.awaited)),
    AlertRule(lambda kept: dict.fromkeys(kept.dropping), _describe_dropping),
    AlertRule(lambda kept: kept.shared_memory_shortfalls, _describe_shared_memory),
    AlertRule(lambda kept: kept.log_dropped, _describe_log_dropped),
    AlertRule(lambda kept: kept.media_dropped, _describe_media_dropped),
    AlertRule(_find_full_disks, _describe_full_disk, resolutions=lambda kept: full_disk.resolutions(kept.rows_beyond)),
    AlertRule(lambda kept: kept.damaged, _describe_damage, shown=False),  # a resend has repaired it
    AlertRule(_find_full_plane, _describe_full_plane, recorded=False),  # by the scheduler
    AlertRule(lambda kept: kept.refused, _describe_refused, recorded=False),  # by `service`, which bounds their number
)
