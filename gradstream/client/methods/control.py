"""Changing what runs: jobs, their processes, nodes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal
from uuid import UUID

from gradstream.api.history import Choices, Process
from gradstream.api.jobs import Job, Queue
from gradstream.api.platform import BrowserSession, Collection, CreatedToken, Node, PlatformStorage, Token
from gradstream.client.connection import ApiConnection, JobReference
from gradstream.errors import Conflict, NotFound

_LONG_POLL = 15.0


class Control(ApiConnection):
    """The methods of `Client` that wait for jobs and change what runs."""

    def wait(self, job: JobReference, *, timeout: float | None = None) -> Job:
        """The job as it ended. Raises: TimeoutError: it has not ended within `timeout` seconds; it keeps running."""
        until = None if timeout is None else time.monotonic() + timeout
        found = self.find(job)
        while not found.ended:
            left = _LONG_POLL if until is None else until - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"{found.name} is still {found.status} after {timeout:g} s; it keeps running")
            found = self.job(found.id, wait=min(left, _LONG_POLL), since=found.seq)
        return found

    def stop(self, job: JobReference) -> Job:
        return Job.model_validate(self._transport.json("POST", f"jobs/{self._id(job)}/stop"))

    def delete(self, job: JobReference) -> None:
        self._transport.json("DELETE", f"jobs/{self._id(job)}")

    def change_priority(self, job: JobReference, priority: int) -> Job:
        """0 to 100; of the jobs that wait, those of higher priority start first."""
        path = f"jobs/{self._id(job)}/priority"
        return Job.model_validate(self._transport.json("POST", path, json={"priority": priority}))

    def edit(
        self,
        job: JobReference,
        *,
        name: str | None = None,
        tags: Sequence[str] | None = None,
        note: str | None = None,
        archived: bool | None = None,
    ) -> Job:
        """Change the name, all tags or the note of a job, or archive it; None leaves a field as it is. Raises: Conflict: a job that
        has not ended cannot be archived."""
        given = {"name": name, "tags": None if tags is None else list(tags), "note": note, "archived": archived}
        body = {field: value for field, value in given.items() if value is not None}
        return Job.model_validate(self._transport.json("PATCH", f"jobs/{self._id(job)}", json=body))

    def queue(self) -> Queue:
        """The jobs that wait, in the order in which they start, and the jobs that hold machines."""
        return Queue.model_validate(self._transport.json("GET", "jobs/queue"))

    def processes(self, job: JobReference) -> list[Process]:
        return [Process.model_validate(item) for item in self._items(f"jobs/{self._id(job)}/processes")]

    def live_process(self, job: JobReference, label: str) -> Process:
        """Return the process of this label that has not ended. Raises: NotFound. Conflict: the job has ended."""
        live = {process.label: process for process in self.processes(job) if process.status in ("assigned", "starting", "running")}
        if not live and (found := self.find(job)).ended:
            raise Conflict(f"{found.name} has ended ({found.status}); no process of it runs")
        if label not in live:
            raise NotFound(f"the job has no process '{label}' that runs; it has: {', '.join(sorted(live)) or 'none'}")
        return live[label]

    def choices(self, job: JobReference, process_id: UUID | str) -> Choices:
        """Return the costs of a restart and of a stop of one process."""
        return Choices.model_validate(self._transport.json("GET", f"jobs/{self._id(job)}/processes/{process_id}/choices"))

    def restart_process(self, job: JobReference, process_id: UUID | str) -> Process:
        """End a process of a running job; its next incarnation follows, or a new attempt of the whole job."""
        return Process.model_validate(
            self._transport.json("POST", f"jobs/{self._id(job)}/processes/{process_id}/restart", safe=False)
        )

    def stop_process(self, job: JobReference, process_id: UUID | str) -> Process:
        """Ask a worker to leave at its next boundary; the others go on."""
        return Process.model_validate(self._transport.json("POST", f"jobs/{self._id(job)}/processes/{process_id}/stop"))

    def tokens(self) -> list[Token]:
        """Return your API tokens and join tokens, newest first, without their secrets."""
        return [Token.model_validate(item) for item in self._items("tokens")]

    def create_token(
        self,
        name: str,
        *,
        kind: Literal["api", "join"] = "api",
        scope: Literal["read", "full"] | None = None,
        expires_in: float | None = None,
        uses: int | None = None,
    ) -> CreatedToken:
        """Its `token` is shown this once. `join`: machines join with it, and can do nothing else.

        `scope`, of an API token: `read` sees everything and changes nothing; None: full. `expires_in`: seconds; None: an API
        token never expires, a join token after an hour. `uses`: machines that may join with it; None: one."""
        body = {"name": name, "kind": kind, "scope": scope, "expires_in": expires_in, "uses": uses}
        return CreatedToken.model_validate(self._transport.json("POST", "tokens", safe=False, json=body))

    def revoke_token(self, id: UUID | str) -> None:
        """At once, with the browser sessions that came from it. Machines that have joined with it stay."""
        self._transport.json("DELETE", f"tokens/{id}")

    def sessions(self) -> list[BrowserSession]:
        """The browsers in which you are signed in, the last used first."""
        return [BrowserSession.model_validate(item) for item in self._items("sessions")]

    def end_session(self, id: UUID | str) -> None:
        """Sign a browser out at once. The events that it follows end within 30 s."""
        self._transport.json("DELETE", f"sessions/{id}")

    def storage(self) -> PlatformStorage:
        """How much the platform keeps of each kind, and what is free on its disk."""
        return PlatformStorage.model_validate(self._transport.json("GET", "storage"))

    def collect_storage(self, *, dry_run: bool = False) -> Collection:
        """Remove unused data, for 10 s at most; with `dry_run` only list it. The platform does so every hour by itself."""
        return Collection.model_validate(self._transport.json("POST", "storage/collect", params={"dry_run": dry_run}))

    def nodes(self) -> list[Node]:
        return [Node.model_validate(item) for item in self._items("nodes")]

    def drain(self, name: str) -> Node:
        """Place no process on the node of this name any more; what runs there may finish."""
        return self._change_node(name, "drain")

    def resume(self, name: str) -> Node:
        """Place processes on the node of this name again."""
        return self._change_node(name, "resume")

    def rotate_node(self, name: str) -> Node:
        """Ask the node of this name for another credential. Its processes go on; `rotating_since` is None once it has changed."""
        return self._change_node(name, "rotate")

    def remove_node(self, name: str) -> None:
        """Take a machine that is gone out of the list. Raises: Conflict: processes run there, and it does not drain."""
        self._transport.json("DELETE", f"nodes/{self.node(name).id}")

    def node(self, name: str) -> Node:
        """Raises: NotFound."""
        known = {node.name: node for node in self.nodes()}
        if name not in known:
            raise NotFound(f"there is no node '{name}'; `gradstream nodes` lists them")
        return known[name]

    def _change_node(self, name: str, change: str) -> Node:
        return Node.model_validate(self._transport.json("POST", f"nodes/{self.node(name).id}/{change}"))
