"""The page in a real Chromium, against a real platform: embedded servers, API, controller, node agent, training processes."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Playwright, expect, sync_playwright

from gradstream.client import Client, Credentials
from gradstream.hostnames import page_url
from gradstream.local.platform import LocalPlatform, Options
from tests.browser.support import HERE, ROOT, OpenPage
from tests.platforms import stop_new_jobs, writable_beside
from tests.support import TIMEOUT

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
TIMEOUT_MS = 1000 * int(TIMEOUT)
expect.set_options(timeout=TIMEOUT_MS)


def program(*names: str) -> str:
    """The first of these that is installed; GRADSTREAM_CHROMIUM names another one."""
    return os.environ.get("GRADSTREAM_CHROMIUM") or next(filter(None, map(shutil.which, names)), names[0])


def launch(playwright: Playwright, executable: str) -> Browser:
    return playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPlatform]:
    if not (ROOT / "backend/page/index.html").is_file():
        pytest.fail("the page has not been built: make page")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("platform")
    with LocalPlatform(Options(folder, port=port, slots=4, isolate=writable_beside(folder))) as platform:
        yield platform


@pytest.fixture(scope="session")
def client(platform: LocalPlatform) -> Iterator[Client]:
    credentials = Credentials.load(platform.folder.client_file)
    assert credentials, "the platform left no credentials"
    with Client(credentials, timeout=TIMEOUT) as client:
        yield client


@pytest.fixture(autouse=True)
def no_job_stays(client: Client) -> Iterator[None]:
    with stop_new_jobs(client):
        yield


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """The headless shell takes half the CPU time of a Chromium that could have windows."""
    browser = launch(playwright, program("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def signed_in(browser: Browser, client: Client) -> str:
    """The cookies of a browser that followed a sign-in link, for all contexts that need no sign-in of their own."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(client.sign_in_link())
    page.get_by_role("heading", name="Jobs").wait_for()
    state = str(context.storage_state()["cookies"][0]["value"])
    context.close()
    return state


def new_context(browser: Browser, platform: LocalPlatform, width: int, scheme: str, *, touch: bool = False) -> BrowserContext:
    return browser.new_context(
        base_url=page_url(platform.url),
        viewport={"width": width, "height": 900 if width > 600 else 844},
        color_scheme=scheme,  # type: ignore[arg-type]
        reduced_motion="reduce",
        has_touch=touch,
    )


def sign_in(context: BrowserContext, platform: LocalPlatform, signed_in: str) -> None:
    context.add_cookies([{"name": "gradstream_session", "value": signed_in, "url": page_url(platform.url)}])


def watch(page: Page, errors: list[str]) -> None:
    page.on("pageerror", lambda error: errors.append(f"{page.url}: {error}"))
    page.on("console", lambda message: _note(message, page, errors))


@pytest.fixture
def open_page(browser: Browser, platform: LocalPlatform, signed_in: str) -> Iterator[OpenPage]:
    """Opens a page, signed in unless told otherwise; `beside` another one, in a tab of the same browser. An error in it, or in its
    console, fails the test at its end."""
    contexts: list[BrowserContext] = []
    errors: list[str] = []

    def another(width: int, scheme: str, guest: bool, touch: bool) -> BrowserContext:
        context = new_context(browser, platform, width, scheme, touch=touch)
        contexts.append(context)
        if not guest:
            sign_in(context, platform, signed_in)
        return context

    def open_(
        path: str = "/jobs",
        *,
        width: int = 1440,
        scheme: str = "light",
        guest: bool = False,
        watched: bool = True,
        touch: bool = False,
        timeout_ms: int = TIMEOUT_MS,
        beside: Page | None = None,
    ) -> Page:
        page = (beside.context if beside else another(width, scheme, guest, touch)).new_page()
        page.set_default_timeout(timeout_ms)
        if watched:
            watch(page, errors)
        page.goto(path)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not errors, "the browser reported errors:\n" + "\n".join(errors)


@dataclass
class Kept:
    """Pages by width and colours, and what they have reported, which the tests that only look share."""

    pages: dict[tuple[int, str], Page] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def kept(browser: Browser) -> Iterator[Kept]:
    kept = Kept()
    yield kept
    for page in kept.pages.values():
        page.context.close()


@pytest.fixture
def look_at(browser: Browser, platform: LocalPlatform, signed_in: str, kept: Kept) -> Iterator[OpenPage]:
    """As `open_page`, for tests that leave nothing in the browser. They share a page, which costs a third of the CPU time of a new
    one."""
    kept.errors.clear()

    def look(path: str, *, width: int, scheme: str) -> Page:
        if (width, scheme) not in kept.pages:
            context = new_context(browser, platform, width, scheme)
            sign_in(context, platform, signed_in)
            kept.pages[width, scheme] = page = context.new_page()
            page.set_default_timeout(TIMEOUT_MS)
            watch(page, kept.errors)
        kept.pages[width, scheme].goto(path)
        return kept.pages[width, scheme]

    yield look
    for page in kept.pages.values():
        page.goto("about:blank")
    assert not kept.errors, "the browser reported errors:\n" + "\n".join(kept.errors)


def _note(message: ConsoleMessage, page: Page, errors: list[str]) -> None:
    if message.type == "error":
        errors.append(f"{page.url}: console: {message.text}")
