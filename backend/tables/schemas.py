from __future__ import annotations

from pydantic import Field

from backend.schemas import Schema
from gradstream.api.tables import TableKey


class TableKeys(Schema):
    items: list[TableKey] = Field(description="By table")
