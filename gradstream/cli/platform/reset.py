"""`gradstream reset`: delete what a platform keeps on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gradstream.cli.common import AsJson
from gradstream.cli.platform.starting import DataDir, options


def command(
    data_dir: DataDir = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a data folder: all jobs, metrics, models and accounts of the platform on this machine.

    Only what the marker of the folder lists is deleted; any other file in it stays.
    """
    from gradstream.cli.terminal.output import print_json, talk
    from gradstream.local.folder import DataFolder

    folder = DataFolder(options(data_dir, "", 1, None).data_dir)
    found = folder.entries()
    if not found:
        talk(f"There is nothing of Gradstream in {folder.path}.")
    else:
        folder.refuse_if_held()
        _show(folder.path, found)
        if not yes:
            typer.confirm("Delete all of this?", abort=True, err=True)
        with folder.held():
            for path in found.values():
                _delete(path)
            folder.forget()
        talk("Deleted.")
    if as_json:
        print_json({"deleted": sorted(found), "data_dir": str(folder.path)})


def _delete(path: Path) -> None:
    import shutil

    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)  # of a link only the link: what it leads to may be anybody's


def _show(folder: Path, found: dict[str, Path]) -> None:
    from gradstream.cli.terminal.output import size, talk
    from gradstream.local.entries import ENTRIES

    talk(f"In {folder}:")
    for name, path in found.items():
        files = [inner for inner in path.rglob("*") if inner.is_file()] if path.is_dir() and not path.is_symlink() else [path]
        talk(f"  {name:14}{size(sum(file.lstat().st_size for file in files)):>10}  {ENTRIES[name]}")
