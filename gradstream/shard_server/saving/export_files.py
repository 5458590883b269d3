"""This server's part of exports for serving: rows of tables that changed since the last one that is committed, and its slice of the
dense model. The server makes the copy between two entries of the log; another thread stores it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradstream.center.entries import LAST_EXPORT
from gradstream.center.parameters.center import Center
from gradstream.own_pages import own_copy
from gradstream.process.order import ProcessOrder
from gradstream.process.saving.checkpoint_names import shard_part
from gradstream.process.saving.content import Content, TextContent, sha256_of
from gradstream.process.saving.exports import DENSE, PART, Exported, ExportedTable, ExportPart, export_folder
from gradstream.process.saving.part_list import ListedFile
from gradstream.process.saving.state_file import nbytes_of, state_file
from gradstream.process.saving.uploads import Uploads
from gradstream.process.store import Store, open_store
from gradstream.shard_server.saving.pending_rows import PendingRows

if TYPE_CHECKING:  # needs numba, which jobs without tables never import
    from gradstream.center.tables.hosted import HostedTables
    from gradstream.shard_server.saving.export_rows import ExportMarks, ExportRowCopy


log = logging.getLogger(__name__)


class ExportFiles:
    def __init__(self, order: ProcessOrder, on_failed: Callable[[int, int], None]) -> None:
        """`on_failed`: called with the place of an export and the number of those in a row that could not be stored, when that
        changes. From another thread."""
        self._order, self._on_failed, self._failed = order, on_failed, 0
        self._uploads: Uploads | None = None
        self._marks: ExportMarks | None = None
        self._tables: tuple[str, ...] = ()
        self.pending = PendingRows()

    def begin(self, place: int, center: Center, passes: int, *, base: bool) -> None:
        """Begin an export of the center as it is now, and hand it over for storing. `pending` copies its rows. `passes`: those
        that are over."""
        self._uploads = self._uploads or Uploads(open_store(self._order.store, self._order))
        center.finish()
        dense = center.read_for_evaluation()
        state = {"theta": own_copy(dense.x.detach().cpu()), "buffers": dense.buffers and tuple(x.clone() for x in dense.buffers)}
        copy, after = self._begin_copy(place, center.tables, base) if center.tables else (None, None)
        exported = self._exported(center, passes)
        self._tables = tuple(exported.tables)
        part = ExportPartFiles(place, self._order.rank, exported, after, state, copy, self._note_end)
        self._uploads.add_all(part, needed=place == LAST_EXPORT)

    def _begin_copy(self, place: int, tables: HostedTables, base: bool) -> tuple[ExportRowCopy, int | None]:
        from gradstream.shard_server.saving.export_rows import ExportMarks  # needs numba

        self._marks = self._marks or ExportMarks()
        self.pending.complete()
        export = self._order.spec.export
        copy, after = self._marks.begin(place, tables, base=base, dtype=export.dtype if export else "float32")
        self.pending.begin(copy)
        return copy, after

    def _exported(self, center: Center, passes: int) -> Exported:
        spec, tables = self._order.spec, dict[str, ExportedTable]()
        for name, table in (center.tables.tables if center.tables else {}).items():
            tables[name] = ExportedTable(width=table.width, reach=table.spec.reach, admits=table.spec.admit is not None)
        dtype = spec.export.dtype if spec.export else "float32"
        shards = spec.shards
        counts: dict[str, Any] = {"version": center.version, "samples": center.samples, "passes": passes, "seed": spec.seed}
        return Exported(**counts, shards=shards, dtype=dtype, tables=tables)

    def _note_end(self, place: int, stored: bool) -> None:
        """In the thread of uploads."""
        before, self._failed = self._failed, 0 if stored else self._failed + 1
        if not stored:
            tables = ", ".join(self._tables) or "none"
            log.error(
                "this server's part of export %s is not stored (tables: %s); the next one has its changes, too", place, tables
            )
        if self._failed != before:
            self._on_failed(place, self._failed)

    def note_commit(self, place: int, tables: HostedTables | None) -> None:
        """An export is committed."""
        if self._marks and tables:
            self._marks.note_commit(place, tables)

    def bound_memory(self, tables: HostedTables | None) -> None:
        """Let the next export be a base, if more keys are remembered for it than there are rows."""
        if self._marks and tables:
            self._marks.bound_memory(tables)

    def finish(self) -> None:
        """Wait until all files are stored. Raises: Unavailable: those of the last export could not be."""
        self.pending.complete()
        if self._uploads:
            self._uploads.finish()


@dataclass(slots=True)
class ExportPartFiles:
    """The files of one server in one export, on their way into a store."""

    place: int
    shard: int
    exported: Exported
    after: int | None
    dense: dict[str, Any]
    copy: ExportRowCopy | None
    on_end: Callable[[int, bool], None]
    """Called with the place, and whether all is stored."""

    @property
    def name(self) -> str:
        return f"{export_folder(self.place)}{shard_part(self.shard)}"

    @property
    def nbytes(self) -> int:
        return nbytes_of(self.dense) + (self.copy.nbytes if self.copy else 0)

    def put_into(self, store: Store) -> None:
        """Raises: Unavailable: a file could not be stored; none of those behind it is, so the export is never committed."""
        is_stored = False
        try:
            stored = tuple(self._put(store, name, content) for name, content in self._files())
            counts = {"rows": self.copy.rows, "gone": self.copy.gone} if self.copy else {"rows": 0, "gone": 0}
            part = ExportPart(shard=self.shard, exported=self.exported, after=self.after, files=stored, **counts)
            store.put(self.name + PART, TextContent(part.model_dump_json()))
            is_stored = True
        finally:
            self.on_end(self.place, is_stored)

    def _files(self) -> Iterator[tuple[str, Content]]:
        if self.copy:
            yield from self.copy.files()
        yield DENSE, state_file(self.dense)

    def _put(self, store: Store, name: str, content: Content) -> ListedFile:
        file = ListedFile(name=f"{shard_part(self.shard)}.{name}", size=content.nbytes, sha256=sha256_of(content))
        store.put(export_folder(self.place) + file.name, content, file.sha256)
        return file
