"""Embedding tables of a job, as the platform's stored files tell of them."""

from __future__ import annotations

from typing import Any

from gradstream.api.tables import JobTables, TableKey
from gradstream.client.connection import ApiConnection, JobReference


class TableReading(ApiConnection):
    """The methods of `Client` about embedding tables."""

    def tables(self, job: JobReference) -> JobTables:
        """Return the embedding tables of a job as its servers summarize them: rows, the hottest keys, scores and ages."""
        return JobTables.model_validate(self._transport.json("GET", f"jobs/{self._id(job)}/tables"))

    def look_up_key(
        self,
        job: JobReference,
        key: int | None = None,
        *,
        text: str | None = None,
        field: str | None = None,
        table: str | None = None,
    ) -> list[TableKey]:
        """Look a key up in the newest export and the newest checkpoint, in one table or in all. `text`, `field`: in place of a key,
        a string as `gradstream.nn.hashed` takes it; the field is the table's name by default.

        Raises: NotFound: there is no such table. Conflict: an export is damaged on the platform's disk."""
        given: dict[str, Any] = {"key": None if key is None else str(key), "text": text, "field": field, "table": table}
        params = {name: value for name, value in given.items() if value is not None}
        found = self._transport.json("GET", f"jobs/{self._id(job)}/tables/keys", params=params)
        return [TableKey.model_validate(item) for item in found["items"]]
