"""`gradstream up`: the whole platform on this machine, until Ctrl-C."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from rich.text import Text

from gradstream.cli.common import AsJson
from gradstream.cli.starting import DataDir, Host, Port, Slots, Starting, options

if TYPE_CHECKING:
    from gradstream.local.platform import Platform


def command(
    data_dir: DataDir = None, host: Host = "127.0.0.1", port: Port = 8000, slots: Slots = None, as_json: AsJson = False
) -> None:
    """Start the platform on this machine: database, Redis, API with the web page, controller and one node agent.

    It runs until Ctrl-C and keeps everything in one folder, so the next `gradstream up` goes on where this one ended. With
    --json it prints one line, {"url", "sign_in_url", "data_dir", "pid"}, as soon as it is ready.
    """
    from gradstream.local.platform import Platform

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # both ask for an orderly end
    starting = Starting()
    platform = Platform(options(data_dir, host, port, slots), on_step=starting.step, on_trouble=starting.trouble)
    try:
        with starting:
            platform.start()
        _say_where(platform, host, as_json)
        platform.wait()
    except KeyboardInterrupt:
        _say("stopping; running jobs go on from their last cut at the next start", "dim")
    finally:
        platform.stop()


def _say_where(platform: Platform, host: str, as_json: bool) -> None:
    import os

    from gradstream.cli.output import print_json, talking

    if as_json:
        where = {"url": platform.url, "sign_in_url": platform.sign_in_url, "data_dir": str(platform.folder.path)}
        print_json({**where, "pid": os.getpid()})
    console = talking()
    console.print(Text.assemble("\nOpen ", (platform.sign_in_url, "bold cyan"), "  (signs you in, once)"))
    console.print(Text.assemble("Data ", str(platform.folder.path)))
    if host not in ("127.0.0.1", "::1", "localhost"):
        _say(f"It listens on {host}, without TLS: put a proxy with TLS before it, or use it in a network that you trust.", "yellow")
    _say("Try  gradstream submit examples/digits/job.yaml --follow     Ctrl-C stops the platform", "dim")


def _say(words: str, style: str) -> None:
    from gradstream.cli.output import talk

    talk(words, style)
