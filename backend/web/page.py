"""The built web page: assets that never change, and index.html for every other path (the page has its own router)."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware

from backend.web.assets import Assets

_LEVEL = 4
"""As for charts: 9 takes six times the CPU of an answer, for two percent less of it."""


def install(app: FastAPI, folder: Path | None) -> None:
    """Serve `folder` on all paths that are not the API's. Nothing to serve is fine: then this is an API only."""
    app.add_middleware(GZipMiddleware, minimum_size=1024, compresslevel=_LEVEL)
    if folder is None or not (folder / "index.html").is_file():
        return
    root = folder.resolve()
    app.mount("/assets", Assets(directory=root / "assets", check_dir=False), name="assets")

    @app.get("/{path:path}", include_in_schema=False)
    def page(path: str, request: Request) -> FileResponse:
        file = _file(root, path)
        if file is None and (path.startswith("api/") or not _is_navigation(request)):
            raise HTTPException(404, f"There is no /{path}. The API is below /api/v1; GET /api/v1/health says whether it works.")
        return FileResponse(file or root / "index.html", headers={"Cache-Control": "no-cache"})


def _is_navigation(request: Request) -> bool:
    """Browsers ask for HTML by name. A probe for /healthz must not take the page for an answer."""
    return "text/html" in request.headers.get("accept", "")


def _file(root: Path, path: str) -> Path | None:
    """The file of the built page that a URL names, if there is one: URLs come from anyone."""
    try:
        file = (root / path).resolve()
        return file if file.is_relative_to(root) and file.is_file() else None
    except (OSError, ValueError):  # too long for a name, or with a NUL in it
        return None
