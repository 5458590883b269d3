"""The agent as a process of its own, with a control plane and a broker that a test gives it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any
from uuid import uuid4

import celery
import psutil
import redis

from backend.nodes.identity.accounts import open_account
from gradstream import bundle
from gradstream.local.servers.child import run_dir
from gradstream.local.servers.redis import Redis
from gradstream.process.order import PlaneAccess, ProcessOrder
from gradstream.programs import broker, tasknames
from tests.integration.agent.control_plane import JOIN_TOKEN, LIVE_PASSWORD, NODE_ID, ControlPlane
from tests.orders import make_order
from tests.support import TIMEOUT, eventually

NODE = "test-node"
SLEEPER = "import time; print('here I am', flush=True); time.sleep(600)"


class Node:
    """The agent, and orders for it whose user code decides what happens (it runs when the worker imports the workload)."""

    def __init__(self, folder: Path, control: ControlPlane, live: Redis, temporary: Path | None = None) -> None:
        """`temporary`: a folder with a short path, since the agent makes sockets there. A killed agent leaves them."""
        self.folder, self.control, self.live = folder, control, live
        self._temporary = str(temporary) if temporary else tempfile.gettempdir()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, **environment: str) -> None:
        self.open_account()
        token = self.folder / "join-token"
        if self.control.credential is None:
            token.write_text(JOIN_TOKEN)
        else:
            token.unlink(missing_ok=True)  # later starts need none
        settings = {
            "API_URL": self.control.url,
            "NODE_NAME": NODE,
            "JOIN_TOKEN_FILE": token,
            "WORK_DIR": self.folder / "work",
            "LIVE_REDIS_URL": self.live.url,
        }
        with (self.folder / "agent.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "worker_agent"],
                stderr=log,
                stdout=log,
                env={
                    **os.environ,
                    "TMPDIR": self._temporary,
                    **environment,
                    **{f"GRADSTREAM_{name}": str(value) for name, value in settings.items()},
                },
            )

    def open_account(self) -> None:
        with redis.Redis.from_url(self.live.url, password=self.live.password) as admin:
            open_account(admin, NODE_ID, LIVE_PASSWORD)

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        assert self._process
        self._process.send_signal(number)
        return self._process.wait(TIMEOUT)

    def order(self, code: str, **changes: Any) -> ProcessOrder:
        source = self.folder / f"source-{uuid4()}"
        source.mkdir()
        (source / "body.py").write_text(dedent(code))
        changes.setdefault("plane", PlaneAccess(url=self.live.url, password=self.live.password))
        return make_order(bundle=self.control.add_bundle(bundle.pack(source).data), **changes)

    def run(self, code: str, **changes: Any) -> ProcessOrder:
        order = self.order(code, **changes)
        self.control.desired = [*self.control.desired, order]
        self.hint()
        return order

    def hint(self) -> None:
        app = celery.Celery(broker=broker.url(self.live.url, self.live.password))
        app.conf.update(broker.SETTINGS)
        app.send_task(tasknames.SYNC, queue=tasknames.node_queue(NODE_ID))
        app.close()

    def state(self, order: ProcessOrder, wanted: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            report = self.control.reported.get(order.id)
            return report if report and report["state"] == wanted else None

        found = eventually(look, f"{order.label} to be reported as {wanted}")
        assert found
        return found

    def log(self) -> str:
        return (self.folder / "agent.log").read_text()


@contextmanager
def registered_node(folder: Path, live: Redis) -> Iterator[Node]:
    """A node that a test may kill, with a control plane and a broker of its own."""
    control = ControlPlane()
    temporary = run_dir()
    temporary.chmod(0o711)  # accounts of job processes connect to sockets there
    node = Node(folder, control, live, temporary)
    try:
        node.start()
        eventually(lambda: control.registrations, "the registration")
        yield node
    finally:
        if psutil.pid_exists(node.pid):
            node.end(signal.SIGKILL)
        control.close()
        shutil.rmtree(temporary)
