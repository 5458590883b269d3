"""The programs of a platform on one machine, and their order: two Redis, Postgres, API, controller, one agent."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from gradstream.api.platform import Node
from gradstream.client import Client, Credentials, SignInLink
from gradstream.errors import NotSignedIn, Unavailable
from gradstream.local.folder import DataFolder
from gradstream.local.options import Options, StepState
from gradstream.local.programs import CHECKPOINT_AT_EXIT, Programs
from gradstream.local.servers.child import Child
from gradstream.local.servers.postgres import Postgres
from gradstream.local.servers.redis import Entrance, Redis
from gradstream.local.watch import Watch
from gradstream.process.machine import has_credential

WITHIN = 60.0
"""Seconds that each program may take to start."""


class Stopped(Exception):
    """`stop` was called while it started."""


class Stack:
    """All of its methods belong to one thread, which its programs die with."""

    def __init__(
        self,
        options: Options,
        folder: DataFolder,
        run: Path,
        *,
        on_step: Callable[[str, StepState], None],
        on_trouble: Callable[[str], None],
        stopping: Callable[[], bool],
    ) -> None:
        self._options, self._folder, self._on_step, self._stopping = options, folder, on_step, stopping
        self._watch = Watch(on_trouble)
        password = folder.secret
        self._postgres = Postgres(
            folder.path / "postgres", run / "pg", log=folder.logs / "postgres.log", password_file=password("postgres-password")
        )
        entrances = _entrances(options)
        self._live, self._plane = (
            Redis(
                name,
                run / f"redis-{name}",
                log=folder.logs / f"redis-{name}.log",
                password_file=password(f"redis-{name}-password"),
                maxmemory=memory,
                entrance=entrance,
            )
            for name, memory, entrance in zip(("live", "plane"), ("256mb", options.plane_memory), entrances, strict=True)
        )
        self._programs = Programs(
            folder, self._postgres, self._live, self._plane, options.host, options.port, options.allowed_hosts
        )
        self._api, self._controller = self._programs.api(), self._programs.controller()
        self._agent = self._programs.agent(options)

    @property
    def url(self) -> str:
        return self._programs.url

    def start(self) -> SignInLink:
        """Returns the sign-in link. Beside each other where they can be: API and agent load while the database starts.

        Raises: Unavailable: a program does not start; with the end of its log. Stopped."""
        began = time.time()
        for name in ("redis", "api", "node", "database"):
            self._on_step(name, StepState.WORKING)
        for server in (self._live, self._plane):
            server.start()
        self._api.start()
        self._postgres.start()  # the first time, a second of work: the agent, which keeps a core busy for 3 s, comes after it
        self._agent.start()
        self._postgres.wait(WITHIN)
        self._on_step("database", StepState.DONE)
        for server in (self._live, self._plane):
            server.wait()
        self._on_step("redis", StepState.DONE)
        self._step("tables", self._make_tables)
        self._step("controller", self._controller.start)
        self._until(self._api, lambda: _healthy(self.url), "it answered")
        self._on_step("api", StepState.DONE)
        self._on_step("account", StepState.WORKING)
        account, link = self._account()
        self._on_step("account", StepState.DONE)
        with Client(account) as client:
            self._until(self._agent, lambda: any(_since(began, node) for node in client.nodes()), "it had registered")
        self._folder.join_token.unlink(missing_ok=True)  # used up by now
        self._on_step("node", StepState.DONE)
        self._watch_all()
        return link

    def look(self) -> None:
        """Start again what has ended. Raises: Unavailable: it keeps ending."""
        self._watch.look()

    def end(self) -> None:
        """Stop all programs in bounded time, those that use others first. A program that was never started is skipped.

        The controller comes first: while all others live, it has the running jobs take a last checkpoint."""
        self._folder.last_stop.unlink(missing_ok=True)
        self._controller.ask_to_stop()
        self._wait_for_last_checkpoints()
        self._agent.stop(12)
        self._controller.stop()
        self._api.stop(8)
        for server in (self._live, self._plane, self._postgres):
            server.child.ask_to_stop()
        for server in (self._live, self._plane, self._postgres):
            server.stop()

    def kill_programs(self) -> None:
        """Let `end`, which may be waiting in another thread, wait no longer: for no checkpoint and no job process."""
        for program in (self._controller, self._agent, self._api):
            program.kill()

    def _wait_for_last_checkpoints(self) -> None:
        """Until the controller has reported, or has ended, or is late. It reports at once if no job trains."""
        deadline = time.monotonic() + CHECKPOINT_AT_EXIT + 5
        reported = self._folder.last_stop.exists
        while self._controller.runs() and not reported() and time.monotonic() < deadline:
            time.sleep(0.02)

    def _watch_all(self) -> None:
        for server in (self._live, self._plane, self._postgres):
            self._watch.add(server.child, server.start)
        for program in (self._api, self._controller):
            self._watch.add(program)
        self._watch.add(self._agent, self._start_agent_again)

    def _start_agent_again(self) -> None:
        """Also after a user has removed this machine's node: then it joins anew."""
        if not has_credential(self._folder.agent):
            self._to_its_end(self._programs.migrate(self._folder.make_join_token()))
        self._agent.start()

    def _step(self, name: str, work: Callable[[], None]) -> None:
        self._on_step(name, StepState.WORKING)
        work()
        self._on_step(name, StepState.DONE)

    def _until(self, child: Child, ready: Callable[[], bool], what: str) -> None:
        def ready_unless_stopped() -> bool:
            if self._stopping():
                raise Stopped
            return ready()

        child.wait_until(ready_unless_stopped, what, WITHIN, every=0.03)

    def _to_its_end(self, child: Child) -> None:
        """Raises: Unavailable: it failed, or took too long."""
        child.start()
        deadline = time.monotonic() + WITHIN
        while (code := child.poll()) is None:
            if self._stopping() or time.monotonic() > deadline:
                child.stop()
                raise Stopped if self._stopping() else Unavailable(f"{child.name} did not end within {WITHIN:g} s")
            time.sleep(0.01)
        if code:
            raise Unavailable(f"{child.name} failed with exit code {code}. {child.last_words()}")

    def _make_tables(self) -> None:
        """And, at the very first start, the account, which saves the start of another program."""
        if Credentials.load(self._folder.client_file) is None:
            self._new_account()
        else:
            known = has_credential(self._folder.agent)
            self._to_its_end(self._programs.migrate(None if known else self._folder.make_join_token()))

    def _account(self) -> tuple[Credentials, SignInLink]:
        """The account of the last time, if this database still knows it, else a new one; and a sign-in link for it."""
        kept = Credentials.load(self._folder.client_file)
        if kept:
            here = Credentials(self.url, kept.token)
            here.save(self._folder.client_file)
            try:
                return here, _sign_in_link(here)
            except NotSignedIn:
                pass  # the database is a new one
        fresh = self._new_account()
        return fresh, _sign_in_link(fresh)

    def _new_account(self) -> Credentials:
        answer = self._folder.path / "secrets" / "new-account"
        answer.unlink(missing_ok=True)
        answer.touch(0o600)
        try:
            join_token = self._folder.make_join_token()  # a new database does not know this machine's node
            self._to_its_end(self._programs.migrate_and_create_user(self._options.user, join_token, answer))
            fresh = Credentials(self.url, str(json.loads(answer.read_text().splitlines()[-1])["token"]))
        finally:
            answer.unlink()
        fresh.save(self._folder.client_file)
        return fresh


def _entrances(options: Options) -> tuple[Entrance | None, Entrance | None]:
    """Return the entrances of the live Redis and of the data plane's; None where other machines may not join."""
    if not options.open_to_machines:
        return None, None
    live, plane = options.redis_ports
    return Entrance(options.host, live), Entrance(options.host, plane)


def _since(began: float, node: Node) -> bool:
    """Return whether its agent has registered since then, by the clock of this machine."""
    return node.status == "ready" and node.registered_at.timestamp() >= began


def _sign_in_link(account: Credentials) -> SignInLink:
    with Client(account) as client:
        return client.create_sign_in_link()


def _healthy(url: str) -> bool:
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=2)
    try:
        connection.request("GET", "/api/v1/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
