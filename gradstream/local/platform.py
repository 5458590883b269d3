"""A whole platform on one machine, as one object: what `gradstream up` and `gradstream demo` start and stop.

    with Platform(Options(data_dir)) as platform:
        print(platform.url, platform.sign_in_url)
        platform.wait()

One thread starts all programs and watches them, since a death signal comes when the *thread* that started a program ends:
whoever uses a Platform may do so from any thread, and when the process is killed, everything dies by itself.
"""

from __future__ import annotations

import math
import queue
import shutil
import threading
import time
from collections.abc import Callable
from typing import Self

from gradstream.client import SignInLink
from gradstream.errors import GradstreamError, Unavailable
from gradstream.local.folder import DataFolder
from gradstream.local.options import STEPS, Options, StepState
from gradstream.local.running import note_running
from gradstream.local.servers.child import run_dir
from gradstream.local.servers.ports import refuse_if_taken
from gradstream.local.stack import Stack, Stopped

__all__ = ["STEPS", "LocalPlatform", "Options", "StepState"]

_POLL_INTERVAL, _END_POLL_INTERVAL = 0.1, 0.01
"""Seconds; the second while threads end."""


class LocalPlatform:
    def __init__(
        self,
        options: Options,
        *,
        on_step: Callable[[str, StepState], None] = lambda step, state: None,
        on_trouble: Callable[[str], None] = lambda what: None,
    ) -> None:
        """`on_step(name, state)` is called for each of STEPS as it begins and ends; `on_trouble(sentence)` when a program
        ended by itself. Both from the platform's thread."""
        self._options, self._on_step, self._on_trouble = options, on_step, on_trouble
        self.folder = DataFolder(options.data_dir)
        self.url = ""
        self.sign_in: SignInLink | None = None
        """Once it has started."""
        self.last_checkpoints: list[str] = []
        """Sentences about the last checkpoints of its jobs, once it has ended."""
        self._started: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()
        self._stop, self._ended = threading.Event(), threading.Event()
        self._failure: Unavailable | None = None
        self._stack: Stack | None = None
        self._thread = threading.Thread(target=self._live, name="platform", daemon=True)

    @property
    def sign_in_url(self) -> str:
        """Signs one browser in, once, within minutes."""
        return self.sign_in.url if self.sign_in else ""

    @property
    def ended(self) -> bool:
        """All its programs have ended; also when it failed or was stopped while it started."""
        return self._ended.is_set()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Returns when jobs can be submitted; the agent goes on warming up.

        Raises: Conflict: the folder or the port is in use. Unavailable: a program does not start; with its log's end."""
        self.folder.acquire()
        try:
            self._options.check_ports(refuse_if_taken)
        except GradstreamError:
            self.folder.release()
            raise
        self._thread.start()
        try:
            problem = self._started.get()
        except BaseException:  # Ctrl-C, or what a signal handler raises
            self.stop()
            raise
        if problem is not None:
            self._thread.join()
            raise problem

    def wait(self, timeout: float | None = None) -> bool:
        """Until it was stopped or failed; False after `timeout` seconds.

        Raises: Unavailable: a program ended again and again, so everything was ended."""
        deadline = time.monotonic() + (math.inf if timeout is None else timeout)
        while not self._ended.is_set() and time.monotonic() < deadline:
            # An Event's wait breaks if a signal handler raises.
            time.sleep(min(_POLL_INTERVAL, max(0.0, deadline - time.monotonic())))
        if self._failure:
            raise self._failure
        return self._ended.is_set()

    def stop(self, *, at_once: bool = False) -> None:
        """End everything, in bounded time; `at_once`: without last checkpoints of the running jobs. Harmless twice."""
        self._stop.set()
        if at_once and self._stack:
            self._stack.kill_programs()
        if self._thread.ident is not None:
            while not self._ended.is_set():
                time.sleep(_END_POLL_INTERVAL)  # a join that Ctrl-C interrupts takes the thread for ended: the next returns at once
            self._thread.join()

    def _live(self) -> None:
        """The platform's own thread, from the first program's start to the last one's end."""
        run = run_dir()
        try:
            self._stack = stack = Stack(
                self._options,
                self.folder,
                run,
                on_step=self._on_step,
                on_trouble=self._on_trouble,
                stopping=self._stop.is_set,
            )
            self.url = stack.url
            self.folder.record(stack.url, run)
            note_running(run, self.folder.path)
            self.sign_in = stack.start()
            self._started.put(None)
            while not self._stop.wait(_POLL_INTERVAL):
                stack.look()
        except Stopped:
            pass
        except Exception as error:
            self._failure = error if isinstance(error, Unavailable) else Unavailable(f"{type(error).__name__}: {error}")
            self._failure.__cause__ = error
        finally:
            if self._stack:
                self._stack.end()
                self.last_checkpoints = self.folder.read_last_stop().sentences
            shutil.rmtree(run, ignore_errors=True)
            self.folder.release()
            self._ended.set()
            self._started.put(self._failure)
