"""The one table: for each endpoint, whose credentials it takes, how large its body may be, and what bounds its use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from gradstream.bundle import MAX_BYTES as MAX_BUNDLE

PREFIX = "/api/v1"
KIB, MIB, GIB = 1024, 1024**2, 1024**3


class Who(Enum):
    """The kind of credentials that a request must carry."""

    ANYONE = "anyone"
    USER = "user"
    NODE = "node"
    REGISTRATION = "registration"
    """A machine that registers: the nodes' shared secret, or a join token."""
    PROCESS = "process"


@dataclass(frozen=True, slots=True)
class Bound:
    """The bounds of one caller: requests that are answered at once, and those that may wait for one of these places."""

    name: str
    at_once: int
    waiting: int
    in_all: int = 0
    """Requests of all callers that are computed at once, from the end of the body to the first byte of the answer; 0: no such
    bound."""
    until_sent: bool = True
    """True if a request has its place until the last byte of the answer has been sent; otherwise until the first one."""


FREE = Bound("free", 0, 0)
"""No bound: the request touches no thread and no other server."""
PLAIN = Bound("requests", 8, 248, until_sent=False)
"""Fewer than the API has connections to Postgres, so that no caller takes all of them."""
COMPUTING = Bound("requests with a job file", 2, 30, in_all=2, until_sent=False)
"""They compute. More than a few at a time would keep the interpreter from all others, whoever sends them."""
DIAGNOSING = Bound("diagnoses", 2, 30, in_all=2, until_sent=False)
"""They read the times of all pushes of a job and compute with them."""
EXPLAINING = Bound("importances of settings", 1, 30, in_all=1, until_sent=False)
"""Each learns a forest, which takes a core for up to some seconds."""
HEAVY = Bound("heavy requests", 2, 30, in_all=2)
"""They read much. A bound of its own is on pieces that are computed while they are sent (`backend/web/chunks.py`)."""
UPLOADING = Bound("uploads", 4, 28)
"""Their bodies come while the endpoint runs; it bounds what it computes."""
WAITING = Bound("requests that wait for a change", 256, 0)
"""They hold no thread while they wait."""
STREAM = Bound("open streams", 32, 0)


@dataclass(frozen=True, slots=True)
class Rule:
    methods: str
    """Separated by blanks; `*`: all."""
    path: str
    """Below PREFIX. `*` stands for one segment, `**` for any number of them."""
    who: Who
    limit: int
    """Bytes of a body."""
    bound: Bound = PLAIN
    remedy: str = "Send less at a time."
    """The remedy for a body that is larger."""
    streamed: bool = False
    """The endpoint writes the body to a file as it comes; it is never in memory as a whole."""


_JOB_FILE = "A job file is text of a few KiB: put code and data into the bundle, and name the bundle in the request."
_SMALL = 64 * KIB
RULES = (
    Rule("GET HEAD", "/health", Who.ANYONE, 0, FREE),
    Rule("POST", "/session", Who.ANYONE, 4 * KIB, PLAIN, "Send only {'code': ...} or {'token': ...}."),
    Rule("POST", "/agent/join", Who.REGISTRATION, _SMALL),
    Rule("POST", "/agent/register", Who.REGISTRATION, _SMALL),
    Rule("POST", "/agent/rotate", Who.REGISTRATION, _SMALL),
    Rule("POST", "/agent/heartbeat", Who.NODE, 8 * MIB),
    Rule("POST", "/agent/logs", Who.NODE, 8 * MIB, PLAIN, "Send the output in smaller pieces."),
    Rule("*", "/agent/**", Who.NODE, _SMALL),
    Rule("PUT", "/process/files/**", Who.PROCESS, 64 * GIB, PLAIN, "Store it as several files.", streamed=True),
    Rule("POST", "/process/media", Who.PROCESS, 8 * MIB, PLAIN, "Send fewer items at a time."),
    Rule("POST", "/process/updates", Who.PROCESS, 8 * MIB, PLAIN, "Send fewer samples at a time."),
    Rule("*", "/process/**", Who.PROCESS, _SMALL),
    Rule("POST", "/bundles", Who.USER, MAX_BUNDLE, UPLOADING, "Leave data and results out of the bundle.", streamed=True),
    Rule("GET", "/bundles/*/files/**", Who.USER, _SMALL, COMPUTING),
    Rule("GET", "/bundles/*/differences/*", Who.USER, _SMALL, COMPUTING),
    Rule("POST", "/jobs", Who.USER, 512 * KIB, COMPUTING, _JOB_FILE),
    Rule("POST", "/jobs/validate", Who.USER, 4 * MIB, COMPUTING, "Send fewer sources; the bundle is looked at when it comes."),
    Rule("POST", "/jobs/plan", Who.USER, 512 * KIB, COMPUTING, _JOB_FILE),
    Rule("GET", "/jobs/stream", Who.USER, _SMALL, STREAM),
    Rule("GET", "/jobs/*/stream", Who.USER, _SMALL, STREAM),
    Rule("GET", "/jobs/*/logs", Who.USER, _SMALL, HEAVY),
    Rule("GET", "/jobs/*/logs/download", Who.USER, _SMALL, HEAVY),
    Rule("GET", "/jobs/*/metrics", Who.USER, _SMALL, HEAVY),
    Rule("GET", "/jobs/*/metrics/export", Who.USER, _SMALL, HEAVY),
    Rule("GET", "/jobs/*/stragglers", Who.USER, _SMALL, DIAGNOSING),
    Rule("GET", "/jobs/*/media/histograms", Who.USER, _SMALL, HEAVY),
    Rule("GET", "/jobs/*/parameters", Who.USER, _SMALL, HEAVY),
    Rule("GET", "/jobs/*/updates", Who.USER, _SMALL, HEAVY),
    Rule("GET", "/jobs/*/updates/samples", Who.USER, _SMALL, HEAVY),
    Rule("GET", "/storage", Who.USER, _SMALL, HEAVY),
    Rule("POST", "/storage/collect", Who.USER, _SMALL, HEAVY),
    Rule("GET", "/jobs/groups", Who.USER, _SMALL, HEAVY),
    Rule("GET", "/jobs/table", Who.USER, _SMALL, HEAVY),
    Rule("GET", "/jobs/fields", Who.USER, _SMALL, HEAVY),
    Rule("GET", "/compare/target", Who.USER, _SMALL, HEAVY),
    Rule("GET", "/compare/jobs", Who.USER, _SMALL, HEAVY),
    Rule("GET", "/compare/charts", Who.USER, _SMALL, HEAVY),
    Rule("GET", "/compare/importance", Who.USER, _SMALL, EXPLAINING),
    Rule("GET", "/jobs/*", Who.USER, _SMALL, WAITING),
    Rule("*", "/**", Who.USER, _SMALL),
)
"""The first that fits counts. An endpoint that is named nowhere is for users only, with a small body."""


def _pattern(path: str) -> re.Pattern[str]:
    parts = {"**": ".*", "*": "[^/]+"}
    return re.compile("".join(parts.get(part, re.escape(part)) for part in re.split(r"(\*\*|\*)", PREFIX + path)))


_COMPILED = tuple((frozenset(rule.methods.split()), _pattern(rule.path), rule) for rule in RULES)


def rule_of(method: str, path: str) -> Rule | None:
    """Return the rule of an endpoint; None: the path is not the API's, and the page reads no body."""
    if path != PREFIX and not path.startswith(PREFIX + "/"):
        return None
    for methods, pattern, rule in _COMPILED:
        if ("*" in methods or method in methods) and pattern.fullmatch(path):
            return rule
    return RULES[-1]
