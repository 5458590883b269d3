"""A job as Python callers give it: a `JobSpec`, a dict, a path; with its code in a folder or as a class."""

from __future__ import annotations

import inspect
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gradstream import bundle as bundles
from gradstream import jobfile
from gradstream.errors import InvalidBundle, InvalidJob, InvalidWorkload, Mistake, NotFound
from gradstream.jobfile import class_source
from gradstream.spec import JobSpec
from gradstream.workload_source import check_workload, read_folder

if TYPE_CHECKING:
    from gradstream.workload import Workload

JobSource = JobSpec | Mapping[str, Any] | Path | str
"""A checked job, the data of a job file, or the path of a job file or of the folder that holds `job.yaml`."""
_FILE = f"{class_source.MODULE}.py"


class PackedCode(NamedTuple):
    """User code as it travels, and what looks wrong in it."""

    bundle: bundles.Bundle
    warnings: list[Mistake]


@dataclass(frozen=True, slots=True)
class ResolvedJob:
    spec: JobSpec
    code: Path | None
    """Folder or file of user code."""
    source: str | None
    """The job file's text, if there is one."""
    overrides: list[str]
    """Values that override `source`."""
    class_text: str | None
    """Source of a class that stands in no module which others can import."""

    @property
    def has_code(self) -> bool:
        return self.code is not None or self.class_text is not None

    def pack_code(self) -> PackedCode:
        """Raises: InvalidJob: the job would fail at its start. InvalidBundle: code that cannot travel, or without the
        entrypoint's module."""
        if self.class_text is None:
            assert self.code is not None, "asked only if there is code"
            return self._pack(self.code)
        with tempfile.TemporaryDirectory() as folder:
            self.write_code(Path(folder))
            return self._pack(Path(folder))

    def _pack(self, code: Path) -> PackedCode:
        packed = bundles.pack(code)
        warnings = check_code(self.spec, code, self.source, self.overrides, sent=True)
        packed.require(self.spec.workload.entrypoint)
        return PackedCode(packed, warnings)

    def write_code(self, into: Path) -> None:
        """Write the code as workers get it below `into`, an empty folder. Raises: InvalidBundle."""
        if self.code is not None:
            bundles.unpack(bundles.pack(self.code).data, into)
        if self.class_text is not None:
            if (into / _FILE).exists():
                raise InvalidBundle(f"{self.code} has a file {_FILE}, where the class from your notebook goes; rename it")
            (into / _FILE).write_text(self.class_text, encoding="utf-8")


def resolve_job(
    job: JobSource,
    *,
    code: Path | str | None = None,
    workload: type[Workload] | None = None,
    overrides: Sequence[str] = (),
    source: str | None = None,
) -> ResolvedJob:
    """Raises: NotFound: no such file. InvalidJob, with every problem at once. InvalidWorkload: a class that cannot travel."""
    folder = Path(code) if code is not None else None
    given = list(overrides)
    text = None
    if workload is not None:
        entrypoint, folder, text = _locate_class(workload, folder)
        given.append(f"workload.entrypoint={entrypoint}")
    if isinstance(job, JobSpec):
        spec = jobfile.load(job.model_dump(mode="json", exclude_unset=True), given) if given and source is None else job
    elif isinstance(job, Mapping):
        spec = jobfile.load(job, given)
    else:
        file = find_job_file(Path(job))
        source = jobfile.read(file)
        spec = jobfile.load(source, given)
        folder = folder if folder is not None or text is not None else file.parent
    return ResolvedJob(spec, folder, source, given if source is not None else [], text)


def check_code(spec: JobSpec, code: Path, source: str | None, overrides: Sequence[str] = (), *, sent: bool) -> list[Mistake]:
    """Return likely mistakes in the code. `sent`: the job gets nothing but `code`; else modules may be installed here.

    Raises: InvalidJob: the job would fail at its start; with the lines of the job file `source`, if there is one."""
    found = check_workload(read_folder(code, whole=sent), spec)
    if found.errors and source is None:
        raise InvalidJob("the job does not fit its code", found.errors)
    if source is not None:
        jobfile.refuse(found.errors, source, overrides)
    return found.warnings


def find_job_file(path: Path) -> Path:
    """Return the file itself, or `job.yaml` in a folder. Raises: NotFound."""
    if not path.is_dir():
        return path
    if (path / "job.yaml").is_file():
        return path / "job.yaml"
    raise NotFound(f"the folder {path} has no job.yaml; name the job file")


def _locate_class(workload: type[Workload], code: Path | None) -> tuple[str, Path | None, str | None]:
    """Entrypoint, folder of code and, for a class that no module holds, its source."""
    if not isinstance(workload, type):
        raise InvalidWorkload("workload: give the class, not an object of it; its arguments go into workload.args of the job")
    name = workload.__qualname__
    if "." in name:
        raise InvalidWorkload(f"workload: {name} is defined inside of something else; define it at the top level")
    file = getattr(sys.modules.get(workload.__module__), "__file__", None)
    if workload.__module__ == "__main__" or file is None:
        return f"{class_source.MODULE}:{name}", code, class_source.collect_source(workload, code)
    path = Path(inspect.getfile(workload)).resolve()
    parts = workload.__module__.split(".")
    levels = len(parts) if path.name == "__init__.py" else len(parts) - 1
    root = code.resolve() if code is not None else path.parents[levels]
    if not path.is_relative_to(root):
        raise InvalidWorkload(f"workload: {name} is in {path}, which is not in the folder of code {code}")
    inside = path.relative_to(root).with_suffix("").parts
    module = ".".join(inside[:-1] if inside[-1] == "__init__" else inside)
    return f"{module}:{name}", root, None
