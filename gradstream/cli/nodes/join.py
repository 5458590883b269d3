"""`gradstream join`: this machine as one more node of a platform, until Ctrl-C."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradstream.cli.common import AsJson
from gradstream.cli.platform.starting import Isolation, JobNetwork, Mps, Slots, Writable, isolate

if TYPE_CHECKING:
    from gradstream.local.joining import Invitation, NodeFolder
    from gradstream.local.servers.child import Child

_POLL_INTERVAL = 0.1
"""Seconds."""
_STOP_TIMEOUT = 20.0
"""Seconds that its processes have to end, and the agent to report that."""
_DETAILS = frozenset({"event", "level", "logger", "timestamp"})


def command(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of the platform, e.g. http://10.0.0.5:8000")],
    token: Annotated[
        str | None, typer.Option("--token", envvar="GRADSTREAM_JOIN_TOKEN", help="The join token; '-': read from standard input")
    ] = None,
    token_file: Annotated[Path | None, typer.Option("--token-file", help="File with the join token")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of this node; default: this machine's name")] = None,
    slots: Slots = None,
    work_dir: Annotated[
        Path | None, typer.Option("--work-dir", help="Folder of this node; default: in your user data folder")
    ] = None,
    isolation: Isolation = "auto",
    job_network: JobNetwork = "internet",
    writable: Writable = None,
    mps: Mps = False,
    as_json: AsJson = False,
) -> None:
    """Let the jobs of a platform use this machine, until Ctrl-C. Needs no Docker, no Postgres and no Redis here.

    `gradstream up --host ADDRESS` on the other machine prints the URL and a join token. Without --token and --token-file this
    command asks for the token. A node that has joined before needs none, as it has a credential of its own. With --json it prints
    one line, {"node", "slots", "url", "pid"}, once the node is registered.

    Example: gradstream join http://10.0.0.5:8000 --token-file join-token
    """
    from gradstream.client import Credentials
    from gradstream.local.joining import NodeFolder, agent_command, agent_environment, ask, check, check_installed
    from gradstream.process.machine import credential_of, has_credential

    node = name or socket.gethostname().split(".")[0]
    folder = NodeFolder(work_dir or _default_folder(node))
    kept = [credential_of(folder.path)] if has_credential(folder.path) else []
    join_token = None if kept and not token and not token_file else _read_token(token, token_file)
    platform = Credentials.at(url, join_token or kept[0]).url
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # both ask for an orderly end
    check_installed()
    with folder.held():
        invitation = ask(platform, node, [*kept, *([join_token] if join_token else [])])
        check(invitation, platform)
        _warn(invitation, platform)
        isolated = isolate(isolation, job_network, writable)
        environment = agent_environment(folder, platform, join_token, invitation, name=node, slots=slots, isolate=isolated, mps=mps)
        _run(folder, agent_command(), environment, platform, as_json=as_json)


def _read_token(token: str | None, file: Path | None) -> str:
    """Raises: Invalid: none was given."""
    from gradstream.client.credentials import read_token
    from gradstream.errors import Invalid

    if token and token != "-":
        _hide(token)
    elif file and str(file) != "-":
        token = read_token(file)
    elif token != "-" and not file and sys.stdin.isatty():
        token = typer.prompt("Join token", hide_input=True, err=True)
    else:
        token = sys.stdin.readline()
    if not token.strip():
        raise Invalid("no join token was given; `gradstream token create --join` makes one, on a machine that is signed in")
    return token.strip()


def _hide(token: str) -> None:
    """Begin again without the token among our arguments, if it is there: other users can read those as long as we run."""
    given = [word.removeprefix("--token=") for word in sys.argv]
    if token not in given:
        return
    from gradstream.cli.terminal.output import talk

    talk(
        "note: other users of this machine could read the token in the list of processes until now. --token-file, "
        "GRADSTREAM_JOIN_TOKEN, or typing it when asked, never shows it.",
        "yellow",
    )
    kept = [word for word, bare in zip(sys.argv, given, strict=True) if bare != token and word != "--token"]
    reading, writing = os.pipe()
    os.write(writing, token.encode() + b"\n")
    os.close(writing)
    os.set_inheritable(reading, True)
    arguments = [sys.executable, "-m", "gradstream", *kept[1:], "--token-file", f"/dev/fd/{reading}"]
    os.execv(sys.executable, arguments)


def _default_folder(node: str) -> Path:
    from gradstream.client.credentials import DEFAULT_DATA_DIR

    return DEFAULT_DATA_DIR.with_name("gradstream-nodes") / node


def _warn(invitation: Invitation, url: str) -> None:
    from gradstream.cli.terminal.output import talk
    from gradstream.local.joining import CLOCK_WARNING, said_clock

    if abs(invitation.clock_ahead) > CLOCK_WARNING:
        talk(f"warning: {said_clock(invitation.clock_ahead)}. Times in its logs and charts are shifted by that.", "yellow")
    if url.startswith("http://"):
        talk("note: nothing on the way is encrypted: code, data and gradients. Join only in a network that you trust.", "dim")


def _run(folder: NodeFolder, command: list[str], environment: dict[str, str], url: str, *, as_json: bool) -> None:
    """Until Ctrl-C. Raises: Unavailable: the agent ended by itself. Denied: a user removed the node."""
    from gradstream.cli.terminal.output import talk
    from gradstream.errors import Denied, Unavailable
    from gradstream.local.servers.child import Child
    from gradstream.process.machine import REMOVED_EXIT_CODE

    agent = Child("the agent", command, log=folder.log, env=environment)
    seen = folder.log.stat().st_size if folder.log.exists() else 0
    try:
        agent.start()
        code = _follow(agent, folder, seen, url, as_json=as_json)
        if code == REMOVED_EXIT_CODE:
            raise Denied(f"this node was removed from {url}, and its processes ended; another join token brings it back")
        raise Unavailable(f"the agent ended by itself, with exit code {code}. {agent.last_words()}")
    except KeyboardInterrupt:
        talk("leaving; the jobs that ran here continue elsewhere, from their last checkpoint if necessary", "dim")
    finally:
        agent.stop(_STOP_TIMEOUT)


def _follow(agent: Child, folder: NodeFolder, seen: int, url: str, *, as_json: bool) -> int:
    """Say what the agent logs, until it ends. Returns its exit code."""
    from gradstream.cli.terminal.output import print_json
    from gradstream.local.joining import news

    told = False
    while (code := agent.poll()) is None:
        entries, seen = news(folder.log, seen)
        for entry in entries:
            _say(entry, url)
            if entry.get("event") == "registered" and not told:
                folder.forget_join_token()
                if as_json:
                    print_json({"node": entry["node"], "slots": entry["slots"], "url": url, "pid": os.getpid()})
                told = True
        if agent.rotate_log():
            seen = 0
        time.sleep(_POLL_INTERVAL)
    return code


def _say(entry: dict[str, Any], url: str) -> None:
    from gradstream.cli.terminal.output import talk

    if entry.get("event") == "registered":
        takes = "1 worker" if entry["slots"] == 1 else f"{entry['slots']} workers"
        talk(f"{entry['node']} is a node of {url} and takes {takes} at once. Ctrl-C leaves.", "bold green")
    elif str(entry.get("logger", "")).startswith(("worker_agent", "__main__", "gradstream")):
        details = "  ".join(f"{name} {value}" for name, value in entry.items() if name not in _DETAILS)
        style = "yellow" if entry.get("level") in ("warning", "error") else "dim"
        talk(f"{time.strftime('%H:%M:%S')}  {entry.get('event')}  {details}".rstrip(), style)
