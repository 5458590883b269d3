"""Events as lines in which the reason of a failure stands once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradstream.events import EventKind
from gradstream.process.headline import drop_reason

if TYPE_CHECKING:
    from gradstream.client import Event

_PREFIXES: dict[str, str] = {EventKind.WARNING: "alert: ", EventKind.RESOLVED: "resolved: "}


class EventLines:
    """The lines for events as they come, before a conclusion that tells why the job failed.

    The line of a process that failed waits until the platform tells what follows. If the job fails, the line has no reason. A
    process that fails while the others are ended has none either.
    """

    def __init__(self) -> None:
        self._held: list[Event] = []
        self._job_fails = False

    def take(self, event: Event) -> list[str]:
        """The lines to show now."""
        if _is_failure(event):
            self._held.append(event)
            return []
        message = _PREFIXES.get(event.kind, "") + event.message
        if not _tells_what_follows(event):
            return [message]
        held, self._held = self._held, []
        if event.kind == EventKind.STATUS:
            self._job_fails = event.data.get("to") == "failed"
        lines = [_without_reason(each) if self._job_fails else each.message for each in held]
        # without a process to blame, this event has the reason, and so has the conclusion
        return [*lines, "stopping" if self._job_fails and not held and message.startswith("stopping: ") else message]


def shorten_event(event: Event, told: str | None) -> str:
    """The message of an event, in short if `told` has its reason already."""
    reason = event.message.partition(": ")[2]
    return _without_reason(event) if told and reason and reason in told and _is_failure(event) else event.message


def _is_failure(event: Event) -> bool:
    """A process ended, and not well; the controller's events of new processes have no reason."""
    return event.kind == EventKind.PROCESS and event.data.get("reason", "done") not in ("done", "stopped")


def _tells_what_follows(event: Event) -> bool:
    """The job or its attempt changes, a process starts again, or the platform waits for a machine to start it on."""
    respawn = event.kind == EventKind.PROCESS and "reason" not in event.data
    return (
        event.kind in (EventKind.STATUS, EventKind.ATTEMPT)
        or respawn
        or (event.kind == EventKind.WARNING and event.actor == "controller")
    )


def _without_reason(event: Event) -> str:
    return drop_reason(event.message, event.message.partition(": ")[2])
