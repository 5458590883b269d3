"""`gradstream down`: stop the platform that runs in a data folder, and nothing else."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from gradstream.cli.common import AsJson
from gradstream.cli.platform.starting import DataDir, options

if TYPE_CHECKING:
    from gradstream.local.folder import RunningPlatform

_WITHIN = 55.0
"""Seconds. A platform ends its programs one after the other, each in bounded time; its jobs may take a last checkpoint first."""


def command(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Stop the platform of this data folder. Jobs, metrics and models stay.

    Running jobs take a last checkpoint first, and the next start resumes them there. With --json it prints whether a platform
    ran, and each job that was running with its last checkpoint and the pushes since then, which are rolled back.
    """
    from gradstream.cli.terminal.output import print_json, talk
    from gradstream.local.folder import DataFolder, LastStop

    folder = DataFolder(options(data_dir, "", 1, None).data_dir)
    holder = folder.holder()
    running = holder if holder and holder.alive else None
    last_stop = LastStop([], [])
    if running is None:
        talk(f"No platform runs in {folder.path}.")
    else:
        talk(f"Stopping process {running.pid} at {running.url}", "dim")
        _end(running)
        last_stop = folder.read_last_stop()
        for sentence in last_stop.sentences:
            talk(sentence)
        talk(f"Stopped. {folder.path} is kept: `gradstream up` continues, `gradstream reset` deletes it.")
    if as_json:
        told = {"ran": running is not None, "stopped": running.pid if running else None, "data_dir": str(folder.path)}
        print_json({**told, "jobs": last_stop.jobs, "messages": last_stop.sentences})


def _end(running: RunningPlatform) -> None:
    """Ask the platform to end, and wait. Raises: Denied: it is another user's. Unavailable: it takes too long."""
    from gradstream.errors import Denied, Unavailable

    try:
        os.kill(running.pid, signal.SIGTERM)
    except ProcessLookupError:
        return  # it has just ended by itself
    except PermissionError as error:
        raise Denied(f"process {running.pid} is another user's; stop the platform as that user") from error
    deadline = time.monotonic() + _WITHIN
    while running.alive:
        if time.monotonic() > deadline:
            raise Unavailable(
                f"process {running.pid} did not end within {_WITHIN:g} s; `kill -9 {running.pid}` ends it and all its programs"
            )
        time.sleep(0.05)
