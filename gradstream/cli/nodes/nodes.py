"""`gradstream nodes`"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradstream.cli.common import AsJson, TokenFile, Url, connect
from gradstream.cli.terminal.gpu_words import gpu_words

if TYPE_CHECKING:
    from gradstream.api.platform import Node, NodeProcess


def command(as_json: AsJson = False, url: Url = None, token_file: TokenFile = None) -> None:
    """List nodes: slots, GPUs, and what runs on them.

    Example: gradstream nodes
    """
    from gradstream.cli.terminal.output import Column, ago, print_json, print_table, size, status, talk

    with connect(url, token_file) as client:
        nodes = client.nodes()
    if as_json:
        print_json({"items": [node.as_dict() for node in nodes]})
        return
    for node in nodes:
        if node.trouble:
            talk(f"{node.name} gets no jobs for now, and is tried again later. {node.trouble}")
    print_table(
        (
            "node",
            "status",
            ">slots used",
            ">GPUs used",
            Column("CPUs", right=True, optional=True),
            Column("memory", right=True, optional=True),
            Column("torch", optional=True),
            Column("isolation", optional=True),
            Column("last seen", optional=True),
            Column("joined", optional=True),
            Column("running", wraps=True),
        ),
        [
            (
                node.name,
                status(_status_word(node)),
                f"{node.slots_used}/{node.slots}",
                f"{sum(gpu.used for gpu in node.gpus):.3g}/{len(node.gpus)}",
                str(node.cpus),
                size(node.memory),
                _torch_word(node),
                node.isolation.level if node.isolation else "unknown",
                ago(node.last_seen_at),
                _joined(node),
                " ".join(map(_process_word, node.processes)),
            )
            for node in nodes
        ],
    )


def _process_word(process: NodeProcess) -> str:
    """`worker-0`, `worker-0 (1/2 of GPU 0, 85% busy, 12.1 GB)`"""
    from gradstream.cli.terminal.output import size

    gpus = gpu_words(process.gpus, process.gpu_share)
    if not gpus:
        return process.label
    busy = "" if process.gpu is None else f", {process.gpu:.0%} busy"
    memory = "" if process.gpu_memory is None else f", {size(process.gpu_memory)}"
    return f"{process.label} ({gpus}{busy}{memory})"


def _torch_word(node: Node) -> str:
    """`2.13.0, CUDA 13.0`"""
    if node.torch is None:
        return "unknown"
    return f"{node.torch.version}, {f'CUDA {node.torch.cuda}' if node.torch.cuda else 'no CUDA'}"


def _joined(node: Node) -> str:
    from gradstream.cli.terminal.output import ago

    return f"{ago(node.joined_at)}, by {node.joined_with}" if node.joined_at else ""


def _status_word(node: Node) -> str:
    state = "draining" if node.draining_since else "unavailable" if node.trouble else node.status
    return f"{state}, rotating" if node.rotating_since else state
