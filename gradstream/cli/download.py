"""`gradstream download`"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gradstream.cli.common import AsJson, JobReference, TokenFile, Url, connect

if TYPE_CHECKING:
    from gradstream.client import Artifact


def command(
    job: JobReference,
    names: Annotated[list[str] | None, typer.Argument(help="Which files; default: the model, the job file and the metrics")] = None,
    into: Annotated[Path | None, typer.Option("--into", "-o", help="Folder; default: the job's name")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace other files of the same name")] = False,
    as_json: AsJson = False, url: Url = None, token_file: TokenFile = None,
) -> None:  # fmt: skip
    """Download what a job made. Prints the path of each file; checksums are verified.

    Example: gradstream download digits model.safetensors --into models
    """
    from gradstream.cli.output import print_json, size, talk
    from gradstream.errors import Conflict, NotFound

    with connect(url, token_file) as client:
        found = client.find(job)
        there = {artifact.name: artifact for artifact in client.artifacts(found.id)}
        wanted = names or [name for name, artifact in there.items() if artifact.kind != "cut"]
        if missing := [name for name in wanted if name not in there]:
            raise NotFound(f"{found.name} has no {', '.join(missing)}; it has: {', '.join(there) or 'no files yet'}")
        if not wanted:
            raise NotFound(f"{found.name} has no files yet; it is {found.status}")
        folder = into or Path(found.name)
        others = [name for name in wanted if not force and _is_another(folder / name, there[name])]
        if others:
            raise Conflict(f"{folder} already has another {', '.join(others)}; use --force or --into")
        paths = [client.download(found.id, name, into=folder) for name in wanted]
    talk(f"{len(paths)} files, {size(sum(there[name].size for name in wanted))}")
    if as_json:
        print_json({"files": [{**there[name].as_dict(), "path": str(path)} for name, path in zip(wanted, paths, strict=True)]})
        return
    for path in paths:
        print(path)


def _is_another(path: Path, artifact: Artifact) -> bool:
    if not path.exists():
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() != artifact.sha256
