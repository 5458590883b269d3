"""Alerts of a job that has ended: each rule speaks in the past, and no remedy needs a running job."""

from __future__ import annotations

import re
from typing import Any

import pytest

from backend.progress.alert_rules import RULES, AlertRule, shown_alerts
from backend.progress.full_plane import LEFTOVERS
from backend.progress.state import Folded
from gradstream.gate import Gate

QUORUM, STALE = Gate(mode="bsp", quorum=3), Gate(mode="asp", max_staleness=4)
HANG = {"phase": "dataset()", "line": "w.py:12", "call": None, "seconds": 31.5}
SUMMARIES = {"processes": {f"worker-{rank}": {"pushes": 9, "steps": 9, "seconds": 9.0} for rank in range(3)}}
LEDGER = {"ledger": {0: {"pushed": 100, "dropped_stale": 30, "dropped_not_finite": 30}}}
BEHIND = {"behind": {0: 500}, "closes": [(100 * number, 200 + 60 * number) for number in range(6)]}

ENDED: dict[str, tuple[dict[str, Any], Gate, str]] = {
    "starved by a quorum": (
        {"starved": {2: 17}},
        QUORUM,
        "Worker 2 did not contribute: its last 17 pushes were all dropped, as the others filled the quorum of 3 before it was "
        "done. Its share of the data was not learned. In the next run, raise gate.quorum, give it a faster machine, or train with"
        " fewer workers.",
    ),
    "hanging": (
        {"hanging": {"worker-0": HANG, "worker-1": HANG}},
        STALE,
        "worker-0 and worker-1 were in dataset() for more than 31 s, at w.py:12, until the job ended. The log shows the stack.",
    ),
    "not finite": (
        {"odd_scores": {"auc": 1000}},
        STALE,
        "eval/auc was not a finite number (first after 1,000 samples). Such a value is stored as null, and reaches no target. "
        "Look at evaluate() and summarize(): a batch of one class only, a division by 0, or weights that diverged.",
    ),
    "overlap": (
        {"shared_rows": 40, "compared_rows": 50},
        STALE,
        "40 of 50 evaluation rows that were compared are training rows, too, so the evaluation says little about new data. Calls "
        "of dataset() get the same random numbers for both splits: draw all rows once and split them.",
    ),
    "late files": (
        {"late_files": 2},
        STALE,
        "2 files of the followed folder came late and were not read: their names sort before one that was complete earlier. The "
        "log of worker-0 has the names. For the next run, write these rows again under a name that sorts after all others.",
    ),
    "failed exports": (
        {"exports": {"by_server": {1: 3}}},
        STALE,
        "server-1 could not store its part of any of the last 3 exports, so readers keep an earlier one. The job ended before "
        "another export. The log of server-1 names the tables and the reason. Look for a full disk of the platform, or an API "
        "that was away.",
    ),
    "late checkpoints": (
        {"checkpoints": {"stored": 7, "late": {"number": 7, "seconds": 48.24, "skipped": 3}}},
        STALE,
        "Checkpoints were made less often than checkpoint.every says: storing checkpoint 7 took 48.2 s, and 3 that were due "
        "meanwhile were skipped. In the next run, raise checkpoint.every, or give the platform's files a faster disk.",
    ),
    "out of reach": (
        {"source": {"unreached_by": [0, 2]}},
        STALE,
        "Workers 0 and 2 could not reach the stream or topic that the job followed when the job ended. Before the next run, start"
        " its Redis or its brokers again, or mend the network. The log of worker-0 has the address and the reason.",
    ),
    "leaderless": (
        {"source": {"leaderless": {1: (3, 2)}}},
        STALE,
        "Partition 3 and another partition of the followed topic had no leader that answered when the job ended. Before the next "
        "run, bring the broker back, or elect another leader. The log of worker-1 has topic and addresses.",
    ),
    "behind": (
        {"passes": BEHIND},
        STALE,
        "Workers fell behind: the examples that they had still to train rose with each of the last 5 passes, to 500. That was 5.0"
        " passes. In the next run, add workers, raise batch_size, or write fewer examples.",
    ),
    "calibration": (
        {"passes": {"calibrations": [1.5, 1.4, 1.6, 1.5, 1.5]}},
        STALE,
        "Calibration was off: predicted over actual positives was 1.40 to 1.60 in the last 5 passes, always above 1. Look for a "
        "change in the data, such as sampled negatives or labels that came late. If the data is right, the model followed it too "
        "slowly: in the next run, raise the learning rate.",
    ),
    "nearly full machine": (
        {"tables": {"nbytes": {"server-1": 12_000_000_000}, "full": {"server-1": 0.04}}},
        STALE,
        "The machine of server-1 had 4% of its memory left, and this server's tables took 12.0 GB. A server that gets no memory "
        "ends. In the next run, bound the tables with `most` or `keep`, make rows of fewer keys with `admit`, or run more servers"
        " on other machines (roles.server.count).",
    ),
    "slow": (
        {"slow": {1: 7.0}, "summaries": SUMMARIES},
        STALE,
        "worker-1 was 7 times slower than the other workers. Each worker had a fixed share of the data to train, and such a job "
        "takes as long as its slowest worker. In the next run, run it on a faster machine, train with fewer workers, or set "
        "data.deal to demand, so that the others train what it leaves.",
    ),
    "awaited": (
        {"awaited": {2: 25.0, 1: 0.0}},
        STALE,
        "All others waited for worker-2 for more than 25 s. Its log may say where its process hung. Before the next run, look at "
        "loss() and dataset(), or at its machine.",
    ),
    "dropped as stale": (
        {"dropping": ["stale"], "summaries": LEDGER},
        STALE,
        "30 % of the pushes were dropped because they were 4 or more updates stale. In the next run, raise gate.max_staleness, "
        "train with fewer workers, or use ssp, which holds fast workers back.",
    ),
    "dropped as not finite": (
        {"dropping": ["not_finite"], "summaries": LEDGER},
        STALE,
        "30 % of the pushes were dropped because they held a NaN or an infinity; they came from worker 0. The model did not learn"
        " from them. In the next run, lower strategy.lr, or look for such values in the data.",
    ),
    "shared memory": (
        {"shared_memory_shortfalls": {0: 8_000_000}},
        STALE,
        "Worker 0 could not allocate 8.0 MB of shared memory, so vectors went through Redis, which takes several times as long. "
        "Before the next run, give /dev/shm that much for each worker of the machine: GRADSTREAM_SHM_SIZE or shm_size with Docker"
        " Compose, --shm-size with docker run, a larger tmpfs elsewhere.",
    ),
    "logged names": (
        {"log_dropped": {"worker-0": 5}},
        STALE,
        "worker-0 logged values under more than 200 names; those under further names were dropped. The metric worker/log_dropped "
        "counts them. In the next run, log under fewer names: a name with a step in it is a new one at each step.",
    ),
    "logged media": (
        {"media_dropped": {"evaluator": 5}},
        STALE,
        "evaluator logged more media than the limits allow; those beyond were dropped. The metric worker/media_dropped counts "
        "them, and the log of evaluator names the limit. In the next run, log images, tables and histograms less often, or "
        "smaller ones.",
    ),
    "full disk": (
        {"rows_beyond": {"server-1": 1200, "server-0": 0}},
        STALE,
        "The disk of server-1 took no more rows, so it kept 1,200 rows in memory beyond memory.rows of their tables. No row was "
        "lost. Before the next run, free space on the disk of its node, or give the job more servers on other nodes.",
    ),
    "plane full of a job": (
        {"plane_holder": "the job large"},
        STALE,
        "When the job ended, the data plane was full, so pushes waited. The job large held most of it. Before the next run, give "
        "the data plane more memory (maxmemory).",
    ),
    "plane full of leftovers": (
        {"plane_holder": LEFTOVERS},
        STALE,
        "When the job ended, the data plane was full, so pushes waited. Keys of ended jobs held most of it.",
    ),
    "refused metrics": (
        {"refused": {"worker-0 name": "Some metrics of worker-0 could not be stored. The field 'name': it is empty."}},
        STALE,
        "Some metrics of worker-0 could not be stored. The field 'name': it is empty.",
    ),
}
TIMELESS = {"overlap", "refused metrics"}
"""Their sentences hold before and after the end."""
OF_RUNNING_JOBS = re.compile(
    r"\bstop\b|Workers tab|\bwaits\b|\bpushes wait\b|Workers wait|\bcannot\b|does not contribute", re.IGNORECASE
)


@pytest.mark.parametrize("name", ENDED)
def test_an_alert_that_is_open_at_the_end_of_the_job_is_in_the_past(name: str) -> None:
    state, gate, sentence = ENDED[name]
    kept = Folded.model_validate(state)
    assert shown_alerts(kept, gate, ended=True) == [sentence]
    assert not OF_RUNNING_JOBS.search(sentence)
    [running] = shown_alerts(kept, gate)
    assert (running == sentence) == (name in TIMELESS)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.shown])
def test_each_rule_that_is_shown_has_a_sentence_for_the_end(rule: AlertRule) -> None:
    assert any(rule.find(Folded.model_validate(state)) for state, _, _ in ENDED.values()), "add the new rule to ENDED"
