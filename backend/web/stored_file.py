"""Files as bodies of responses, whole or in ranges."""

from __future__ import annotations

from fastapi.responses import FileResponse
from starlette.exceptions import HTTPException
from starlette.responses import MalformedRangeHeader, RangeNotSatisfiable


class StoredFileResponse(FileResponse):
    """A file, or the ranges of it that the client asks for. Ranges that it does not have are a problem, as all errors are."""

    @classmethod
    def _parse_range_header(cls, http_range: str, file_size: int) -> list[tuple[int, int]]:
        try:
            return super()._parse_range_header(http_range, file_size)
        except MalformedRangeHeader as error:
            raise HTTPException(400, "The Range header is malformed. Send one like 'bytes=0-1023', or none for all.") from error
        except RangeNotSatisfiable as error:
            detail = f"The file has {file_size:,} bytes, and the range begins behind them. Ask for an earlier one."
            raise HTTPException(416, detail, {"Content-Range": f"bytes */{file_size}"}) from error
