"""The scripts, styles and fonts of the built page."""

from __future__ import annotations

import re

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

_COPIES = {"br": ".br", "gzip": ".gz"}
"""Encodings in which the build lays a copy beside each file that shrinks (`frontend/compressedCopies.ts`), the smallest first."""

_NEVER = re.compile(r"q=0(\.0*)?")


class Assets(StaticFiles):
    """Files with a hash of their content in their name. A browser gets the smallest copy that it can read."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await self._copy(path, scope) or await super().get_response(path, scope)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        response.headers.add_vary_header("Accept-Encoding")
        return response

    async def _copy(self, path: str, scope: Scope) -> Response | None:
        accepted = _accepted(Headers(scope=scope).get("accept-encoding", ""))
        for encoding, suffix in _COPIES.items():
            if encoding in accepted:
                try:
                    response = await super().get_response(path + suffix, scope)
                except HTTPException:
                    continue  # too small for a copy
                response.headers["Content-Encoding"] = encoding
                return response
        return None


def _accepted(header: str) -> set[str]:
    """Return the encodings that a request names and does not refuse by a weight of 0."""
    items = (item.replace(" ", "").lower().split(";") for item in header.split(","))
    return {name for name, *weights in items if not any(_NEVER.fullmatch(weight) for weight in weights)}
