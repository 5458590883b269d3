"""The API: REST and server-sent events below /api/v1, the built web page everywhere else."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

from fastapi import APIRouter, Depends, FastAPI

import gradstream
from backend.admission import accepting
from backend.admission.hosts import known_hosts
from backend.admission.middleware import Admission, AdmissionState
from backend.artifacts.endpoints import router as artifacts
from backend.artifacts.process_endpoints import router as process
from backend.bundles.endpoints import router as bundles
from backend.catalogue.endpoints import router as catalogue
from backend.compare.endpoints import router as compare
from backend.jobs.endpoints import router as jobs
from backend.logs.endpoints import router as logs
from backend.media.endpoints import router as media
from backend.media.process_endpoints import router as process_media
from backend.metrics.endpoints import router as metrics
from backend.nodes.agent_endpoints import router as agent
from backend.nodes.endpoints import router as nodes
from backend.nodes.presence import Presence
from backend.overview.endpoints import router as overview
from backend.platform import Platform
from backend.scheduler.endpoints import router as plans
from backend.schemas import Health
from backend.storage.endpoints import router as storage
from backend.stragglers.endpoints import router as stragglers
from backend.stream.endpoints import router as streams
from backend.stream.feeds import Feeds
from backend.stream.list_feed import ListFeed
from backend.submission.endpoints import router as submission
from backend.tables.endpoints import router as tables
from backend.updates.endpoints import router as updates
from backend.updates.process_endpoints import router as process_updates
from backend.users import scopes
from backend.users.auth import current_caller
from backend.users.endpoints import open_router as sign_in
from backend.users.endpoints import router as users
from backend.views.endpoints import router as views
from backend.wakeups.hub import Hub
from backend.watchdog import watched
from backend.web import browsers, page, problems

PREFIX = "/api/v1"

DESCRIPTION = """Trains PyTorch models on parameter servers.

Sign in with an API token (`Authorization: Bearer gst_...`) or with the cookie that `signIn` sets. Errors are
`application/problem+json`. Lists that grow are paged by opaque cursors. `seq` numbers order everything that happens to a job."""

health = APIRouter(tags=["health"])


@health.get("/health", operation_id="getHealth")
async def get_health() -> Health:
    """Return whether this replica serves. Needs no sign-in, no thread and no other server."""
    return Health(version=gradstream.__version__)


def routes() -> FastAPI:
    """The app without anything to run on: enough for its OpenAPI document."""
    app = FastAPI(
        title="Gradstream",
        version=gradstream.__version__,
        description=DESCRIPTION,
        lifespan=_lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    for router in (health, sign_in):
        app.include_router(router, prefix=PREFIX)
    # streams before jobs: /jobs/stream is not the job named "stream"
    first = (streams, users, plans, submission, jobs, overview, stragglers)
    for router in (*first, logs, metrics, media, updates, artifacts, tables, bundles, nodes, storage, catalogue, compare, views):
        app.include_router(router, prefix=PREFIX, dependencies=[Depends(current_caller)], responses=problems.DESCRIBED)
    for router in (agent, process, process_media, process_updates):
        app.include_router(router, prefix=PREFIX, responses=problems.DESCRIBED)
    app.get(f"{PREFIX}/openapi.json", include_in_schema=False, dependencies=[Depends(current_caller)])(lambda: openapi(app))
    app.add_middleware(Admission)
    problems.install(app)
    return app


def openapi(app: FastAPI) -> dict[str, Any]:
    document = app.openapi()
    problems.describe(document)
    scopes.describe(document)
    return document


def create_app(platform: Platform, bound: str = "127.0.0.1") -> FastAPI:
    """`bound` is the address that the app is served on."""
    return attach(build_app(platform.settings.page_dir), platform, bound)


def build_app(page_dir: Path | None) -> FastAPI:
    """The app with the page, without anything to run on. To build it takes longer than to attach it to a platform."""
    app = routes()
    page.install(app, page_dir)
    browsers.install(app)
    return app


def attach(app: FastAPI, platform: Platform, bound: str = "127.0.0.1") -> FastAPI:
    """Give the app, which is not being served, this platform to run on and nothing of the one before."""
    app.state.platform = platform
    app.state.admission = AdmissionState()
    app.state.hosts = known_hosts(platform.settings, bound)
    app.state.hub = Hub(platform.wakeup)
    app.state.feeds = Feeds(platform, app.state.hub)
    app.state.presence = Presence(platform.database)
    app.state.list_feed = ListFeed(platform, app.state.hub)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    hub: Hub = app.state.hub
    presence: Presence = app.state.presence
    hub.start()
    presence.start()
    accepting.limit_log(asyncio.get_running_loop())
    _close_streams_on_signal(hub)
    is_program = threading.current_thread() is threading.main_thread()  # and not the server of a test
    async with watched() if is_program else nullcontext():
        yield
    await presence.close()
    hub.close()
    hub.join()


def _close_streams_on_signal(hub: Hub) -> None:
    """uvicorn waits for open responses before it ends this lifespan, so endless streams must learn of the signal itself."""
    loop = asyncio.get_running_loop()

    def chain(number: int) -> None:
        before = signal.getsignal(number)

        def stop(received: int, frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(hub.close)
            if callable(before):
                before(received, frame)

        signal.signal(number, stop)

    try:
        chain(signal.SIGTERM)
        chain(signal.SIGINT)
    except ValueError:
        return  # not the main thread (a test's server): whoever runs it closes the hub
