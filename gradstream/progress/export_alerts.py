"""Alerts of exports that a server could not store. Pure."""

from __future__ import annotations

from pydantic import BaseModel, Field

from gradstream.metrics import Point


class FailedExports(BaseModel):
    """Exports of one attempt, in a row, whose part a server could not store. Rows of Postgres hold its fields by name."""

    by_server: dict[int, int] = Field(default_factory=dict)
    """Their number, by the server's; 0: the newest one is stored."""

    def take(self, point: Point) -> None:
        """`point`: of `export/failed`."""
        self.by_server[point.rank] = int(point.value)

    def alerts(self) -> dict[str, str]:
        """Return a sentence for each server, by a key that changes with each export."""
        return {f"{server} {count}": _sentence(server, count) for server, count in sorted(self.by_server.items()) if count}


def _sentence(server: int, count: int) -> str:
    which = "the last export" if count == 1 else f"any of the last {count} exports"
    return (
        f"server-{server} could not store its part of {which}, so readers keep an earlier one. No change is lost: the next export "
        f"that is stored has them all. The log of server-{server} names the tables and the reason. Look for a full disk of the "
        "platform, or an API that is away."
    )
