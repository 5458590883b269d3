"""The data folder of a platform on one machine: where everything lies, its secrets, and who holds it.

platform.json  who runs it now      client.json  address and token for the command line      secrets/  one file each
postgres/  files/  agent/  logs/    .gradstream.json  the marker: this folder is ours, and which entries of it
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import psutil

from gradstream import marker
from gradstream.errors import Conflict
from gradstream.local import entries

RUN_DIRS = "gradstream-"


@dataclass(frozen=True, slots=True)
class RunningPlatform:
    """The platform that runs, or ran until it was killed."""

    pid: int
    url: str
    data_dir: str
    started: float
    """Seconds since the epoch, of the process: a pid alone may mean another program by now."""
    run_dir: str

    @property
    def alive(self) -> bool:
        try:
            process = psutil.Process(self.pid)
            return process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - self.started) < 2
        except psutil.NoSuchProcess:
            return False


@dataclass(frozen=True, slots=True)
class LastStop:
    """How the last stop of a platform went."""

    sentences: list[str]
    jobs: list[dict[str, Any]] | None
    """The jobs that were running, as `backend/scheduler/last_checkpoints.py` `StoppedJob`; None: not known."""


class DataFolder:
    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()
        self._lock: int | None = None

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def client_file(self) -> Path:
        return self.path / "client.json"

    @property
    def last_stop(self) -> Path:
        return self.path / "last-stop.json"

    def read_last_stop(self) -> LastStop:
        """Return the controller's report of the platform's end; an empty one if it left none."""
        try:
            told = json.loads(self.last_stop.read_text(encoding="utf-8"))
            jobs = told.get("jobs")
            return LastStop(
                [str(sentence) for sentence in told["sentences"]], None if jobs is None else [dict(job) for job in jobs]
            )
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return LastStop([], None)

    @property
    def agent(self) -> Path:
        """The folder of this machine's own node."""
        return self.path / "agent"

    @property
    def join_token(self) -> Path:
        """The file with the token that this machine's own node joins with. It is there while the node is not known yet."""
        return self.secret("join-token")

    def make_join_token(self) -> Path:
        """Make a new one; it opens nothing until `backend migrate` registers it."""
        _write_private(self.join_token, f"gsj_{secrets.token_urlsafe(32)}")
        return self.join_token

    def secret(self, name: str) -> Path:
        return self.path / "secrets" / name

    def holder(self) -> RunningPlatform | None:
        """Return the content of platform.json, which a newer version may have written; None if there is none that can be read."""
        try:
            told = json.loads((self.path / "platform.json").read_text())
            return RunningPlatform(**{field.name: told[field.name] for field in fields(RunningPlatform)})
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def acquire(self) -> None:
        """Make the folder if needed, hold it until `release` or our death, and make the secrets that are missing.

        Raises: Conflict: another platform holds it, or something else is in it."""
        holds = self._make_or_recognise()
        self._take_lock()
        if holds is not None:
            self._mark(holds)
        self._remove_run_dir_of_the_dead()
        for folder in ("secrets", "files", "agent", "logs"):
            (self.path / folder).mkdir(mode=0o700, exist_ok=True)
        for name in marker.PASSWORDS:
            _make_secret(self.secret(name))
        for name in marker.FORMER_PASSWORDS:
            self.secret(name).unlink(missing_ok=True)
        self.join_token.unlink(missing_ok=True)  # of a start that was cut short

    def entries(self) -> dict[str, Path]:
        """Return the entries that a platform has made here, by name: all that may be deleted. Empty for somebody else's folder.

        Raises: Conflict: the marker was copied here from another folder, or a newer version wrote it."""
        found = self._read_marker()
        if found is None:
            names = entries.surely_ours(self.path) if marker.is_old_data_folder(self.path) else []
        else:
            names = [name for name in entries.ENTRIES if found.kind == "platform" and name in found.holds]
        paths = {name: self.path / name for name in names}
        return {name: path for name, path in paths.items() if path.exists() or path.is_symlink()}

    def forget(self) -> None:
        """Remove the marker, once nothing of a platform is left."""
        (self.path / marker.MARKER).unlink(missing_ok=True)

    def refuse_if_held(self) -> None:
        """Raises: Conflict, saying who holds it."""
        holder = self.holder()
        if holder and holder.alive:
            raise Conflict(self._held())

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock it: no other platform starts in it meanwhile. Raises: Conflict, naming the holder."""
        lock = self.path / "lock"
        was_there = lock.exists()
        self._take_lock()
        try:
            yield
        finally:
            if not was_there:
                lock.unlink(missing_ok=True)
            self.release()

    def record(self, url: str, run_dir: Path) -> None:
        """Say in platform.json that this process runs it; the report of the last stop is over."""
        self.last_stop.unlink(missing_ok=True)
        me = RunningPlatform(os.getpid(), url, str(self.path), psutil.Process().create_time(), str(run_dir))
        _write_private(self.path / "platform.json", json.dumps(asdict(me)) + "\n")

    def release(self) -> None:
        """After a clean stop. Harmless twice."""
        if self._lock is not None:
            (self.path / "platform.json").unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None

    def _make_or_recognise(self) -> Iterable[str] | None:
        """Return the entries of a new marker; None: the folder has one. Raises: Conflict: the folder is neither empty nor ours."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = self._read_marker()
        is_marked = found is not None and found.kind == "platform"
        if entries.is_unused(self.path) and (is_marked or not (self.path / marker.MARKER).exists()):
            return entries.ENTRIES
        if found and is_marked:
            return None if found.id else found.holds  # an older version wrote it without an id
        if marker.is_old_data_folder(self.path):
            return entries.surely_ours(self.path)
        names = sorted(path.name for path in self.path.iterdir())
        holds = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        remedy = "choose a new or an empty folder with --data-dir or GRADSTREAM_DATA_DIR"
        raise Conflict(f"{self.path} is not a Gradstream data folder, and it is not empty ({holds}); {remedy}")

    def _read_marker(self) -> marker.Marker | None:
        """Raises: Conflict: a newer version wrote it, or it was copied here from another folder."""
        found = marker.read_marker(self.path)
        if found and found.kind == "platform" and found.format > marker.FORMAT:
            raise Conflict(f"a newer version of Gradstream made {self.path}; install that version, or use another --data-dir")
        if found and marker.is_copied(self.path, found) and not entries.is_unused(self.path):
            raise Conflict(
                f"{self.path / marker.MARKER} is a copy of another folder's marker, so this is not a Gradstream data folder; "
                "delete that file, and choose another folder with --data-dir"
            )
        return found

    def _mark(self, holds: Iterable[str]) -> None:
        """Write the marker, and before it its id beside the passwords: a marker whose id is missing there counts as copied."""
        identity = secrets.token_hex(16)
        (self.path / "secrets").mkdir(mode=0o700, exist_ok=True)
        _write_private(self.secret(marker.FOLDER_ID), identity)
        marker.write_marker(self.path, "platform", holds, id=identity)

    def _take_lock(self) -> None:
        lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise Conflict(self._held()) from None
        self._lock = lock

    def _held(self) -> str:
        holder = self.holder()
        who = f"by process {holder.pid} at {holder.url}" if holder else "by a platform that is just starting or stopping"
        down = f"gradstream down --data-dir {shlex.quote(str(self.path))}"
        return (
            f"the data folder {self.path} is in use {who}. Stop that one with `{down}`, "
            "or start this one with another folder: --data-dir FOLDER --port PORT"
        )

    def _remove_run_dir_of_the_dead(self) -> None:
        """Sockets that a killed platform left. Only a folder of the kind that we make is ever removed."""
        holder = self.holder()
        if holder is None:
            return
        left = Path(holder.run_dir)
        if left.name.startswith(RUN_DIRS) and left.parent in {Path(tempfile.gettempdir()), Path("/tmp")}:
            shutil.rmtree(left, ignore_errors=True)


def _make_secret(path: Path) -> None:
    if not path.exists():
        _write_private(path, secrets.token_urlsafe(32))


def _write_private(path: Path, text: str) -> None:
    """Whole or not at all, and never readable by others."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    os.replace(temporary, path)
