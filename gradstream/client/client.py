"""What can be asked of a platform."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID, uuid4

from gradstream import bundle as bundles
from gradstream.client.credentials import Credentials
from gradstream.client.models import (
    Artifact,
    Chart,
    Choices,
    Config,
    Event,
    Job,
    JobPage,
    LogChunk,
    MetricBatch,
    Node,
    Plan,
    Process,
    StreamEvent,
    Targets,
)
from gradstream.client.transport import Transport
from gradstream.errors import Invalid, InvalidBundle, NotFound, Unavailable
from gradstream.spec import JobSpec

if TYPE_CHECKING:
    import httpx

_LONG_POLL = 15.0


class Client:
    """All methods raise `gradstream.errors`: NotSignedIn, NotFound, Conflict, Invalid with its problems, and Unavailable once
    a server has not answered for `patience` seconds. Requests that are safe to repeat are repeated until then."""

    def __init__(
        self, credentials: Credentials, *, patience: float = 10.0, on_retry: Callable[[str], None] = lambda why: None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:  # fmt: skip
        """`on_retry(why)` is called before each repeated request; `transport` replaces the network."""
        self.url = credentials.url
        self._transport = Transport(credentials, patience=patience, on_retry=on_retry, inner=transport)

    @classmethod
    def from_environment(cls, **options: Any) -> Self:
        """With GRADSTREAM_URL and GRADSTREAM_TOKEN, what `gradstream login` kept, or the platform that runs here."""
        return cls(Credentials.find(), **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._transport.close()

    def user(self) -> str:
        """Name of the user whose token this is."""
        return str(self._transport.json("GET", "session")["user"]["name"])

    def sign_in_link(self) -> str:
        """An address of the page that signs one browser in, once, as this user."""
        return str(self._transport.json("POST", "sign-in-codes", safe=False)["url"])

    def upload(self, code: Path) -> str:
        """Bundle a folder or file, send it unless the platform has it, and return its hash."""
        packed = bundles.pack(code)
        return self._send(packed)

    def submit(
        self, spec: JobSpec, *, code: Path | None = None, bundle: str | None = None, key: str | None = None,
        source: str | None = None, overrides: Sequence[str] = (),
    ) -> Job:  # fmt: skip
        """Queue a job whose user code is in the folder or file `code`, or in a bundle that was uploaded before.

        `key` makes it safe to call this again: the same key gives the same job. `source` is the text that `spec` was read from,
        with `overrides` set over it; it is kept as it is.
        """
        if code is not None:
            packed = bundles.pack(code)
            if not packed.holds(spec.workload.entrypoint):
                module = spec.workload.entrypoint.partition(":")[0]
                raise InvalidBundle(f"workload.entrypoint names the module '{module}', which is not in {code}")
            bundle = self._send(packed)
        if key and not (key.isascii() and key.isprintable()):
            raise Invalid(f"the idempotency key '{key}' has characters that HTTP does not carry; use letters, digits and '-'")
        body = {"spec": spec.model_dump(mode="json"), "bundle": bundle, "source": source, "overrides": list(overrides)}
        headers = {"Idempotency-Key": key or str(uuid4())}
        return Job.model_validate(self._transport.json("POST", "jobs", json=body, headers=headers))

    def plan(
        self, spec: JobSpec, *, code: Path | None = None, bundle: str | None = None, size: Mapping[str, float] | None = None
    ) -> Plan:
        """What would become of a job if it were submitted now. Sends no code and changes nothing.

        `size`: of the model, as {"parameters": ..., "step": seconds of a mini-batch}; else that of an earlier job counts."""
        if code is not None:
            bundle = bundles.pack(code).hash
        body = {"spec": spec.model_dump(mode="json"), "bundle": bundle, "size": size and dict(size)}
        return Plan.model_validate(self._transport.json("POST", "jobs/plan", json=body))

    def job(self, id: UUID | str, *, wait: float = 0, since: int = -1) -> Job:
        """One job; with `wait`, as soon as its `seq` is above `since`, at the latest after so many seconds (up to 30)."""
        params = {"wait": wait, "since": since}
        return Job.model_validate(self._transport.json("GET", f"jobs/{id}", params=params, timeout=wait + 20))

    def jobs(self, *, limit: int = 50, cursor: str | None = None, **filters: Any) -> JobPage:
        """Newest first. Filters: `status`, `strategy`, `user` (lists), `q` (part of the name); `sort` and `descending` for another
        order, in which all pages have to be asked for."""
        asked = {"limit": limit, "cursor": cursor, **filters}
        params = {name: value for name, value in asked.items() if value is not None}
        return JobPage.model_validate(self._transport.json("GET", "jobs", params=params))

    def find(self, reference: str) -> Job:
        """The job with this id, with an id that begins so (4 characters or more), or the newest one of this name."""
        try:
            return self.job(UUID(reference))
        except ValueError:
            pass
        cursor: str | None = None
        for _ in range(50):  # 10,000 jobs back
            page = self.jobs(limit=200, cursor=cursor)
            by_id = [job for job in page.items if len(reference) >= 4 and str(job.id).startswith(reference.lower())]
            if len(by_id) > 1:
                raise Invalid(f"'{reference}' is the beginning of {len(by_id)} ids; write more of it")
            for job in by_id or [job for job in page.items if job.name == reference]:
                return self.job(job.id)
            cursor = page.next_cursor
            if cursor is None:
                break
        raise NotFound(f"there is no job '{reference}'; `gradstream jobs` lists them")

    def wait(self, id: UUID | str, *, timeout: float | None = None) -> Job:
        """The job as it ended. Raises: TimeoutError: it has not ended within `timeout` seconds; it goes on."""
        until = None if timeout is None else time.monotonic() + timeout
        job = self.job(id)
        while not job.ended:
            left = _LONG_POLL if until is None else until - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"{job.name} is still {job.status}")
            job = self.job(id, wait=min(left, _LONG_POLL), since=job.seq)
        return job

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

    def stop(self, id: UUID | str) -> Job:
        return Job.model_validate(self._transport.json("POST", f"jobs/{id}/stop"))

    def delete(self, id: UUID | str) -> None:
        self._transport.json("DELETE", f"jobs/{id}")

    def events(self, id: UUID | str, *, kinds: Sequence[str] = (), after: int = 0, limit: int | None = None) -> list[Event]:
        """What happened, oldest first: of these kinds (none given: all), with a `seq` above `after`, so many at most."""
        params: dict[str, Any] = {"kind": list(kinds), "after": after, **({} if limit is None else {"limit": limit})}
        return [Event.model_validate(item) for item in self._transport.json("GET", f"jobs/{id}/events", params=params)["items"]]

    def processes(self, id: UUID | str) -> list[Process]:
        return [Process.model_validate(item) for item in self._items(f"jobs/{id}/processes")]

    def live_process(self, id: UUID | str, label: str) -> Process:
        """The process of this label that has not ended. Raises: NotFound."""
        live = {process.label: process for process in self.processes(id) if process.status in ("assigned", "starting", "running")}
        if label not in live:
            raise NotFound(f"the job has no process '{label}' that runs; it has: {', '.join(sorted(live)) or 'none'}")
        return live[label]

    def choices(self, id: UUID | str, process_id: UUID | str) -> Choices:
        """What a restart and a stop of one process would cost."""
        return Choices.model_validate(self._transport.json("GET", f"jobs/{id}/processes/{process_id}/choices"))

    def restart_process(self, id: UUID | str, process_id: UUID | str) -> Process:
        """End a process of a running job; its next incarnation follows, or a new attempt of the whole job."""
        return Process.model_validate(self._transport.json("POST", f"jobs/{id}/processes/{process_id}/restart", safe=False))

    def stop_process(self, id: UUID | str, process_id: UUID | str) -> Process:
        """Ask a worker to leave at its next boundary; the others go on."""
        return Process.model_validate(self._transport.json("POST", f"jobs/{id}/processes/{process_id}/stop"))

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

    def nodes(self) -> list[Node]:
        return [Node.model_validate(item) for item in self._items("nodes")]

    def drain(self, name: str) -> Node:
        """Place no process on the node of this name any more; what runs there may finish."""
        return self._change_node(name, "drain")

    def resume(self, name: str) -> Node:
        """Place processes on the node of this name again."""
        return self._change_node(name, "resume")

    def _change_node(self, name: str, change: str) -> Node:
        known = {node.name: node.id for node in self.nodes()}
        if name not in known:
            raise NotFound(f"there is no node '{name}'; `gradstream nodes` lists them")
        return Node.model_validate(self._transport.json("POST", f"nodes/{known[name]}/{change}"))

    def _items(self, path: str) -> list[Any]:
        return list(self._transport.json("GET", path)["items"])

    def _send(self, packed: bundles.Bundle) -> str:
        try:
            self._transport.json("GET", f"bundles/{packed.hash}")
        except NotFound:
            headers = {"Content-Type": "application/gzip"}
            self._transport.json("POST", "bundles", content=packed.data, headers=headers, timeout=120)
        return packed.hash
