"""The code of jobs, as it was submitted."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

from gradstream import bundle as bundles
from gradstream.api.code import FileDifference, UncommittedChange
from gradstream.client.connection import ApiConnection, JobReference
from gradstream.errors import Conflict, NotFound, Unavailable


class CodeReading(ApiConnection):
    """The methods of `Client` about code."""

    def code_differences(self, job: JobReference, other: JobReference) -> list[FileDifference]:
        """Return the files in which the code of another job differs from that of this one, by path.

        Raises: NotFound: one of them has no code of its own."""
        before, after = self._bundle(job), self._bundle(other)
        if before == after:
            return []
        found = self._transport.json("GET", f"bundles/{before}/differences/{after}")
        return [FileDifference.model_validate(item) for item in found["items"]]

    def uncommitted_changes(self, job: JobReference) -> list[UncommittedChange]:
        """Return the submitted files that differed from the commit that `Job.origin` names, by path.

        Empty, too, if the job was submitted without git, or from the page."""
        found = self._transport.json("GET", f"jobs/{self._id(job)}/uncommitted")
        return [UncommittedChange.model_validate(item) for item in found["items"]]

    def _bundle(self, job: JobReference) -> str:
        found = self.job(self._id(job))
        if found.bundle is None:
            raise NotFound(f"{found.name} has no code of its own")
        return found.bundle

    def download_code(self, job: JobReference, *, into: Path | str) -> list[Path]:
        """Write the code of a job, as its processes got it, below `into`, which is made and must be empty.

        Raises: NotFound: the job has none. Conflict: `into` is not empty."""
        bundle, folder = self._bundle(job), Path(into)
        if folder.exists() and any(folder.iterdir()):
            raise Conflict(f"{folder} is not empty; choose another folder")
        data = b"".join(self._transport.bytes(f"bundles/{bundle}/archive"))
        if hashlib.sha256(data).hexdigest() != bundle:
            raise Unavailable("the code arrived damaged; try again")
        bundles.unpack(data, folder)
        for path in (paths := [folder / file.path for file in bundles.inspect(data).files]):
            path.chmod(path.stat().st_mode | stat.S_IWUSR)  # it is the user's now
        return sorted(paths)
