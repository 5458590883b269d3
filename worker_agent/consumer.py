"""The agent's Celery worker: hints that there is news for this node (`gradstream.programs.tasknames`).

Hints only shorten the wait for the next heartbeat, so a consumer that has gone silent must not cost a running process. It
gets a ping over the broker now and then, and is replaced when pings do not come back.
"""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog
from celery import Celery, signals
from celery.exceptions import SecurityWarning
from celery.platforms import EX_FAILURE
from celery.worker import state
from kombu.exceptions import OperationalError

from gradstream.programs import broker, tasknames
from worker_agent.settings import AgentSettings

log = structlog.get_logger(__name__)

PING_EVERY = 10.0
SILENT_AFTER = 30.0
_EXPIRES = 60
_ENDED = 0
"""The exit code of a consumer that ended on request."""
_RETRY_INTERVAL = 0.5
"""Seconds before a consumer that failed is replaced."""


@dataclass(frozen=True, slots=True)
class NodeQueue:
    """A node's place on the broker: its queue, and the account of that name."""

    queue: str
    password: str = field(repr=False)


class Consumer:
    """It consumes nothing before `open`."""

    def __init__(
        self,
        settings: AgentSettings,
        on_news: Callable[[], None],
        *,
        ping_every: float = PING_EVERY,
        silent_after: float = SILENT_AFTER,
    ) -> None:
        self._node, self._live_url, self._on_news = settings.node_name, settings.live_redis_url, on_news
        self._ping_every, self._silent_after = ping_every, silent_after
        warnings.filterwarnings("ignore", category=SecurityWarning)  # about root and pickle: only JSON is accepted here
        self._mailbox: NodeQueue | None = None
        self._opened = threading.Event()
        self._app: Celery | None = None
        """Celery app of the mailbox; None: it is not open yet."""
        self._stopped = threading.Event()
        self._unanswered: dict[str, float] = {}
        """Pings on their way, by token, and since when."""
        self._consumes = self._replacing = False
        self._lock = threading.Lock()
        """Over the two: a consumer that has failed already must get no request to end, or the next one takes it for itself. Also
        over the mailbox."""

    def run(self) -> None:
        """In the main thread, which Celery's signal handlers need. Returns after SIGTERM, SIGINT or `stop`."""
        for number in (signal.SIGTERM, signal.SIGINT):  # until Celery has its own
            signal.signal(number, lambda *_: self.stop())
        pinger = threading.Thread(target=self._ping, name="ping", daemon=True)
        pinger.start()
        while self._opened.wait() and not self._stopped.is_set():
            if self._consume() != _ENDED:
                log.error("the consumer failed, as after a message that cannot be read; another one begins")
                self._stopped.wait(_RETRY_INTERVAL)
            elif not self._replacing:
                self._stopped.set()
        pinger.join(self._ping_every)
        if self._app:
            self._app.close()

    def open(self, mailbox: NodeQueue) -> None:
        """From any thread; again when the node has registered again."""
        with self._lock:
            if mailbox != self._mailbox:
                self._mailbox, self._app = mailbox, self._make_app(mailbox)
                if self._consumes:
                    self._replacing = True
                    _leave_loop()
        self._opened.set()

    def _make_app(self, mailbox: NodeQueue) -> Celery:
        app = Celery("worker_agent", broker=broker.url(self._live_url, mailbox.password, mailbox.queue))
        app.conf.update(broker.receiver_settings(mailbox.queue))
        app.task(name=tasknames.SYNC)(self._sync)
        app.task(name=tasknames.PING)(self._pong)
        return app

    def _consume(self) -> int:
        """Until the consumer ends, by a signal, `stop` or a failure; its exit code."""
        app = self._app
        assert app, "it was opened"
        try:
            worker = app.Worker(
                queues=[app.conf.task_default_queue],
                pool="solo",
                hostname=f"{self._node}@agent",
                quiet=True,
                without_mingle=True,
                without_gossip=True,
                without_heartbeat=True,
            )
            worker.set_process_status = lambda info: None  # type: ignore[method-assign]  # the agent keeps its command line
            with self._lock:
                self._consumes, self._replacing = True, self._app is not app
                self._unanswered.clear()  # the one before had these pings, and failed
            if not self._replacing:
                worker.start()
        except Exception:  # the processes of this node depend on this program
            log.exception("the consumer failed")
            return EX_FAILURE
        finally:
            with self._lock:
                self._consumes = False
                state.should_stop = None
        return worker.exitcode or _ENDED

    def stop(self) -> None:
        """From any thread; harmless twice."""
        self._stopped.set()
        self._opened.set()
        _leave_loop()

    def _sync(self, *_: object, **__: object) -> None:
        self._on_news()

    def _pong(self, token: str, *_: object, **__: object) -> None:
        self._unanswered.clear()  # the queue keeps its order: what was sent before this one is late, not lost
        log.debug("ping", token=token)

    def _ping(self) -> None:
        number = 0
        while not self._stopped.wait(self._ping_every):
            if (app := self._app) is None:
                continue
            number += 1
            self._unanswered[str(number)] = time.monotonic()
            try:
                app.send_task(tasknames.PING, [str(number)], expires=_EXPIRES)
            except OperationalError:
                self._unanswered.clear()  # the broker is away, so nobody is to blame
                continue
            except Exception:
                log.exception("a ping could not be sent; the next one follows")
                continue
            self._replace_if_silent()

    def _replace_if_silent(self) -> None:
        with self._lock:
            waiting = min(self._unanswered.values(), default=time.monotonic())
            if self._consumes and time.monotonic() - waiting > self._silent_after:
                log.error("the broker takes messages, but none arrives here; replacing the consumer")
                self._unanswered.clear()
                self._replacing = True
                _leave_loop()


@signals.setup_logging.connect
def _leave_logging_alone(**_: object) -> None:
    """That somebody listens to this signal keeps Celery from raising the root logger's level."""


def _leave_loop() -> None:
    """Celery's loop looks at this between messages, and ends as it does on SIGTERM."""
    state.should_stop = 0  # type: ignore[assignment]
