"""One table of the rules that turn a job's progress into alerts and events. Pure.

The page shows an alert while its rule finds something. An event is written once for each thing that a rule finds, and one when
what it named is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from backend.progress.results import EVAL
from backend.progress.state import Folded
from gradstream.center.ledger import StarvedWorker
from gradstream.gate import Gate
from gradstream.process.watchdogs.start import hang_sentences
from gradstream.progress import alerts, damage, full_disk, log_dropped, shared_memory
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


@dataclass(frozen=True, slots=True)
class AlertRule:
    find: Callable[[Folded], Found]
    describe: Callable[[Folded, Gate, Found], Iterator[Alert]]
    """Describes some of what it finds: what is new, for events; all, for alerts."""
    describe_ended: Callable[[Folded, Gate, Found], Iterator[Alert]] | None = None
    """The same once the job has ended, in the past and without remedies that only a running job has. None: as before."""
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
    found = [((ended and rule.describe_ended) or rule.describe, rule.find(kept)) for rule in RULES if rule.shown]
    return [alert.sentence for describe, things in found if things for alert in describe(kept, gate, things)]


def _describe_starved(_kept: Folded, gate: Gate, found: Found) -> Iterator[Alert]:
    for rank, dropped in sorted(found.items()):
        yield Alert(StarvedWorker(rank, dropped).sentence(gate), _SERVER, {"rank": rank, "dropped": dropped})


def _describe_hanging(_kept: Folded, _gate: Gate, found: Found) -> Iterator[Alert]:
    yield from map(Alert, hang_sentences(found))


def _describe_evaluation(_kept: Folded, _gate: Gate, found: Found) -> Iterator[Alert]:
    for key, sentence in found.items():
        yield Alert(sentence, "evaluator", {"about": key})


def _find_evaluation_faults(kept: Folded) -> Found:
    """Scores that are not finite, and evaluation rows that are training rows, too."""
    found = {key: not_finite_sentence(f"{EVAL}{key}", samples) for key, samples in kept.odd_scores.items()}
    return found | ({"overlap": overlap_sentence(kept.shared_rows, kept.compared_rows)} if kept.shared_rows else {})


def _find_late_files(kept: Folded) -> Found:
    """By their number, so that more of them make a new alert."""
    return {kept.late_files: late_files_sentence(kept.late_files)} if kept.late_files else {}


def _find_slow(kept: Folded) -> Found:
    return {rank: factor for rank, factor in kept.slow.items() if factor and rank not in kept.starved}


def _describe_slow(kept: Folded, gate: Gate, found: Found, *, ended: bool = False) -> Iterator[Alert]:
    for rank, factor in sorted(found.items()):
        finished = 0 if rank in kept.remaining.left else len(kept.remaining.left)
        part = alerts.longest_part(rank, kept.summaries, gate)
        how = {"follows": kept.passes.follows, "dealt": bool(kept.remaining.dealt), "endless": kept.endless, "ended": ended}
        how["on_platform"] = rank not in kept.remaining.left  # else it has ended by itself, and there is none to stop
        sentence = alerts.slow_sentence(rank, factor, gate, finished, len(kept.remaining.shares), part=part, **how)
        yield Alert(sentence, _SERVER, {"rank": rank, "slower": factor, "part": part})


def _describe_dropping(kept: Folded, gate: Gate, found: Found) -> Iterator[Alert]:
    for reason in found:
        yield Alert(alerts.dropped_sentence(reason, kept.summaries.ledger, gate), _SERVER, {"dropped": reason})


def _describe_shared_memory(_kept: Folded, _gate: Gate, found: Found) -> Iterator[Alert]:
    """Workers that are found together share one alert."""
    yield Alert(shared_memory.sentence(dict(found)), f"worker-{min(found)}", {"ranks": sorted(found), "bytes": max(found.values())})


def _describe_damage(_kept: Folded, _gate: Gate, found: Found) -> Iterator[Alert]:
    for who, count in found.items():
        yield Alert(damage.sentence(who), who, {"source": who, "count": count})


def _describe_log_dropped(_kept: Folded, _gate: Gate, found: Found) -> Iterator[Alert]:
    for who, dropped in sorted(found.items()):
        yield Alert(log_dropped.sentence(who), who, {"dropped": dropped})


def _describe_media_dropped(_kept: Folded, _gate: Gate, found: Found) -> Iterator[Alert]:
    for who, dropped in sorted(found.items()):
        yield Alert(log_dropped.media_sentence(who), who, {"dropped": dropped})


def _find_full_disks(kept: Folded) -> Found:
    return {who: rows for who, rows in kept.rows_beyond.items() if rows}


def _describe_full_disk(_kept: Folded, _gate: Gate, found: Found) -> Iterator[Alert]:
    for who, rows in sorted(found.items()):
        yield Alert(full_disk.sentence(who, rows), who, {"rows": rows})


def _describe_full_machines(kept: Folded, _gate: Gate, found: Found) -> Iterator[Alert]:
    for label in sorted(found):
        yield Alert(kept.tables.sentence(label), label, {"memory_left": found[label]})


def _describe_sentences(_kept: Folded, _gate: Gate, found: Found) -> Iterator[Alert]:
    yield from map(Alert, found.values())


RULES: tuple[AlertRule, ...] = (
    AlertRule(lambda kept: kept.starved, _describe_starved),
    AlertRule(lambda kept: kept.hanging, _describe_hanging, recorded=False),  # by `hanging`, also when a process goes on
    AlertRule(_find_evaluation_faults, _describe_evaluation),
    AlertRule(_find_late_files, _describe_sentences),
    AlertRule(lambda kept: kept.exports.alerts(), _describe_sentences, resolutions=lambda kept: kept.exports.resolutions()),
    AlertRule(lambda kept: kept.source.alerts(), _describe_sentences, resolutions=lambda kept: kept.source.resolutions()),
    AlertRule(lambda kept: kept.passes.alerts(), _describe_sentences, resolutions=lambda kept: kept.passes.resolutions()),
    AlertRule(lambda kept: kept.tables.full, _describe_full_machines, resolutions=lambda kept: kept.tables.resolutions()),
    AlertRule(
        _find_slow,
        _describe_slow,
        partial(_describe_slow, ended=True),
        resolutions=lambda kept: alerts.slow_resolutions(kept.slow),
    ),
    AlertRule(lambda kept: dict.fromkeys(kept.dropping), _describe_dropping),
    AlertRule(lambda kept: kept.shared_memory_shortfalls, _describe_shared_memory),
    AlertRule(lambda kept: kept.log_dropped, _describe_log_dropped),
    AlertRule(lambda kept: kept.media_dropped, _describe_media_dropped),
    AlertRule(_find_full_disks, _describe_full_disk, resolutions=lambda kept: full_disk.resolutions(kept.rows_beyond)),
    AlertRule(lambda kept: kept.damaged, _describe_damage, shown=False),  # a resend has repaired it
    AlertRule(lambda kept: {"": kept.waits_for} if kept.waits_for else {}, _describe_sentences, recorded=False),  # by the scheduler
    AlertRule(lambda kept: kept.refused, _describe_sentences, recorded=False),  # by `service`, which bounds their number
)
