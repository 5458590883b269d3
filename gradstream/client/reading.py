"""Reading what a job did: its events, logs, metrics and artifacts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from gradstream.client.connection import Connection
from gradstream.client.models import Artifact, Chart, Config, Event, Job, LogChunk, MetricBatch, StreamEvent, Targets
from gradstream.errors import NotFound, Unavailable


class Reading(Connection):
    """The methods of `Client` that read what jobs did."""

    def follow(self, id: UUID | str, *, after: int = 0) -> Iterator[StreamEvent]:
        """Everything that happens to a job from `after` on, nothing missing and nothing twice, until it has ended."""
        for event in self._transport.stream(f"jobs/{id}/stream", after=after):
            if event.event == "gone":
                raise NotFound(f"the job {id} was deleted")
            happened = StreamEvent(int(event.id or 0), event.event, json.loads(event.data))
            yield happened
            if happened.kind == "job" and Job.model_validate(happened.data).ended:
                return

    def config(self, id: UUID | str) -> Config:
        """The job file as it was sent and as it was understood."""
        return Config.model_validate(self._transport.json("GET", f"jobs/{id}/config"))

    def events(self, id: UUID | str, *, kinds: Sequence[str] = (), after: int = 0, limit: int | None = None) -> list[Event]:
        """What happened, oldest first: of these kinds (none given: all), with a `seq` above `after`, so many at most."""
        params: dict[str, Any] = {"kind": list(kinds), "after": after, **({} if limit is None else {"limit": limit})}
        return [Event.model_validate(item) for item in self._transport.json("GET", f"jobs/{id}/events", params=params)["items"]]

    def logs(self, id: UUID | str, *, after: int = 0, **filters: Any) -> Iterator[LogChunk]:
        """The output stored so far. Filters: `role`, `rank`, `tail` (lines)."""
        params = {name: value for name, value in filters.items() if value is not None}
        while True:
            page = self._transport.json("GET", f"jobs/{id}/logs", params={**params, "after": after})
            yield from (LogChunk.model_validate(item) for item in page["items"])
            if not page["items"] or "tail" in params or page["next"] <= after:
                return
            after = page["next"]

    def metrics(self, id: UUID | str, **filters: Any) -> Iterator[MetricBatch]:
        """Every stored point. Filters: `names`, `source`, `rank`."""
        params = {name: value for name, value in filters.items() if value is not None}
        after = 0
        while True:
            page = self._transport.json("GET", f"jobs/{id}/metrics", params={**params, "after": after, "limit": 1000})
            yield from (MetricBatch.model_validate(item) for item in page["items"])
            if not page["items"] or page["next"] <= after:
                return
            after = page["next"]

    def charts(self, id: UUID | str, names: Sequence[str], **options: Any) -> list[Chart]:
        """What every column of a drawing holds, exactly, of each of these metrics. Options: `x` (step, samples, version, time),
        `start` and `end` on that axis, `columns`."""
        said = {"start": "from", "end": "to"}
        params = {said.get(option, option): value for option, value in options.items() if value is not None}
        answer = self._transport.json("GET", f"jobs/{id}/chart", params={"name": list(names), **params})
        return [Chart.model_validate(item) for item in answer["charts"]]

    def measured(self, id: UUID | str) -> list[str]:
        """The names of what the job has measured."""
        return [item["name"] for item in self._items(f"jobs/{id}/metrics/names")]

    def targets(
        self, ids: Sequence[UUID | str], metric: str, *, at_least: float | None = None, at_most: float | None = None
    ) -> Targets:
        """When each of these jobs first reached a value of a metric. Give one of `at_least` and `at_most`."""
        params: dict[str, Any] = {"job": [str(id) for id in ids], "metric": metric}
        goal = {name: value for name, value in (("at_least", at_least), ("at_most", at_most)) if value is not None}
        return Targets.model_validate(self._transport.json("GET", "compare/target", params={**params, **goal}))

    def catalogue(self) -> list[dict[str, Any]]:
        """Every metric of the platform: name, unit, meaning, better."""
        return list(self._transport.json("GET", "metrics/catalogue"))

    def artifacts(self, id: UUID | str) -> list[Artifact]:
        return [Artifact.model_validate(item) for item in self._items(f"jobs/{id}/artifacts")]

    def download(self, id: UUID | str, name: str, *, into: Path) -> Path:
        """Fetch one artifact into the folder `into`; it appears there only whole and with the right checksum."""
        wanted = {artifact.name: artifact for artifact in self.artifacts(id)}.get(name)
        if wanted is None:
            raise NotFound(f"the job has no artifact '{name}'")
        target = into / Path(name).name
        into.mkdir(parents=True, exist_ok=True)
        partial, digest = target.with_name(f"{target.name}.part"), hashlib.sha256()
        with partial.open("wb") as file:
            for block in self._transport.bytes(f"jobs/{id}/artifacts/{name}"):
                digest.update(block)
                file.write(block)
        if digest.hexdigest() != wanted.sha256:
            partial.unlink()
            raise Unavailable(f"{name} arrived damaged; try again")
        return partial.replace(target)
