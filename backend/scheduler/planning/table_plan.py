"""The embedding tables of a planned job: from what its sender has measured, or from an earlier job of its workload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from backend.artifacts import stored_rows
from backend.files import FileStore
from backend.scheduler.placing.placement import Place
from gradstream.advise.table_plan import planned_tables
from gradstream.api.plan import MeasuredSize, NodeMemory, PlannedTable, PlannedTables, SizeFrom
from gradstream.process.saving.table_summary import ShardSummary
from gradstream.spec import JobSpec

UNKNOWN = (
    "Rows are not known before the code runs. `gradstream submit --plan --measure` and `gradstream advise` train some mini-batches "
    "on your machine to estimate them."
)
MEASURED = "Estimated from the distinct keys of some mini-batches of one worker."


def plan_tables(
    session: Session, files: FileStore, spec: JobSpec, known: MeasuredSize | SizeFrom | None, server_memory: int | None
) -> PlannedTables | None:
    """Return None if nothing tells of tables: only running the code says if a model has some."""
    match known:
        case MeasuredSize(tables=(_, *_) as tables):
            return PlannedTables(message=MEASURED, items=planned_tables(spec, tables, known.epoch_samples, server_memory))
        case SizeFrom(job=UUID() as job) if earlier := stored_rows.table_summaries(session, files, job):
            return PlannedTables(message=f"{known.message} {UNKNOWN}", items=_as_before(spec, earlier[1], server_memory))
    return PlannedTables(message=UNKNOWN, items=[]) if spec.tables else None


def memory_of_servers(nodes: Sequence[NodeMemory], places: Sequence[Place]) -> int | None:
    """Return what the vectors of all processes leave to each server on its machine: the least of all servers. None: not known."""
    servers = Counter(each.node for each in places if each.role == "server")
    hosts = {each.node: each for each in nodes if each.gpu is None}
    left = [max(0, hosts[node].total - hosts[node].needed) // count for node, count in servers.items() if node in hosts]
    return min(left, default=None)


def _as_before(spec: JobSpec, told: Sequence[ShardSummary], server_memory: int | None) -> list[PlannedTable]:
    """Return the rows that the earlier job had at its end."""
    names = sorted({name for each in told for name in each.tables})
    every = {name: [each.tables[name] for each in told if name in each.tables] for name in names}
    rows = {name: sum(table.rows for table in tables) for name, tables in every.items()}
    nbytes = {name: sum(table.nbytes for table in tables) for name, tables in every.items()}
    used, found = max(1, sum(nbytes.values())), list[PlannedTable]()
    for name in names:
        per_row = max(1, round(nbytes[name] / rows[name])) if rows[name] else None
        of_server = None if server_memory is None else server_memory * nbytes[name] / used
        full = None if of_server is None or per_row is None else round(of_server / per_row * spec.shards)
        unknown = dict.fromkeys(("push_bytes", "pull_bytes", "cached", "cache_bound", "full_at_samples"))
        found.append(
            PlannedTable(
                name=name,
                rows=rows[name],
                row_bytes=per_row,
                server_bytes=round(nbytes[name] / spec.shards),
                full_at_rows=full,
                message=f"{rows[name]:,} rows at the end of that job.",
                **unknown,
            )
        )
    return found
