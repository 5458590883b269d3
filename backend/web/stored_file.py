"""Files as bodies of responses, whole or in ranges."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.to_thread
from fastapi.responses import FileResponse
from starlette.exceptions import HTTPException
from starlette.responses import MalformedRangeHeader, RangeNotSatisfiable
from starlette.types import Receive, Scope, Send

from gradstream.errors import NotFound


class StoredFileResponse(FileResponse):
    """A file, or the ranges of it that the client asks for. Ranges that it does not have are a problem, as all errors are.

    The file is open before the answer begins: one that was removed since its row was read is a 404, and one that is removed while
    it is sent arrives whole."""

    _file: anyio.AsyncFile[bytes]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises: NotFound."""
        try:
            self._file = await anyio.open_file(self.path, "rb")
        except FileNotFoundError as error:
            raise NotFound("The platform has removed this file. List the files anew for those that it keeps.") from error
        async with self._file:
            found = await anyio.to_thread.run_sync(os.fstat, self._file.wrapped.fileno())
            self.set_stat_headers(found)
            self.stat_result = found
            await super().__call__(scope, receive, send)

    @asynccontextmanager
    async def _open_file(self) -> AsyncIterator[anyio.AsyncFile[bytes]]:
        yield self._file

    @classmethod
    def _parse_range_header(cls, http_range: str, file_size: int) -> list[tuple[int, int]]:
        try:
            return super()._parse_range_header(http_range, file_size)
        except MalformedRangeHeader as error:
            raise HTTPException(400, "The Range header is malformed. Send one like 'bytes=0-1023', or none for all.") from error
        except RangeNotSatisfiable as error:
            detail = f"The file has {file_size:,} bytes, and the range begins behind them. Ask for an earlier one."
            raise HTTPException(416, detail, {"Content-Range": f"bytes */{file_size}"}) from error
