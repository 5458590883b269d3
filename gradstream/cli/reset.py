"""`gradstream reset`: delete what a platform keeps on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gradstream.cli.common import AsJson
from gradstream.cli.starting import DataDir, options

KEPT = {
    "postgres": "database: jobs, metrics, accounts", "files": "bundles, cuts and models", "agent": "work folder of the node agent",
    "models": "models that the demo downloaded", "logs": "logs of the programs", "secrets": "passwords and keys",
    "client.json": "sign-in of the command line", "platform.json": "trace of a platform that was killed", "lock": "lock",
}  # fmt: skip
"""All that a data folder consists of; nothing else in it is touched."""


def command(
    data_dir: DataDir = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a data folder: all jobs, metrics, models and accounts of the platform on this machine."""
    import shutil

    from gradstream.cli.output import print_json, talk
    from gradstream.local.folder import DataFolder

    folder = DataFolder(options(data_dir, "", 1, None).data_dir)
    folder.refuse_if_held()
    found = {name: folder.path / name for name in KEPT if (folder.path / name).exists()}
    if not found:
        talk(f"There is nothing of Gradstream in {folder.path}.")
    else:
        _show(folder.path, found)
        if not yes:
            typer.confirm("Delete all of this?", abort=True, err=True)
        with folder.held():
            for path in found.values():
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        talk("Deleted.")
    if as_json:
        print_json({"deleted": sorted(found), "data_dir": str(folder.path)})


def _show(folder: Path, found: dict[str, Path]) -> None:
    from gradstream.cli.output import size, talk

    talk(f"In {folder}:")
    for name, path in found.items():
        files = [path] if path.is_file() else [inner for inner in path.rglob("*") if inner.is_file()]
        talk(f"  {name:14}{size(sum(file.stat().st_size for file in files)):>10}  {KEPT[name]}")
