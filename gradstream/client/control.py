"""Changing what runs: jobs, their processes, nodes."""

from __future__ import annotations

import time
from uuid import UUID

from gradstream.client.connection import Connection
from gradstream.client.models import Choices, Job, Node, Process
from gradstream.errors import NotFound

_LONG_POLL = 15.0


class Control(Connection):
    """The methods of `Client` that wait for jobs and change what runs."""

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

    def stop(self, id: UUID | str) -> Job:
        return Job.model_validate(self._transport.json("POST", f"jobs/{id}/stop"))

    def delete(self, id: UUID | str) -> None:
        self._transport.json("DELETE", f"jobs/{id}")

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
