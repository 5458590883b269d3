"""`gradstream show`"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from gradstream.cli.common import AsJson, JobReference, TokenFile, Url, connect
from gradstream.cli.terminal.gpu_words import gpu_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.text import Text

    from gradstream.api.progress import GroupLoad
    from gradstream.api.stragglers import Stragglers
    from gradstream.client import Artifact, Event, Job, Process
    from gradstream.process.environment import Environment
    from gradstream.progress.exchange import ShardLoad

_EVENTS_SHOWN = 12


def command(
    job: JobReference,
    parameters: Annotated[
        bool, typer.Option("--parameters", help="Show the model's parameters instead: shape, count, device, norm")
    ] = False,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Show one job: its state and why, progress, slow workers, groups, processes, last events and files.

    Example: gradstream show digits
    """
    from gradstream.cli.jobs.parameter_lines import print_parameters
    from gradstream.cli.terminal.output import print_json
    from gradstream.process.environment import ENVIRONMENT

    with connect(url, token_file) as client:
        if parameters:
            described = client.parameters(job)
            print_json(described.as_dict()) if as_json else print_parameters(described)
            return
        found = client.find(job)
        processes, events, artifacts = client.processes(found.id), client.events(found.id), client.artifacts(found.id)
        recorded = any(artifact.name == ENVIRONMENT for artifact in artifacts)
        environment = client.environment(found.id) if recorded else None
        stragglers = client.stragglers(found.id)
        groups = client.groups(found.id) if _has_groups(found) else []
    if as_json:
        print_json(
            {
                **found.as_dict(),
                "environment": environment and environment.model_dump(),
                "stragglers": stragglers.as_dict(),
                "groups": [group.as_dict() for group in groups],
                "processes": [process.as_dict() for process in processes],
                "events": [event.as_dict() for event in events],
                "artifacts": [artifact.as_dict() for artifact in artifacts],
            }
        )
        return
    _head(found, environment, f"{client.page_url}/jobs/{found.id}", _first_needed(events))
    _shards(found.progress.shards, serverless=found.spec["roles"]["server"]["count"] == 0)
    _stragglers(stragglers)
    _groups(groups)
    _processes([process for process in processes if process.attempt == found.attempt], found.message)
    _files(artifacts)
    _events(gathered(events)[-_EVENTS_SHOWN:], found.message)


def _first_needed(events: list[Event]) -> str | None:
    """Say which examples a job needs that resumes from the last checkpoint; None: it does not follow its data."""
    found = [event.data["first_needed"] for event in events if event.kind == "checkpoint" and "first_needed" in event.data]
    if not found:
        return None
    if isinstance(found[-1], dict):
        return ", ".join(f"partition {partition} from offset {offset:,} on" for partition, offset in found[-1].items())
    return f"from example {found[-1]:,} on"


def _head(job: Job, environment: Environment | None, page: str, first_needed: str | None = None) -> None:
    from rich.text import Text

    from gradstream.cli.terminal.output import Column, ago, duration, print_table, progress_line, score, status

    rows: list[tuple[str, str | Text]] = [("id", str(job.id)), ("status", status(job.status))]
    rows += [("why", job.message)] if job.message else []
    rows += [("tags", ", ".join(job.tags))] if job.tags else []
    rows += [("note", job.note)] if job.note else []
    rows += [("shards", _shard_count(job))]
    rows += [("place in queue", str(job.position))] if job.position else []
    rows += [("strategy", f"{job.strategy} under {job.gate}"), ("progress", progress_line(job))]
    rows += [(f"eval/{name}", score(value)) for name, value in sorted(job.progress.eval.items())]
    if job.progress.exchange:
        rows += [("a push", job.progress.exchange.time), ("", job.progress.exchange.traffic(job.spec["codec"]["name"]))]
    rows += [("mini-batches", job.progress.dealt.phrase)] if job.progress.dealt else []
    rows += [("alert", Text(alert, "yellow")) for alert in job.progress.alerts]
    rows += [("attempt", f"{job.attempt}, {job.retries_used} retries used")] if job.attempt > 1 else []
    rows += [] if first_needed is None else [("data needed", f"{first_needed}, by the last checkpoint")]
    told = (job.origin.phrase if job.origin else None, environment.phrase if environment else None)
    ran_with = ", ".join(phrase for phrase in told if phrase)
    rows += [("ran with", ran_with)] if ran_with else []
    rows += [("starts from", job.started_from.phrase)] if job.started_from else []
    rows += [("created", f"{ago(job.created_at)} by {job.user}")]
    if job.started_at and job.ended_at:
        rows += [("took", duration((job.ended_at - job.started_at).total_seconds()))]
    print_table((job.name, Column("", wraps=True)), [*rows, ("page", page)])


def _shard_count(job: Job) -> str:
    count = job.spec["roles"]["server"]["count"]
    if count == 0:
        one_holds = job.spec.get("on_worker_loss") == "continue"
        by = {"gloo": "gloo", "nccl": "NCCL"}.get(job.collective or "")
        holders = f"each worker; they combine pushes by {by}" if by else "worker 0" if one_holds else "the workers"
        return f"{job.shards}, held by {holders}: this job has no servers"
    return f"{job.shards}, auto" if count == "auto" else str(job.shards)


def _shards(shards: list[ShardLoad], *, serverless: bool) -> None:
    from gradstream.cli.terminal.output import number, print_table, size
    from gradstream.progress.exchange import describe_empty_shards

    if shards:
        print()
        print_table(
            (">shard", ">slice", ">busy", ">apply", ">queue"),
            [
                (
                    str(each.rank),
                    "" if each.slice_bytes is None else size(each.slice_bytes),
                    "" if each.busy is None else f"{each.busy:.0%}",
                    "" if each.apply is None else f"{number(1e3 * each.apply)} ms",
                    "" if each.queue is None else str(each.queue),
                )
                for each in shards
            ],
        )
        if not serverless and (hint := describe_empty_shards(shards)):
            print(f"{hint}.")


def _stragglers(found: Stragglers) -> None:
    from gradstream.cli.terminal.output import Column, print_table

    if not found.items:
        return
    rows = [(f"why {item.label}", item.why) for item in found.items]
    rows += [("cost", found.cost)] if found.cost else []
    for remedy in found.remedies:
        what = remedy.setting or remedy.command
        rows.append(("would help", " ".join(filter(None, (what and f"{what}.", remedy.message, remedy.gain)))))
    print()
    print_table(("stragglers", Column(found.message, wraps=True)), rows)


def _has_groups(job: Job) -> bool:
    return any(isinstance(count, int) and count > 1 for count in job.spec["roles"]["worker"]["group"].values())


def _groups(groups: list[GroupLoad]) -> None:
    """Show each process of a group, as it reported last."""
    from gradstream.cli.terminal.output import number, print_table, size

    if groups:
        print()
        rows = [
            (
                peer.label,
                " ".join(filter(None, ("lead" if peer.number == 0 else "", f"on {peer.node}" if peer.node else ""))),
                "" if peer.compute is None else f"{peer.compute:.0%}",
                "" if peer.cpu is None else number(peer.cpu),
                "" if peer.memory is None else size(peer.memory),
            )
            for group in groups
            for peer in group.peers
        ]
        print_table(("peer", "", ">computes", ">cores", ">own memory"), rows)


def _processes(processes: list[Process], why: str | None) -> None:
    from gradstream.cli.terminal.output import Column, print_table, status

    if processes:
        print()
        print_table(
            ("process", "node", "status", Column("how it ended", wraps=True)),
            [
                (one.label, f"{one.node} {gpu_words(one.gpus, one.gpu_share)}".rstrip(), status(one.status), _ending(one, why))
                for one in processes
            ],
        )


def _ending(process: Process, why: str | None) -> str:
    """In short where the job failed for it: the first table tells why."""
    told = why is not None and process.message is not None and process.message in why
    return ": ".join(part for part in (process.reason, None if told else process.message) if part)


def _files(artifacts: list[Artifact]) -> None:
    from gradstream.cli.terminal.output import print_table, size

    if artifacts:
        print()
        print_table(("file", ">size"), [(artifact.name, size(artifact.size)) for artifact in artifacts])


def gathered(events: Iterable[Event]) -> list[tuple[Event, int]]:
    """Merge events that follow each other and differ only in numbers, as checkpoints do: the last one, and their count."""
    runs = [list(run) for _, run in groupby(events, lambda event: (event.kind, re.sub(r"\d+", "#", event.message)))]
    return [(run[-1], len(run)) for run in runs]


def _events(events: list[tuple[Event, int]], why: str | None) -> None:
    from gradstream.cli.following.told_events import shorten_event
    from gradstream.cli.terminal.output import Column, print_table

    if events:
        print()
        more = [f" ({count - 1:,} more before)" if count > 1 else "" for _, count in events]
        rows = [
            (f"{event.time.astimezone():%H:%M:%S}", shorten_event(event, why) + word, event.actor)
            for (event, _), word in zip(events, more, strict=True)
        ]
        print_table(("when", Column("event", wraps=True), Column("by", optional=True)), rows)
