"""`gradstream submit --plan`: what the platform would do with a job, before it does it."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradstream.cli.jobfile.table_lines import table_lines
from gradstream.cli.terminal.gpu_words import gpu_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradstream.cli.jobfile.jobsource import GivenJob
    from gradstream.client import Client, Plan
    from gradstream.spec import JobSpec


def show_plan(client: Client, given: GivenJob, overrides: list[str] | None, *, measure: bool, as_json: bool) -> None:
    """Print it on stdout, warnings on stderr.

    Raises: InvalidJob, InvalidBundle, as a submit would; InvalidWorkload where it measures."""
    from gradstream.cli.terminal.output import print_json, print_table, talk
    from gradstream.jobfile.source import resolve_job

    spec, code, text, size = given.spec(overrides), given.code, given.text, None
    if measure:
        resolve_job(spec, code=code, source=text, overrides=overrides or ()).pack_code()  # refused before its code is imported
        size = _size(spec, given.folder)
    plan = client.plan(spec, code=code, source=text, overrides=overrides or (), size=size)
    if as_json:
        print_json(plan.as_dict())
        return
    print_table(("what", "would be"), list(_rows(plan, spec)))
    for warning in plan.warnings:
        talk(f"warning: {warning.pointer}: {warning.message}", "yellow")
    for note in plan.notes:
        talk(f"note: {note.pointer}: {note.message}")
    if plan.proposal:
        talk(plan.proposal.message, "yellow")
        for line in plan.proposal.lines:
            print(line)


def _size(spec: JobSpec, folder: Path) -> dict[str, Any]:
    from gradstream.cli.jobfile.advise import measured_here
    from gradstream.cli.terminal.output import talk

    talk("importing torch, training some mini-batches")
    with redirect_stdout(sys.stderr):  # what the workload prints is talk
        measured = measured_here(spec, folder)
    known = {"parameters": measured.parameters, "step": measured.step, "epoch_samples": measured.epoch_samples(spec)}
    known |= {"largest_parameter": measured.largest or None, "whole_parameters": measured.whole}
    known |= {"tensor_processes": measured.tensor_processes, **measured.layer_sizes(spec)}
    return {**known, "tables": [size.model_dump() for size in measured.table_sizes]}


def _rows(plan: Plan, spec: JobSpec) -> Iterator[tuple[str, str]]:
    start, late = plan.start, plan.staleness
    yield "start", start.message if start.now else f"place {start.position} in the queue: {start.message}"
    by_node: dict[str, list[str]] = {}
    for process in start.processes:
        gpus = f" ({gpu_words(process.gpus, process.gpu_share)})" if process.gpus else ""
        by_node.setdefault(process.node, []).append(process.label + gpus)
    for node, labels in by_node.items():
        yield f"on {node}", ", ".join(labels) + ("" if start.now else "; if nothing else ran")
    yield "shards", f"{plan.shards.count}; {plan.shards.message}" if plan.shards.count else plan.shards.message
    yield "staleness", f"{late.mean:.3g} on average; {late.reason}"
    yield from _of_size(plan, spec)
    if plan.tables:
        yield "tables", plan.tables.message
        for table in plan.tables.items:
            for line in table_lines(table):
                yield f"table {table.name}", line


def _of_size(plan: Plan, spec: JobSpec) -> Iterator[tuple[str, str]]:
    from gradstream.cli.terminal.output import size

    if plan.size is None or plan.traffic is None or plan.memory is None:
        yield "model", "its size is not known: no job has trained this workload here yet; --measure finds it out"
        return
    known, traffic, memory = plan.size.size, plan.traffic, plan.memory
    step = f", {1000 * known.step:.3g} ms a mini-batch" if known.step else ""
    yield "model", f"{known.parameters:,} parameters{step}. {plan.size.message}"
    yield (
        "a push",
        f"{size(traffic.push_bytes)} as {spec.codec.name}; a pull {size(traffic.pull_bytes)} as {spec.pull_codec.name}",
    )
    if traffic.sent_per_second is not None and traffic.received_per_second is not None:
        local = "" if plan.local_share is None else f"; {plan.local_share:.0%} of it stays within a machine, in shared memory"
        sent, received = round(traffic.sent_per_second), round(traffic.received_per_second)
        yield "each worker", f"sends {size(sent)}/s and receives {size(received)}/s if it never waits{local}"
    if traffic.machine_bytes is not None:
        yield "a group", f"sends {size(traffic.machine_bytes)} to each other machine for a mini-batch, and gets as much back"
    beside = f", {size(memory.server)} of all shards" if plan.shards.count else " with its shard"
    peer = (
        ""
        if memory.peer is None or memory.lead is None
        else f" in all its processes ({size(memory.lead)} of its lead alone, {size(memory.peer)} of each other one alone)"
    )
    machine = "" if memory.machine is None else f", {size(memory.machine)} of its group on each other machine"
    vectors = f"{size(memory.worker)} of a worker{peer}{machine}{beside}"
    kept = "activations, data" if memory.activations is None else f"{size(memory.activations)} of activations in each process, data"
    yield "memory", f"{vectors}, for vectors alone: {kept} and PyTorch come on top"
    counted = "vectors" if memory.activations is None else "vectors and activations"
    for each in plan.nodes:
        if each.gpu is not None:
            taken = f"{size(each.needed)} of {size(each.total)}"
            yield f"GPU {each.gpu} of {each.node}", f"{taken}, for {counted} of a {each.role} alone"
