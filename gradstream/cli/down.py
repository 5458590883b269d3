"""`gradstream down`: stop the platform that runs in a data folder, and nothing else."""

from __future__ import annotations

import os
import signal
import time

from gradstream.cli.common import AsJson
from gradstream.cli.starting import DataDir, options

_WITHIN = 55.0
"""Seconds. A platform ends its programs one after the other, each in bounded time; its jobs may take a last checkpoint first."""


def command(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Stop the platform of this data folder. Jobs, metrics and models stay.

    Running jobs take a last checkpoint first, and the next start resumes them there.
    """
    from gradstream.cli.output import print_json, talk
    from gradstream.errors import Unavailable
    from gradstream.local.folder import DataFolder

    folder = DataFolder(options(data_dir, "", 1, None).data_dir)
    holder = folder.holder()
    running = holder if holder and holder.alive else None
    if running is None:
        talk(f"No platform runs in {folder.path}.")
    else:
        talk(f"Stopping process {running.pid} at {running.url}", "dim")
        os.kill(running.pid, signal.SIGTERM)
        deadline = time.monotonic() + _WITHIN
        while running.alive:
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"process {running.pid} did not end within {_WITHIN:g} s; `kill -9 {running.pid}` ends it and all its programs"
                )
            time.sleep(0.05)
        for sentence in folder.read_last_stop():
            talk(sentence)
        talk(f"Stopped. {folder.path} is kept: `gradstream up` goes on, `gradstream reset` deletes it.")
    if as_json:
        print_json({"stopped": running.pid if running else None, "data_dir": str(folder.path)})
