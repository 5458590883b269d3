"""Sending user code and job files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

from gradstream import bundle as bundles
from gradstream.client.connection import Connection
from gradstream.client.models import Job, Plan
from gradstream.errors import Invalid, InvalidBundle, NotFound
from gradstream.spec import JobSpec


class Submission(Connection):
    """The methods of `Client` that send code and jobs."""

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

    def _send(self, packed: bundles.Bundle) -> str:
        try:
            self._transport.json("GET", f"bundles/{packed.hash}")
        except NotFound:
            headers = {"Content-Type": "application/gzip"}
            self._transport.json("POST", "bundles", content=packed.data, headers=headers, timeout=120)
        return packed.hash
