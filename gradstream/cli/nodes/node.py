"""`gradstream node drain`, `gradstream node resume`, `gradstream node rotate`, `gradstream node remove`"""

from __future__ import annotations

from typing import Annotated

import typer

from gradstream.cli import completion
from gradstream.cli.common import AsJson, TokenFile, Url, connect

command = typer.Typer(no_args_is_help=True, help="Take a node out of service and back, change its credential, or remove it.")
NodeName = Annotated[
    str,
    typer.Argument(metavar="NODE", help="Its name, as `gradstream nodes` lists it", autocompletion=completion.complete_node),
]


@command.command()
def drain(node: NodeName, as_json: AsJson = False, url: Url = None, token_file: TokenFile = None) -> None:
    """Place no process there any more; what runs there may finish. Holds until `gradstream node resume`, over restarts too.

    Example: gradstream node drain node-1
    """
    _change(node, as_json, url, token_file, draining=True)


@command.command()
def resume(node: NodeName, as_json: AsJson = False, url: Url = None, token_file: TokenFile = None) -> None:
    """Place processes there again.

    Example: gradstream node resume node-1
    """
    _change(node, as_json, url, token_file, draining=False)


@command.command()
def rotate(node: NodeName, as_json: AsJson = False, url: Url = None, token_file: TokenFile = None) -> None:
    """Change a node's credential and its password on the live Redis. Its processes go on; the old credential ends.

    Example: gradstream node rotate node-1
    """
    from gradstream.cli.terminal.output import print_json, talk

    with connect(url, token_file) as client:
        found = client.rotate_node(node)
    when = "when it is back" if found.status == "lost" else "within seconds"
    talk(f"{node} makes a new credential {when}; the old one ends then. `gradstream nodes` says 'rotating' until that")
    if as_json:
        print_json(found.as_dict())


@command.command()
def remove(
    node: NodeName,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask")] = False,
    as_json: AsJson = False,
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Take a machine that is gone out of the list. If its agent still runs, it ends; `gradstream join` brings the machine back.

    Refused while processes run there, unless the node drains: then they are lost, and placed elsewhere.

    Example: gradstream node remove node-1
    """
    from gradstream.cli.terminal.output import print_json, talk

    with connect(url, token_file) as client:
        found = client.node(node)
        if found.draining_since and found.processes and not yes:
            labels = ", ".join(f"{process.label} of {process.job}" for process in found.processes)
            typer.confirm(f"These end now and are placed elsewhere: {labels}. Remove {node}?", abort=True, err=True)
        client.remove_node(node)
    talk(f"{node} is removed; jobs that ran there keep its name")
    if as_json:
        print_json({"removed": node})


def _change(name: str, as_json: bool, url: str | None, token_file: TokenFile, *, draining: bool) -> None:
    from gradstream.cli.terminal.output import print_json, talk

    with connect(url, token_file) as client:
        node = client.drain(name) if draining else client.resume(name)
    running = len(node.processes)
    left = f"{running} process{'es' * (running != 1)} still run{'s' * (running == 1)} there" if running else "nothing runs there"
    talk(f"{node.name} drains; {left}" if draining else f"{node.name} takes processes")
    if as_json:
        print_json(node.as_dict())
