"""Sending user code and job files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from gradstream import bundle as bundles
from gradstream.api.jobs import Job, JobWarning
from gradstream.api.plan import Plan
from gradstream.bundle.commit.origin import collect_origin
from gradstream.bundle.commit.uncommitted import collect_uncommitted
from gradstream.client.connection import ApiConnection
from gradstream.errors import Invalid, NotFound
from gradstream.jobfile.source import JobSource, resolve_job

if TYPE_CHECKING:
    from gradstream.workload import Workload


class Submission(ApiConnection):
    """The methods of `Client` that send code and jobs."""

    def has_bundle(self, hash: str) -> bool:
        """Return whether the platform has a bundle of this hash."""
        try:
            self._transport.json("GET", f"bundles/{hash}")
        except NotFound:
            return False
        return True

    def upload(self, code: Path | str | bundles.Bundle) -> str:
        """Bundle a folder or file, send it unless the platform has it, and return its hash."""
        packed = code if isinstance(code, bundles.Bundle) else bundles.pack(Path(code))
        if not self.has_bundle(packed.hash):
            headers = {"Content-Type": "application/gzip"}
            self._transport.json("POST", "bundles", content=packed.data, headers=headers, timeout=120)
        return packed.hash

    def submit(
        self,
        job: JobSource,
        *,
        code: Path | str | None = None,
        workload: type[Workload] | None = None,
        bundle: str | None = None,
        key: str | None = None,
        source: str | None = None,
        overrides: Sequence[str] = (),
    ) -> Job:
        """Queue a job: a `JobSpec`, a dict with the keys of a job file, or the path of a job file or of its folder.

        Its user code is in the folder or file `code` (default, for a path: the job file's folder), in the class `workload`,
        which may be defined in a notebook, or in a `bundle` that was uploaded before. `key` makes it safe to call this again:
        the same key gives the same job. `overrides` are set over the job, as in `strategy.lr=0.1`; `source` is the text that
        a JobSpec was read from, which the platform keeps, with the git commit that the code is at.

        Raises: InvalidJob, InvalidBundle, InvalidWorkload before anything is sent.
        """
        found = resolve_job(job, code=code, workload=workload, overrides=overrides, source=source)
        packed = found.pack_code().bundle if found.has_code and bundle is None else None
        if packed:
            bundle = self.upload(packed)
        if key and not (key.isascii() and key.isprintable()):
            raise Invalid(f"the idempotency key '{key}' has characters that HTTP does not carry; use letters, digits and '-'")
        is_its_code = packed is not None or code is not None  # else the bundle may be of any folder
        files = [file.path for file in packed.files] if packed else None
        origin = collect_origin(found.code if is_its_code else None, files).model_dump()
        if origin["dirty"] and found.code and files is not None:
            origin["uncommitted"] = [each._asdict() for each in collect_uncommitted(found.code, files)]
        told = {"bundle": bundle, "source": found.source, "overrides": found.overrides, "origin": origin}
        body = {"spec": found.spec.model_dump(mode="json"), **told}
        headers = {"Idempotency-Key": key or str(uuid4())}
        return Job.model_validate(self._transport.json("POST", "jobs", json=body, headers=headers))

    def plan(
        self,
        job: JobSource,
        *,
        code: Path | str | None = None,
        workload: type[Workload] | None = None,
        bundle: str | None = None,
        size: Mapping[str, float] | None = None,
        source: str | None = None,
        overrides: Sequence[str] = (),
    ) -> Plan:
        """Placement, staleness, traffic and memory of a job if it were submitted now. Sends no code and changes nothing.

        `size`: of the model, as {"parameters": ..., "step": seconds of a mini-batch}; else that of an earlier job counts. The code
        is checked here, as `submit` does; its warnings are among the plan's. `overrides` and `source`: as for `submit`.

        Raises: InvalidJob, InvalidBundle, InvalidWorkload, as `submit` would."""
        found = resolve_job(job, code=code, workload=workload, overrides=overrides, source=source)
        warnings: list[JobWarning] = []
        if found.has_code and bundle is None:
            packed, problems = found.pack_code()
            bundle, warnings = packed.hash, [JobWarning(pointer=each.pointer, message=each.message) for each in problems]
        body: dict[str, Any] = {"spec": found.spec.model_dump(mode="json"), "bundle": bundle, "size": size and dict(size)}
        plan = Plan.model_validate(self._transport.json("POST", "jobs/plan", json=body))
        return plan.model_copy(update={"warnings": [*plan.warnings, *(each for each in warnings if each not in plan.warnings)]})
