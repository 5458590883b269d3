"""`gradstream media`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gradstream.cli.common import AsJson, JobReference, TokenFile, Url, connect
from gradstream.user_logging.items import MediaKind

if TYPE_CHECKING:
    from gradstream.client import JobMedia, MediaItem


def command(
    job: JobReference,
    name: Annotated[str | None, typer.Option("--name", "-n", help="Only items of this name")] = None,
    kind: Annotated[MediaKind | None, typer.Option("--kind", help="Only items of this kind")] = None,
    rank: Annotated[int | None, typer.Option("--rank", help="Only items of this worker; -1: of the evaluator")] = None,
    into: Annotated[
        Path | None, typer.Option("--into", "-o", help="Write the items into this folder, and print their paths")
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """List the images, figures, tables, texts and histograms that a job's code has logged, or save them as files.

    Example: gradstream media digits --kind image --into digits-images
    """
    from gradstream.cli.terminal.output import print_json, size, talk

    with connect(url, token_file) as client:
        if into:
            paths = client.download_media(job, name, into=_own_folder(into, str(client.find(job).id)), kind=kind, rank=rank)
            talk(f"{len(paths)} items, {size(sum(path.stat().st_size for path in paths))}")
            if as_json:
                print_json({"files": [str(path) for path in paths]})
            else:
                print("\n".join(map(str, paths)))
            return
        if name is None and rank is None:
            found = client.media(job)
            found = found.model_copy(update={"items": [each for each in found.items if kind in (None, each.kind)]})
            print_json(found.as_dict()) if as_json else _print_names(found)
            return
        items = list(client.media_items(job, name, kind=kind, rank=rank))
    if as_json:
        print_json({"items": [item.as_dict() for item in items]})
    else:
        _print_items(items)


def _own_folder(folder: Path, job: str) -> Path:
    """Mark a new folder as downloaded, so that no bundle takes it in."""
    from gradstream import marker

    if not folder.exists() or not any(folder.iterdir()):
        folder.mkdir(parents=True, exist_ok=True)
        marker.write_marker(folder, "download", job=job)
    return folder


def _print_names(found: JobMedia) -> None:
    from gradstream.cli.terminal.output import Column, print_table, size, talk
    from gradstream.user_logging.items import media_source

    if not found.items:
        talk("The job has logged no media of this kind yet: see log_image, log_table and others in the guide on workloads.")
        return
    heads = (Column("name", wraps=True), "kind", Column("from", wraps=True), ">items", ">steps", ">size")
    rows = []
    for each in found.items:
        steps = f"{each.first_step:,}" if each.first_step == each.last_step else f"{each.first_step:,} to {each.last_step:,}"
        sources = ", ".join(map(media_source, sorted(each.ranks)))
        rows.append((each.name, each.kind, sources, f"{each.count:,}", steps, size(each.bytes)))
    print_table(heads, rows)
    talk(f"{size(found.bytes)} of {size(found.max_bytes)}")


def _print_items(items: list[MediaItem]) -> None:
    from gradstream.cli.terminal.output import Column, print_table, size, talk
    from gradstream.user_logging.items import media_source

    if not items:
        talk("No item fits.")
        return
    heads = (">seq", Column("name", wraps=True), "kind", "from", ">step", ">samples", ">version", ">size", "time")
    print_table(
        heads,
        [
            (
                str(item.seq),
                item.name,
                item.kind,
                media_source(item.rank),
                f"{item.step:,}",
                f"{item.samples:,}",
                f"{item.version:,}",
                size(item.size),
                f"{item.time.astimezone():%Y-%m-%d %H:%M:%S}",
            )
            for item in items
        ],
    )
