"""`gradstream download`"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gradstream.cli.common import AsJson, JobReference, TokenFile, Url, connect

if TYPE_CHECKING:
    from gradstream.client import Artifact, Client, Job

JOB_FILE = "job.yaml"


def command(
    job: JobReference,
    names: Annotated[
        list[str] | None, typer.Argument(help="Names of files; default: the model, the job file and the metrics")
    ] = None,
    into: Annotated[Path | None, typer.Option("--into", "-o", help="Folder; default: <job name>-<id> here")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace other files of the same name")] = False,
    code: Annotated[bool, typer.Option("--code", help="Only the job's code, as submitted, into <folder>/code")] = False,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Download what a job made. Prints the path of each file; checksums are verified.

    Example: gradstream download digits model.safetensors --into models
    """
    from gradstream.cli.terminal.output import print_json, size, talk
    from gradstream.errors import NotFound
    from gradstream.process.saving.model_files import with_parts

    with connect(url, token_file) as client:
        found = client.find(job)
        if code:
            _download_code(client, found, into, as_json)
            return
        there = {artifact.name: artifact for artifact in client.artifacts(found.id)}
        wanted = with_parts(names or [], there) or [name for name, artifact in there.items() if artifact.kind != "checkpoint"]
        if missing := [name for name in wanted if name not in there]:
            raise NotFound(f"{found.name} has no {', '.join(missing)}; it has: {', '.join(there) or 'no files yet'}")
        if not wanted:
            raise NotFound(f"{found.name} has no files yet; it is {found.status}")
        folder = into or Path(f"{found.name}-{str(found.id)[:8]}")
        _refuse_to_replace(folder, [there[name] for name in wanted], force=force)
        _mark(folder, wanted, str(found.id))
        paths = [client.download(found.id, name, into=folder) for name in wanted]
    talk(f"{len(paths)} files, {size(sum(there[name].size for name in wanted))}")
    if as_json:
        print_json({"files": [{**there[name].as_dict(), "path": str(path)} for name, path in zip(wanted, paths, strict=True)]})
        return
    for path in paths:
        print(path)


def _download_code(client: Client, job: Job, into: Path | None, as_json: bool) -> None:
    """Raises: NotFound: it has none. Conflict: there is something else."""
    from gradstream import marker
    from gradstream.cli.terminal.output import print_json, size, talk

    if into is None:
        home = Path(f"{job.name}-{str(job.id)[:8]}")
        if not home.exists():
            home.mkdir()
            marker.write_marker(home, "download", job=str(job.id))
        into = home / "code"
    paths = client.download_code(job.id, into=into)
    talk(f"{len(paths)} files, {size(sum(path.stat().st_size for path in paths))}; submit it again with --code {into}")
    if as_json:
        print_json({"files": [{"path": str(path), "size": path.stat().st_size} for path in paths]})
        return
    for path in paths:
        print(path)


def _refuse_to_replace(folder: Path, wanted: list[Artifact], *, force: bool) -> None:
    """Raises: Conflict: files of other content are in the way. A job file beside a user's sources is theirs, also with --force."""
    from gradstream import marker
    from gradstream.errors import Conflict

    others = [artifact.name for artifact in wanted if _is_another(folder / artifact.name, artifact)]
    found = marker.read_marker(folder)
    if JOB_FILE in others and not (force and found and found.kind == "download"):
        raise Conflict(
            f"{folder / JOB_FILE} is another job file and is kept; choose another folder with --into, or name the files you want"
        )
    if others and not force:
        raise Conflict(f"{folder} already has another {', '.join(others)}; use --force or --into")


def _mark(folder: Path, names: list[str], job: str) -> None:
    """Say in the folder what of it is no source, so that no bundle takes it in: all of a folder that is made here, and these
    files of any other."""
    from gradstream import marker

    is_new = not folder.exists() or not any(folder.iterdir())
    found = marker.read_marker(folder)
    if is_new:
        folder.mkdir(parents=True, exist_ok=True)
        marker.write_marker(folder, "download", job=job)
    elif found is None or found.kind == "files":
        before = found.holds if found else ()
        marker.write_marker(folder, "files", {*before, *names} - {JOB_FILE})


def _is_another(path: Path, artifact: Artifact) -> bool:
    if not path.exists():
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() != artifact.sha256
