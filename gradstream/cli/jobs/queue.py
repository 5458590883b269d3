"""`gradstream queue`"""

from __future__ import annotations

from gradstream.cli.common import AsJson, TokenFile, Url, connect


def command(as_json: AsJson = False, url: Url = None, token_file: TokenFile = None) -> None:
    """List the jobs that wait, in the order in which they start, and the jobs that hold machines.

    Example: gradstream queue
    """
    from gradstream.cli.terminal.output import Column, ago, print_json, print_table, status, talk

    with connect(url, token_file) as client:
        queue = client.queue()
    if as_json:
        print_json(queue.as_dict())
        return
    if queue.waiting:
        columns = (">place", "id", Column("name", wraps=True), ">priority", Column("waits since", optional=True))
        rows = [
            (str(job.position), str(job.id)[:8], job.name, str(job.priority), ago(job.created_at), job.message or "")
            for job in queue.waiting
        ]
        print_table((*columns, Column("reason", wraps=True)), rows)
        if queue.waiting_total > len(queue.waiting):
            talk(f"{queue.waiting_total - len(queue.waiting):,} more jobs wait behind them.")
    else:
        talk("The queue is empty.")
    if queue.holding:
        print()
        print_table(
            ("id", Column("name", wraps=True), "status", ">priority", ">slots", ">GPUs", Column("nodes", wraps=True)),
            [
                (
                    str(job.id)[:8],
                    job.name,
                    status(job.status),
                    str(job.priority),
                    str(job.slots),
                    f"{job.gpus:.3g}",
                    ", ".join(node.name for node in job.nodes),
                )
                for job in queue.holding
            ],
        )
