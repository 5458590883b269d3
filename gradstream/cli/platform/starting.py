"""The progress of a platform's start: one line per finished step, and the steps that it waits for."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Literal, Self

import typer
from rich.text import Text

from gradstream.cli.terminal.output import talking
from gradstream.hostnames import check_host_name
from gradstream.local.options import Isolate, Options, StepState

if TYPE_CHECKING:
    from gradstream.local.platform import LocalPlatform

WORDS = {
    "redis": "Redis, one for live data and one for gradients",
    "database": "Postgres",
    "tables": "tables in the database",
    "controller": "controller",
    "api": "API and web page",
    "account": "account",
    "node": "node agent",
}

DataDir = Annotated[
    str | None,
    typer.Option("--data-dir", envvar="GRADSTREAM_DATA_DIR", help="Data folder; default: your user data folder"),
]
Host = Annotated[str, typer.Option("--host", help="Address to listen on; 0.0.0.0 lets other machines in")]
Port = Annotated[int, typer.Option("--port", min=1, max=65535, help="Port of the page and the API")]
Slots = Annotated[int | None, typer.Option("--slots", min=1, help="Workers that run here at once; default: max(4, cores)")]
AllowedHosts = Annotated[
    list[str] | None,
    typer.Option("--allowed-host", metavar="NAME", help="Another host name under which browsers open the page; may be repeated"),
]
Join = Annotated[
    bool | None,
    typer.Option("--join/--no-join", help="Let other machines join: open both Redis; default: unless --host is loopback"),
]
LivePort = Annotated[
    int | None,
    typer.Option("--live-port", min=1, max=65535, help="Port of the Redis that wakes joined machines; default: --port + 1"),
]
PlanePort = Annotated[
    int | None,
    typer.Option("--plane-port", min=1, max=65535, help="Port of the data plane's Redis, for joined machines; default: --port + 2"),
]

Isolation = Annotated[
    Literal["auto", "namespace", "user", "none"],
    typer.Option(
        "--isolation",
        help="Separation of jobs from the platform and each other; auto: the strongest this machine offers",
    ),
]
JobNetwork = Annotated[
    Literal["internet", "platform"],
    typer.Option(
        "--job-network",
        help="Network that jobs may use: internet is everything this machine reaches, platform is the data plane and the API only",
    ),
]
Writable = Annotated[
    list[Path] | None,
    typer.Option(
        "--writable",
        exists=True,
        file_okay=False,
        help="A folder that isolated jobs may write to, besides their own; may be repeated",
    ),
]

Mps = Annotated[
    bool,
    typer.Option(
        "--mps",
        help="Run NVIDIA's MPS for jobs that share a GPU: their kernels run side by side, and one that fails may end the others; "
        "needs --isolation none",
    ),
]


def isolate(isolation: str, job_network: str, writable: list[Path] | None) -> Isolate:
    return Isolate(isolation, job_network, tuple(path.resolve() for path in writable or ()))


def options(
    data_dir: str | None,
    host: str,
    port: int,
    slots: int | None,
    *,
    join: bool | None = None,
    live_port: int | None = None,
    plane_port: int | None = None,
    allowed_hosts: list[str] | None = None,
    isolate: Isolate | None = None,
    mps: bool = False,
) -> Options:
    from gradstream.client.credentials import ClientSettings

    folder = Path(data_dir) if data_dir else ClientSettings().data_dir
    try:
        names = tuple(check_host_name(name) for name in allowed_hosts or ())
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--allowed-host") from error
    return Options(
        folder,
        host=host,
        port=port,
        slots=slots,
        join=join,
        live_port=live_port,
        plane_port=plane_port,
        allowed_hosts=names,
        isolate=isolate or Isolate(),
        mps=mps,
    )


def stop_platform(platform: LocalPlatform) -> None:
    """End the platform and print how the last checkpoints went. Ctrl-C meanwhile ends it at once."""
    from gradstream.cli.terminal.output import talk

    try:
        platform.stop()
    except KeyboardInterrupt:
        platform.stop(at_once=True)
    for sentence in platform.last_checkpoints:
        talk(sentence)


class Starting:
    """A context manager around `LocalPlatform.start`; give `step` and `trouble` to `LocalPlatform`."""

    def __init__(self) -> None:
        self._console = talking()
        self._status = self._console.status("starting")
        self._open: dict[str, float] = {}
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._status.stop()
        if kind is None:
            self._console.print(f"ready after {time.monotonic() - self._began:.1f} s", style="dim")

    def step(self, name: str, state: StepState) -> None:
        if state is StepState.WORKING:
            self._open[name] = time.monotonic()
        else:
            took = time.monotonic() - self._open.pop(name)
            self._console.print(Text.assemble(("✓ ", "green"), WORDS[name], (f"  {took:.1f} s", "dim")))
        self._status.update("starting: " + ", ".join(self._open))

    def trouble(self, what: str) -> None:
        self._console.print(Text(what, "yellow"))
