from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from backend.db import SessionDep
from backend.platform import PlatformDep
from backend.tables import service, summaries
from backend.tables.schemas import TableKeys
from gradstream.api.tables import JobTables

router = APIRouter(prefix="/jobs/{id}/tables", tags=["tables"])

Key = Annotated[str | None, Query(max_length=40, description="A whole number of 64 bits", examples=["-42"])]
Text = Annotated[str | None, Query(max_length=2000, description="In place of `key`: a string, as `gradstream.nn.hashed` takes it")]
FieldName = Annotated[
    str | None, Query(max_length=200, description="The field that the string was hashed with; default: the table's name")
]
Table = Annotated[str | None, Query(max_length=200, description="Name of a table; default: all of the job's tables, up to 16")]


@router.get("", operation_id="listTables")
def list_tables(id: UUID, session: SessionDep, platform: PlatformDep) -> JobTables:
    """The embedding tables of a job, as its servers summarize them: rows, the hottest keys, and how scores and ages are spread.
    Empty for a job without tables."""
    return summaries.list_tables(session, platform, id)


@router.get("/keys", operation_id="lookUpKey")
def look_up_key(
    id: UUID, platform: PlatformDep, key: Key = None, text: Text = None, field: FieldName = None, table: Table = None
) -> TableKeys:
    """One key in the newest export and the newest checkpoint of a job: its row, or why there is none. 404 for an unknown table, 409
    for an export that is damaged on the platform's disk."""
    return service.look_up_key(platform, id, service.WantedKey(key, text, field, table))
