"""The job file that a command is given (a file, a folder with a job.yaml in it, or `-`), and where its code lies."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gradstream.cli.common import check_code

if TYPE_CHECKING:
    from gradstream.bundle import Bundle
    from gradstream.spec import JobSpec

_STREAMS = ("/dev", "/proc")


@dataclass(frozen=True, slots=True)
class GivenJob:
    text: str
    place: Path | None
    """The code that was named, or the job file's folder; None: the text came through a pipe."""

    @property
    def code(self) -> Path:
        """A folder or a file. Raises: Invalid: it is not known."""
        from gradstream.errors import Invalid

        if self.place is None:
            raise Invalid("a job file from standard input lies in no folder; name its code with --code FOLDER")
        return self.place

    @property
    def folder(self) -> Path:
        """The folder that the code is imported from. Raises: Invalid."""
        code = self.code.resolve()
        return code if code.is_dir() else code.parent

    def spec(self, overrides: Sequence[str] | None) -> JobSpec:
        """Raises: InvalidJob."""
        from gradstream import jobfile

        return jobfile.load(self.text, overrides or [])

    def check_code(self, spec: JobSpec, overrides: list[str] | None, *, sent: bool) -> None:
        """See `common.check_code`."""
        check_code(spec, self.text, overrides, self.code, sent=sent)


def find_job(job_file: Path, code: Path | None) -> GivenJob:
    """Raises: NotFound, InvalidJob: it is not there, or no text."""
    from gradstream import jobfile
    from gradstream.errors import InvalidJob
    from gradstream.jobfile.source import find_job_file

    if str(job_file) == "-" or _is_stream(job_file):
        try:
            text = sys.stdin.read() if str(job_file) == "-" else jobfile.read(job_file)
        except UnicodeDecodeError as error:
            raise InvalidJob(f"standard input cannot be read as text: {error}") from error
        return GivenJob(text, code)
    job_file = find_job_file(job_file)
    return GivenJob(jobfile.read(job_file), code or job_file.parent)


def _is_stream(path: Path) -> bool:
    """A pipe, or a file that only its descriptor leads to: it says nothing of where the code lies."""
    return (path.exists() and not (path.is_file() or path.is_dir())) or str(path.absolute()).startswith(_STREAMS)


def tell_bundle(packed: Bundle, *, sent: bool) -> None:
    """Say how much went out, and what stayed."""
    from gradstream.bundle.selecting import describe
    from gradstream.cli.terminal.output import size, talk

    count = f"{len(packed.files)} file{'s' * (len(packed.files) != 1)}, {size(packed.unpacked)}"
    talk(f"sent {count}" if sent else f"nothing sent: the platform has these {count} already")
    if left_out := list(describe(packed.left_out)):
        style = "yellow" if any(each.why == "credentials" for each in packed.left_out) else ""
        talk(f"left out: {', '.join(left_out)}; `gradstream submit --list` names all", style)


def list_bundle(packed: Bundle, *, as_json: bool) -> None:
    """Print the files of a bundle on stdout, and on stderr what is left out and why."""
    from dataclasses import asdict

    from gradstream.cli.terminal.output import print_json, print_table, size, talk

    if as_json:
        files = [{"path": file.path, "size": file.size} for file in packed.files]
        left_out = [asdict(each) for each in packed.left_out]
        print_json({"files": files, "left_out": left_out, "size": packed.unpacked, "compressed": len(packed.data)})
        return
    print_table(("file", ">size"), [(file.path, size(file.size)) for file in packed.files])
    for each in packed.left_out:
        talk(f"left out: {each.path} is {each.reason}", "yellow" if each.why == "credentials" else "dim")
    talk(f"{len(packed.files)} files, {size(packed.unpacked)}; nothing was sent")
