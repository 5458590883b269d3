"""Reading what a job did: its events, logs, metrics and artifacts."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from gradstream.api.charts import Chart, Importance, MetricBatch, Targets
from gradstream.api.history import Artifact, Event, LogChunk, StreamEvent
from gradstream.api.jobs import Config, Job
from gradstream.api.progress import GroupLoad
from gradstream.api.stragglers import Stragglers
from gradstream.client.connection import ApiConnection, JobReference
from gradstream.client.methods.metric_points import MetricPoints
from gradstream.errors import NotFound
from gradstream.events import EventKind
from gradstream.process.environment import ENVIRONMENT, Environment
from gradstream.process.saving.model_files import tensor_files, with_parts


class Reading(ApiConnection):
    """The methods of `Client` that read what jobs did."""

    def follow(self, job: JobReference, *, after: int = 0) -> Iterator[StreamEvent]:
        """Yield all that happens to a job from `after` on, without gaps or repeats, until it has ended."""
        id = self._id(job)
        for event in self._transport.stream(f"jobs/{id}/stream", after=after):
            if event.event == "gone":
                raise NotFound(f"the job {id} was deleted")
            happened = StreamEvent(int(event.id or 0), event.event, json.loads(event.data))
            yield happened
            if happened.kind == "job" and Job.model_validate(happened.data).ended:
                return

    def config(self, job: JobReference) -> Config:
        """Return the job file as it was sent and as the platform reads it."""
        return Config.model_validate(self._transport.json("GET", f"jobs/{self._id(job)}/config"))

    def stragglers(self, job: JobReference) -> Stragglers:
        """Return the slow workers of the newest attempt: since when, why, what they cost, and what would help."""
        return Stragglers.model_validate(self._transport.json("GET", f"jobs/{self._id(job)}/stragglers"))

    def groups(self, job: JobReference) -> list[GroupLoad]:
        """Return the workers of the live attempt that are groups, each with the figures of its processes; empty: there are none."""
        workers = self._transport.json("GET", f"jobs/{self._id(job)}/overview")["workers"]
        return [GroupLoad(rank=one["rank"], label=one["label"], peers=one["peers"]) for one in workers if one.get("peers")]

    def events(
        self, job: JobReference, *, kinds: Sequence[EventKind | str] = (), after: int = 0, limit: int | None = None
    ) -> list[Event]:
        """Return events, oldest first: of these kinds (none given: all), with a `seq` above `after`, at most `limit`."""
        params: dict[str, Any] = {"kind": list(kinds), "after": after, **({} if limit is None else {"limit": limit})}
        return [
            Event.model_validate(item)
            for item in self._transport.json("GET", f"jobs/{self._id(job)}/events", params=params)["items"]
        ]

    def logs(
        self,
        job: JobReference,
        *,
        after: int = 0,
        role: str | None = None,
        rank: int | None = None,
        tail: int | None = None,
    ) -> Iterator[LogChunk]:
        """Yield the output stored so far, oldest first; `tail` is a number of lines."""
        id, asked = self._id(job), {"role": role, "rank": rank, "tail": tail}
        params = {name: value for name, value in asked.items() if value is not None}
        if tail is not None:
            yield from self._last_logs(id, params, tail)
            return
        while True:
            page = self._transport.json("GET", f"jobs/{id}/logs", params={**params, "after": after})
            yield from (LogChunk.model_validate(item) for item in page["items"])
            if not page["items"] or page["next"] <= after:
                return
            after = page["next"]

    def _last_logs(self, id: UUID, params: dict[str, Any], lines: int) -> Iterator[LogChunk]:
        """Pages are bounded, so the last lines may take several, read from the end back."""
        pages: list[list[LogChunk]] = []
        while True:
            page = self._transport.json("GET", f"jobs/{id}/logs", params=params)
            pages.append([LogChunk.model_validate(item) for item in page["items"]])
            lines -= sum(chunk.text.count("\n") for chunk in pages[-1])
            if page.get("earlier") is None or lines < 0:
                break
            params = {**params, "before": page["earlier"]}
        for items in reversed(pages):
            yield from items

    def metrics(
        self,
        job: JobReference,
        *,
        names: Sequence[str] | str | None = None,
        source: str | None = None,
        rank: int | None = None,
    ) -> MetricPoints:
        """Every stored point: iterate over the batches, or call `to_pandas()` or `to_polars()` for one table.

        Raises: NotFound: the job has measured nothing of this name.
        """
        id = self._id(job)
        wanted = [names] if isinstance(names, str) else list(names or [])
        if wanted:
            self._refuse_unknown_metrics(id, wanted)
        asked = {"names": wanted or None, "source": source, "rank": rank}
        params = {name: value for name, value in asked.items() if value is not None}
        return MetricPoints(lambda: self._metric_batches(id, params))

    def _metric_batches(self, id: UUID, params: dict[str, Any]) -> Iterator[MetricBatch]:
        after = 0
        while True:
            page = self._transport.json("GET", f"jobs/{id}/metrics", params={**params, "after": after, "limit": 1000})
            yield from (MetricBatch.model_validate(item) for item in page["items"])
            if not page["items"] or page["next"] <= after:
                return
            after = page["next"]

    def charts(
        self,
        job: JobReference,
        names: Sequence[str],
        *,
        x: str | None = None,
        start: float | None = None,
        end: float | None = None,
        columns: int | None = None,
    ) -> list[Chart]:
        """All that every column of a drawing holds, exactly, for each of these metrics. `x` is step, samples, version or time;
        `start` and `end` are on that axis. Raises: NotFound: the job has measured nothing of this name."""
        asked = {"x": x, "from": start, "to": end, "columns": columns}
        params = {name: value for name, value in asked.items() if value is not None}
        id = self._id(job)
        self._refuse_unknown_metrics(id, names)
        response = self._transport.json("GET", f"jobs/{id}/chart", params={"name": list(names), **params})
        return [Chart.model_validate(item) for item in response["charts"]]

    def _refuse_unknown_metrics(self, id: UUID, names: Sequence[str]) -> None:
        known = set(self.measured(id))
        if known.issuperset(names):
            return
        known |= {str(metric["name"]) for metric in self.catalogue()}
        for name in names:
            if name not in known:
                close = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean '{close[0]}'?" if close else f"it has {', '.join(sorted(known))}"
                raise NotFound(f"the job has no metric '{name}'; {hint}")

    def measured(self, job: JobReference) -> list[str]:
        """The names of what the job has measured."""
        return [item["name"] for item in self._items(f"jobs/{self._id(job)}/metrics/names")]

    def targets(
        self, jobs: Sequence[JobReference], metric: str, *, at_least: float | None = None, at_most: float | None = None
    ) -> Targets:
        """When each of these jobs first reached a value of a metric. Give one of `at_least` and `at_most`."""
        params: dict[str, Any] = {"job": [str(self._id(job)) for job in jobs], "metric": metric}
        goal = {name: value for name, value in (("at_least", at_least), ("at_most", at_most)) if value is not None}
        return Targets.model_validate(self._transport.json("GET", "compare/target", params={**params, **goal}))

    def importance(self, jobs: Sequence[JobReference], figure: str) -> Importance:
        """Rank the settings that differ between ended jobs by how well they explain a figure.

        `figure`: a metric for its last value, `min:` or `max:` before it for its lowest or highest, or
        `loss`, `staleness`, `seconds`, `samples` or `speed`. Check `reason` and `believed` of the result first."""
        params = {"job": [str(self._id(job)) for job in jobs], "figure": figure}
        return Importance.model_validate(self._transport.json("GET", "compare/importance", params=params))

    def catalogue(self) -> list[dict[str, Any]]:
        """Every metric of the platform: name, unit, meaning, better."""
        return list(self._transport.json("GET", "metrics/catalogue"))

    def environment(self, job: JobReference) -> Environment:
        """Python, packages and machine of worker 0 in the newest attempt. Raises: NotFound: the job has not trained yet."""
        return Environment.model_validate_json(b"".join(self._transport.bytes(f"jobs/{self._id(job)}/artifacts/{ENVIRONMENT}")))

    def artifacts(self, job: JobReference) -> list[Artifact]:
        return [Artifact.model_validate(item) for item in self._items(f"jobs/{self._id(job)}/artifacts")]

    def download(self, job: JobReference, name: str, *, into: Path | str = ".") -> Path:
        """Fetch one artifact into the folder `into`; it appears there only whole and with the right checksum. `model.safetensors`
        and `best.safetensors` also name models in parts: all parts are fetched, and the index's path is returned. Raises: Invalid:
        one was replaced meanwhile."""
        id, folder = self._id(job), Path(into)
        there = {artifact.name: artifact for artifact in self.artifacts(id)}
        names = with_parts([name], there)
        if missing := [each for each in names if each not in there]:
            raise NotFound(f"the job has no artifact '{missing[0]}'; it has {', '.join(there) or 'no files yet'}")
        path = [self._download(id, there[each], folder) for each in names][-1]
        if names != [name]:
            tensor_files(path)
        return path

    def _download(self, id: UUID, artifact: Artifact, folder: Path) -> Path:
        name = artifact.name
        target = folder / Path(name).name
        folder.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f"{target.name}.part")
        self._fetch(f"jobs/{id}/artifacts/{name}", partial, artifact.sha256)
        return partial.replace(target)
