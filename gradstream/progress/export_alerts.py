"""Exports that a server could not store: their alerts, and the delay until the next one. Pure."""

from __future__ import annotations

from pydantic import BaseModel, Field

from gradstream.metrics import Point

RETRY_DELAY, MAX_RETRY_DELAY = 10.0, 600.0
"""Seconds from the request of an export that failed to the next request: after the first failure, and at most."""


class FailedExports(BaseModel):
    """Exports of one attempt, in a row, whose part a server could not store. Rows of Postgres hold its fields by name."""

    by_server: dict[int, int] = Field(default_factory=dict)
    """Their number, by the server's; 0: the newest one is stored."""
    place: int = 0
    """The place of the newest one, in the log of the attempt. 0: none has failed."""

    def take(self, point: Point) -> None:
        """`point`: of `export/failed`. Its step is the export's place."""
        self.by_server[point.rank] = int(point.value)
        if point.value:
            self.place = max(self.place, point.step)

    def retry_delay(self, place: int) -> float | None:
        """Return the seconds from the request of the export at this place to the next request, doubled with each failure in a row.
        None: it has not failed."""
        failures = max(self.by_server.values(), default=0)
        if not failures or place != self.place:
            return None
        return min(RETRY_DELAY * 2.0 ** min(failures - 1, 30), MAX_RETRY_DELAY)

    def alerts(self, *, ended: bool = False) -> dict[str, str]:
        """Return a sentence for each server, by a key that changes with each export. `ended`: the job is over."""
        failed = sorted((server, count) for server, count in self.by_server.items() if count)
        return {f"{server} {count}": _sentence(server, count, ended=ended) for server, count in failed}

    def resolutions(self) -> dict[int, str]:
        """Return the sentence that says an alert is over, for each server that has one."""
        return {
            server: f"server-{server} has stored its part of the newest export, with the changes of those that failed."
            for server, count in self.by_server.items()
            if count
        }


def _sentence(server: int, count: int, *, ended: bool) -> str:
    which = "the last export" if count == 1 else f"any of the last {count} exports"
    changes = "The job ended before another export." if ended else "No change is lost: the next export that is stored has them all."
    return (
        f"server-{server} could not store its part of {which}, so readers keep an earlier one. {changes} "
        f"The log of server-{server} names the tables and the reason. Look for a full disk of the platform, or an API that "
        f"{'was' if ended else 'is'} away."
    )
