"""`gradstream edit`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gradstream.cli.common import AsJson, JobReference, TokenFile, Url, connect

if TYPE_CHECKING:
    from gradstream.api.jobs import Job

_Name = Annotated[str | None, typer.Option(help="New name; the job file stays as submitted")]
_Tag = Annotated[list[str] | None, typer.Option("--tag", help="Add this tag; may be repeated")]
_Untag = Annotated[list[str] | None, typer.Option("--untag", help="Remove this tag; may be repeated")]
_Note = Annotated[str | None, typer.Option(help="Remark in plain text; '' removes it")]
_Archive = Annotated[
    bool | None, typer.Option("--archive/--unarchive", help="Leave the job out of lists, or list it again; it must have ended")
]


def command(
    job: JobReference,
    name: _Name = None,
    tag: _Tag = None,
    untag: _Untag = None,
    note: _Note = None,
    archive: _Archive = None,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Change the name, tags or note of a job, or archive it.

    Example: gradstream edit digits --tag baseline --note 'before the new schedule'
    """
    from gradstream.cli.terminal.output import print_json, talk

    if not (tag or untag) and name is None and note is None and archive is None:
        raise typer.BadParameter("give --name, --tag, --untag, --note, --archive or --unarchive")
    with connect(url, token_file) as client:
        found = client.find(job)
        tags = [one for one in dict.fromkeys([*found.tags, *(tag or [])]) if one not in (untag or [])]
        changed = client.edit(found, name=name, tags=tags if tag or untag else None, note=note, archived=archive)
    talk(_sentence(changed))
    if as_json:
        print_json(changed.as_dict())


def _sentence(job: Job) -> str:
    tags = f"tags: {', '.join(job.tags)}" if job.tags else "no tags"
    return f"{job.name}: {tags}, {f'note: {job.note}' if job.note else 'no note'}{', archived' if job.archived else ''}"
