"""`gradstream updates`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gradstream.cli.common import AsJson, JobReference, TokenFile, Url, connect
from gradstream.updates.sample import What

if TYPE_CHECKING:
    from gradstream.api.model.updates import UpdateGroup, UpdateHistograms
    from gradstream.client import Client


def command(
    job: JobReference,
    layer: Annotated[str | None, typer.Option("--layer", "-l", help="Only this layer; default: all together")] = None,
    what: Annotated[
        What, typer.Option("--what", help="update: what workers pushed; gradient: of the first mini-batch of a round")
    ] = "update",
    rank: Annotated[list[int] | None, typer.Option("--rank", help="Only this worker; may be repeated")] = None,
    over_time: Annotated[bool, typer.Option("--over-time", help="By parts of the training instead of by staleness")] = False,
    into: Annotated[
        Path | None, typer.Option("--into", "-o", help="Write all samples into this file, a JSON line for each")
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Show how large a job's gradients or updates are, by the staleness of their pushes, or save the samples.

    Example: gradstream updates digits --layer 0.weight
    """
    from gradstream.cli.terminal.output import print_json, talk

    ranks = rank or []
    with connect(url, token_file) as client:
        if into:
            talk(f"{_write_samples(client, job, ranks, into):,} samples: {into}")
            return
        found = client.update_histograms(job, layer, what=what, ranks=ranks, by="samples" if over_time else "staleness")
    print_json(found.as_dict()) if as_json else _print_groups(found, over_time=over_time)


def _write_samples(client: Client, job: str, ranks: list[int], into: Path) -> int:
    count = 0
    with into.open("w") as out:
        for sample in client.update_samples(job, ranks=ranks):
            count += 1
            out.write(sample.model_dump_json() + "\n")
    return count


def _print_groups(found: UpdateHistograms, *, over_time: bool) -> None:
    from gradstream.cli.terminal.output import number, print_table, talk

    if found.every is None:
        talk("The job measures no updates; set update_histograms: {every: 100} in its job file.")
        return
    if not found.groups:
        talk(f"There is no sample yet: one push in {found.every:,} of each worker is measured.")
        return
    print_table(
        (
            ">samples trained" if over_time else ">staleness",
            ">pushes",
            ">dropped",
            ">median |x|",
            ">norm p10",
            ">p50",
            ">p90",
            ">zeros",
        ),
        [
            (
                _span(group),
                f"{group.count:,}",
                f"{group.dropped:,}",
                "" if group.median is None else number(group.median),
                *(number(value) for value in (group.norm.p10, group.norm.p50, group.norm.p90)),
                f"{group.zeros / group.elements:.1%}",
            )
            for group in found.groups
        ],
    )
    about = [f"{found.what} of {found.layer or f'all {len(found.layers)} layers'}", f"{found.used:,} of {found.count:,} samples"]
    about += [f"{found.lost:,} dropped by limits"] if found.lost else []
    about += ["the job may store no more"] if found.full else []
    talk("; ".join(about))


def _span(group: UpdateGroup) -> str:
    return f"{group.low:,}" if group.low == group.high else f"{group.low:,} to {group.high:,}"
