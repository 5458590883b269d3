"""The agent's Celery worker alone, in a process of its own (it wants the main thread)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import celery
import redis

from backend.nodes.identity.accounts import open_account
from gradstream.local.servers.redis import Redis
from gradstream.programs import broker, tasknames

SCRIPT = """
import sys
from gradstream.programs import jsonlog
from worker_agent import consumer
from worker_agent.consumer import Consumer, NodeQueue
from worker_agent.settings import AgentSettings
jsonlog.configure(sys.stderr, quiet=("celery.worker.strategy", "celery.app.trace"))
consumer._RETRY_INTERVAL = 0.01
consumer = Consumer(AgentSettings(), lambda: print("news", flush=True), ping_every=0.2, silent_after=1)
consumer.open(NodeQueue(*sys.argv[1:]))
consumer.run()
"""
NODE_ID = UUID(int=1)


class Consumer:
    """With the account of its node."""

    def __init__(self, live: Redis, folder: Path, node_id: UUID = NODE_ID) -> None:
        self.live, self._log = live, folder / f"log-{node_id.int}"
        self.queue = tasknames.node_queue(node_id)
        self.password = f"of node {node_id.int}"
        settings = {"API_URL": "http://unused", "NODE_NAME": "quiet", "WORK_DIR": folder, "LIVE_REDIS_URL": live.url}
        with redis.Redis.from_url(live.url, password=live.password) as admin:
            open_account(admin, node_id, self.password)
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", SCRIPT, self.queue, self.password],
                stdout=log,
                stderr=log,
                env={**os.environ, **{f"GRADSTREAM_{name}": str(value) for name, value in settings.items()}},
            )

    def said(self, words: str) -> int:
        return self._log.read_text().count(words)

    def hint(self) -> None:
        send_hint(self.live, self.queue)

    def hears(self) -> int:
        """How often, after one more hint: one may go to a connection that is being closed."""
        self.hint()
        return self.said("news")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def send_hint(live: Redis, queue: str) -> None:
    """As the control plane does."""
    app = celery.Celery(broker=broker.url(live.url, live.password))
    app.conf.update(broker.SETTINGS)
    app.send_task(tasknames.SYNC, queue=queue)
    app.close()
