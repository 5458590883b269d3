"""`gradstream storage`, `gradstream storage collect`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gradstream.cli.common import AsJson, TokenFile, Url, connect

if TYPE_CHECKING:
    from gradstream.client import Collection

command = typer.Typer(help="Disk usage of the platform.")


@command.callback(invoke_without_command=True)
def show(context: typer.Context, as_json: AsJson = False, url: Url = None, token_file: TokenFile = None) -> None:
    """Show how much the platform keeps of each kind, its largest jobs, and what is free on its disk.

    Example: gradstream storage
    """
    from gradstream.cli.terminal.output import Column, print_json, print_table, size, talk

    if context.invoked_subcommand is not None:
        return
    with connect(url, token_file) as client:
        found = client.storage()
    if as_json:
        print_json(found.as_dict())
        return
    print_table(
        ("kind", ">files", ">bytes"),
        [(each.kind, "" if each.count is None else f"{each.count:,}", size(each.bytes)) for each in found.items],
    )
    if found.largest_jobs:
        print_table(
            ("id", Column("largest jobs", wraps=True), ">bytes"),
            [(str(job.id)[:8], job.name, size(job.bytes)) for job in found.largest_jobs],
        )
    talk(f"{size(found.disk_free_bytes)} of {size(found.disk_bytes)} are free on the disk of the files")


@command.command()
def collect(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Remove nothing, list what would be removed")] = False,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Remove unused data: unused bundles, uploads that were never completed, files of deleted jobs, stray files.

    The platform does so every hour by itself. Jobs lose nothing.

    Example: gradstream storage collect --dry-run
    """
    from gradstream.cli.terminal.output import print_json, print_table, size, talk

    with connect(url, token_file) as client:
        found = client.collect_storage(dry_run=dry_run)
    if as_json:
        print_json(found.as_dict())
    elif found.items:
        rows = [(each.kind, f"{each.count:,}", size(each.bytes), _names(each.names, each.count)) for each in found.items]
        print_table(("kind", ">count", ">bytes", "names"), rows)
    talk(_sentence(found))


def _names(names: list[str], count: int) -> str:
    shown = " ".join(name if "/" in name else name[:12] for name in names[:2])
    return f"{shown} ..." if count > 2 else shown


def _sentence(found: Collection) -> str:
    from gradstream.cli.terminal.output import size

    count = sum(each.count for each in found.items)
    if not count:
        done = "nothing to remove"
    else:
        done = f"{count:,} thing{'s' * (count > 1)} of {size(found.bytes)} {'would go' if found.dry_run else 'removed'}"
    return done if found.complete else f"{done}; there is more: run it again"
