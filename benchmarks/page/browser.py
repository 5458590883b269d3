"""A Chromium without a GPU, its processes and their CPU seconds."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import greenlet
from playwright.sync_api import Browser, BrowserContext, Error, Page, sync_playwright

from benchmarks import common
from benchmarks.page.stage import Stage

TIMEOUT_MS = 120_000
SIZE = (1440, 900)
"""Of a window as most people have it."""
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
)
_WATCH = Path(__file__).with_name("watch.js").read_text()
_ALL_IN_SIGHT = """
window.IntersectionObserver = class {
  constructor(tell) { this.tell = tell }
  observe(target) { setTimeout(() => this.tell([{ target, isIntersecting: true }])) }
  unobserve() {}
  disconnect() {}
}
"""


@dataclass(frozen=True)
class Chromium:
    browser: Browser
    stage: Stage

    @contextmanager
    def context(self, size: tuple[int, int] = SIZE, *, all_in_sight: bool = False) -> Iterator[BrowserContext]:
        """Signed in, with an empty cache. `all_in_sight`: the page believes that all of it can be seen."""
        width, height = size
        context = self.browser.new_context(base_url=self.stage.url, viewport={"width": width, "height": height})
        context.set_default_timeout(TIMEOUT_MS)
        context.add_cookies([self.stage.cookie])  # type: ignore[list-item]
        context.add_init_script(f"{{{_WATCH}}}{_ALL_IN_SIGHT if all_in_sight else ''}")
        try:
            yield context
        finally:
            context.close()

    def pids(self, kind: str) -> list[int]:
        """Of the `browser`, its `renderer`s (one with pages, perhaps one that waits for the next) or the `GPU` process, which puts
        frames together."""
        session = self.browser.new_browser_cdp_session()
        found: list[dict[str, Any]] = session.send("SystemInfo.getProcessInfo")["processInfo"]
        session.detach()
        return [each["id"] for each in found if each["type"] == kind]


@contextmanager
def chromium(stage: Stage) -> Iterator[Chromium]:
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_ARGUMENTS), handle_sigint=False, handle_sigterm=False)
        made = Chromium(browser, stage)
        try:
            with _interrupted_between_calls(made):
                yield made
        finally:
            browser.close()


@contextmanager
def _interrupted_between_calls(chromium: Chromium) -> Iterator[None]:
    """SIGTERM and Ctrl-C raise KeyboardInterrupt. Raised within a call of Playwright it would stop what all later calls wait for,
    closing among them, for ever. There the browser is killed instead: the call fails, and that becomes the KeyboardInterrupt."""
    caller, (browser,) = greenlet.getcurrent(), chromium.pids("browser")
    interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        nonlocal interrupted
        interrupted = True
        if greenlet.getcurrent() is caller:
            raise KeyboardInterrupt
        with suppress(ProcessLookupError):
            os.kill(browser, signal.SIGKILL)

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    except Error as error:
        if interrupted:
            raise KeyboardInterrupt from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(frozen=True)
class Spent:
    """CPU seconds of a browser so far."""

    renderer: float
    main: float
    """Of them, those of the threads that run scripts and lay pages out; the others paint, without a GPU."""
    compositor: float

    def __sub__(self, before: Spent) -> Spent:
        return Spent(self.renderer - before.renderer, self.main - before.main, self.compositor - before.compositor)


def spent(chromium: Chromium) -> Spent:
    renderers = chromium.pids("renderer")
    return Spent(common.cpu(renderers), sum(map(_main_thread, renderers)), common.cpu(chromium.pids("GPU")))


def _main_thread(pid: int) -> float:
    """The first thread of a renderer is the one that runs scripts. Nanoseconds are the first number of `schedstat`."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9


def settled(page: Page, charts: int) -> None:
    """Returns when so many charts stand on the page, with their lines drawn."""
    page.wait_for_function("n => document.querySelectorAll('[role=img] canvas').length >= n", arg=charts, polling=250)
    page.wait_for_timeout(1500)
