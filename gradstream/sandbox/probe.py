"""The levels of isolation that this machine offers, found by trying: `python -m gradstream.sandbox.probe FOLDER`.

It makes a sandbox in FOLDER as for a job, looks around in it, and prints a line of JSON: what each level lacks, nothing for one
that works. `find_isolation` runs it, since a program that has threads should not fork."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from gradstream.sandbox.accounts import lease_account
from gradstream.sandbox.enter import enter
from gradstream.sandbox.pids import end_first, move_into_own_namespaces, new_process_namespace
from gradstream.sandbox.sandbox import Isolation, Level, Network, Sandbox

TIMEOUT = 20.0
"""Seconds that all tries may take together."""
WANTED = ("auto", *Level)


class Lacking(Exception):
    """The level that was asked for is not available here; the message says what is missing."""


def find_isolation(wanted: str, network: Network, folder: Path, writable: Sequence[Path] = ()) -> Isolation:
    """Find the isolation that jobs get on this machine. `wanted`: a level, or `auto` for the best; `folder`: of their folders;
    `writable`: folders that they may write to.

    Raises: Lacking: this machine does not offer the level that is wanted, or its jobs could not enter a folder."""
    isolation = _find(wanted, network, folder)
    closed = [str(path) for path in writable if isolation.account and not path.stat().st_mode & 0o001]
    if closed:
        raise Lacking(
            f"jobs have accounts of their own on this machine, but --writable {closed[0]} lets only its owner in. "
            f"Open it to all accounts: chmod 1777 {shlex.quote(closed[0])}"
        )
    if network is Network.PLATFORM and isolation.level is not Level.NAMESPACE:
        raise Lacking(
            f"only the isolation 'namespace' can cut jobs off from the network, and this machine has '{isolation.level}'. "
            f"{isolation.note} --job-network internet starts without."
        )
    return isolation


def _find(wanted: str, network: Network, folder: Path) -> Isolation:
    if wanted == Level.NONE:
        return Isolation(note="It was chosen: --isolation none.")
    found = _probe(folder)
    whole, shared, user = (found.get(name, "it was not tried") for name in ("namespace and account", "namespace", "user"))
    if wanted in ("auto", Level.NAMESPACE) and "" in (whole, shared):
        note = f"No account of its own: {whole}." if whole and os.geteuid() == 0 else ""
        return Isolation(Level.NAMESPACE, account=not whole, note=note, network=network)
    if wanted in ("auto", Level.USER) and not user:
        return Isolation(Level.USER, account=True, note=f"No namespaces: {shared}." if wanted == "auto" else "")
    if wanted == "auto":
        return Isolation(note=f"No namespaces: {shared}. No accounts: {user}.")
    lacks = shared if wanted == Level.NAMESPACE else user
    raise Lacking(f"this machine does not offer the isolation '{wanted}': {lacks}. --isolation auto takes the best that it has.")


def _probe(folder: Path) -> dict[str, str]:
    if sys.platform != "linux":
        return dict.fromkeys(("namespace and account", "namespace", "user"), "only Linux has them")
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", __spec__.name, str(folder)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        return dict(json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        why = f"trying it took more than {TIMEOUT:g} s"
    except (OSError, ValueError, TypeError):
        why = f"trying it failed: {done.stderr.strip().splitlines()[-1:] or done.returncode}"
    return dict.fromkeys(("namespace and account", "namespace", "user"), why)


def _try_all(place: Path) -> dict[str, str]:
    """Try each level, and return what it lacks here; empty: nothing."""
    root = os.geteuid() == 0
    found = {}
    if root:
        found["namespace and account"] = _try(Sandbox(Level.NAMESPACE, account=True, network=Network.PLATFORM), place)
        found["user"] = _try(Sandbox(Level.USER, account=True), place)
    else:
        found["namespace and account"] = found["user"] = "only an agent that runs as root can give jobs accounts of their own"
        try:
            move_into_own_namespaces()
        except OSError as error:
            return found | {
                "namespace": f"user namespaces are refused ({error.strerror}); an agent that runs as root may need none"
            }
    found["namespace"] = (
        "" if not found["namespace and account"] else _try(Sandbox(Level.NAMESPACE, network=Network.PLATFORM), place)
    )
    return found


def _try(sandbox: Sandbox, place: Path) -> str:
    """Enter a sandbox like this one in a child. Returns what failed, or nothing."""
    if sandbox.level is Level.USER and (closed := _closed_above(place)):
        return f"other accounts, as jobs would have, cannot pass through {closed[0]}; open the way: chmod 711 {shlex.join(closed)}"
    folder, hidden = (Path(tempfile.mkdtemp(prefix=".try-", dir=place)) for _ in range(2))
    (hidden / "secret").write_text("secret")
    readable, writable = os.pipe()
    try:
        with ExitStack() as stack:
            account = lease_account() if sandbox.account else None
            if account:
                stack.callback(account.free)
            if sandbox.level is Level.NAMESPACE:
                stack.callback(end_first, stack.enter_context(new_process_namespace()))
            if not (child := os.fork()):
                _look_around(sandbox, folder, hidden, account.uid if account else None, writable)
            os.close(writable)
            with os.fdopen(readable, "rb") as told:
                said = told.read().decode(errors="replace")
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            return said or (f"a process in it ended with {status}" if status else "")
    except (OSError, RuntimeError) as error:
        return str(error)
    finally:
        for made in (folder, hidden):
            shutil.rmtree(made, ignore_errors=True)


def _closed_above(place: Path) -> list[str]:
    """Return the folders on the way to `place` that other accounts cannot enter."""
    return [str(folder) for folder in reversed(place.parents) if not folder.stat().st_mode & 0o001]


def _look_around(sandbox: Sandbox, folder: Path, hidden: Path, uid: int | None, tell: int) -> NoReturn:
    """In the child: enter, and see whether what should be is so."""
    said = ""
    try:
        signal.alarm(int(TIMEOUT))
        for output in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), output)
        needed = [place for place in (sys.executable, *sys.path, __file__) if os.path.isabs(place) and os.access(place, os.R_OK)]
        enter(replace(sandbox, hidden=(str(hidden),)), folder, uid)
        said = _mistake(sandbox, folder, hidden, needed)
    except Exception as error:
        said = str(error) or type(error).__name__
    finally:
        os.write(tell, said.encode()[:2000])
        os._exit(0)


def _mistake(sandbox: Sandbox, folder: Path, hidden: Path, needed: list[str]) -> str:
    if os.access(hidden / "secret", os.R_OK):
        return f"{hidden} can still be read"
    if sandbox.level is Level.NAMESPACE and len([name for name in os.listdir("/proc") if name.isdigit()]) > 2:
        return "/proc still shows processes of others"
    (folder / "written").write_text("whole")
    with tempfile.TemporaryFile() as file:  # without a name: below a shared /tmp, another probe may have left one
        file.write(b"whole")
    for place in needed:
        if not os.access(place, os.R_OK):
            return f"the account of a job cannot read {place}, of this Python installation"
    if sandbox.level is Level.USER and os.access(hidden.parent, os.W_OK):
        return f"{hidden.parent} is writable for all accounts"
    return ""


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_try_all(Path(sys.argv[1]).resolve())))
