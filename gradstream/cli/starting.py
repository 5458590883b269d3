"""What a person sees while a platform starts: one line per finished step, and what is being waited for."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Self

import typer
from rich.text import Text

from gradstream.cli.output import talking
from gradstream.local.options import Options, StepState

if TYPE_CHECKING:
    from gradstream.local.platform import Platform

WORDS = {
    "redis": "Redis, one for live data and one for gradients", "database": "Postgres", "tables": "tables in the database",
    "controller": "controller", "api": "API and web page", "account": "account", "node": "node agent",
}  # fmt: skip

DataDir = Annotated[
    str | None,
    typer.Option("--data-dir", envvar="GRADSTREAM_DATA_DIR", help="Where everything is kept; default: your user data folder"),
]
Host = Annotated[str, typer.Option("--host", help="Address to listen on; 0.0.0.0 lets other machines in")]
Port = Annotated[int, typer.Option("--port", min=1, max=65535, help="Port of the page and the API")]
Slots = Annotated[int | None, typer.Option("--slots", min=1, help="Workers that run here at once; default: max(4, cores)")]


Join = Annotated[
    bool | None,
    typer.Option("--join/--no-join", help="Let other machines join: open both Redis; default: unless --host is loopback"),
]
LivePort = Annotated[
    int | None, typer.Option("--live-port", min=1, max=65535, help="Of the Redis that wakes joined machines; default: --port + 1")
]
PlanePort = Annotated[
    int | None,
    typer.Option("--plane-port", min=1, max=65535, help="Of the gradients' Redis, for joined machines; default: --port + 2"),
]


def options(
    data_dir: str | None, host: str, port: int, slots: int | None, *, join: bool | None = None, live_port: int | None = None,
    plane_port: int | None = None,
) -> Options:  # fmt: skip
    from pathlib import Path

    from gradstream.client.credentials import Settings

    folder = Path(data_dir) if data_dir else Settings().data_dir
    return Options(folder, host=host, port=port, slots=slots, join=join, live_port=live_port, plane_port=plane_port)


def stop_platform(platform: Platform) -> None:
    """End the platform and print how the last checkpoints went. Ctrl-C meanwhile ends it at once."""
    from gradstream.cli.output import talk

    try:
        platform.stop()
    except KeyboardInterrupt:
        platform.stop(at_once=True)
    for sentence in platform.last_checkpoints:
        talk(sentence)


class Starting:
    """A context manager around `Platform.start`; give `step` and `trouble` to the Platform."""

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
