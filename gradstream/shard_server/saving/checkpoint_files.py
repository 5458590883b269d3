"""This server's part of a checkpoint. The shard makes its copy between two entries of the log; another thread stores it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from gradstream.center.checkpoint_making import CheckpointPart
from gradstream.center.entries import FINAL_CHECKPOINT
from gradstream.center.positions import offsets_at, taken_at
from gradstream.process.order import ProcessOrder
from gradstream.process.saving.checkpoint_names import MANIFEST, folder_of, shard_part
from gradstream.process.saving.content import TextContent
from gradstream.process.saving.part import CheckpointPartFiles
from gradstream.process.saving.part_list import EarlierFile, ListedFile
from gradstream.process.saving.tensor_file import TensorFile
from gradstream.process.saving.uploads import Uploads, part_timeout
from gradstream.process.store import open_store, tables_file
from gradstream.shard_server.saving.pending_rows import PendingRows
from gradstream.shard_server.saving.resumed_shard import resumed_shard
from gradstream.wire.transport.layout import Layout

if TYPE_CHECKING:  # needs numba, which jobs without tables never import
    from gradstream.center.tables.hosted import HostedTables
    from gradstream.center.tables.storage.row_file import StoredRows
    from gradstream.shard_server.saving.row_files import RowFiles


log = logging.getLogger(__name__)


class CheckpointFiles:
    def __init__(self, order: ProcessOrder, folder: Path) -> None:
        """`folder` gets copies of the files that this attempt resumes from."""
        self._order, self._folder, self._part = order, folder, shard_part(order.rank)
        self._store = open_store(order.store, order)
        self._uploads = Uploads(self._store)
        self._resumed: list[tuple[EarlierFile, Path]] = []
        """Files with rows that this attempt resumes from."""
        self._row_files: RowFiles | None = None
        self.pending = PendingRows()

    def resumed(self) -> tuple[Layout, dict[str, Any], Iterable[StoredRows]] | None:
        """Return layout, shard state and rows that this attempt resumes from. None: it starts from scratch."""
        found = resumed_shard(self._store, self._order.spec.shards, self._order.rank, self._folder)
        if found is None:
            return None
        self._resumed = found.further
        return found.layout, found.state, self._resumed_rows()

    def put_start_rows(self, tables: HostedTables) -> None:
        """Begin with the rows of the job that this one starts from, if it does. Raises: UserError: they do not fit."""
        if self._order.spec.start_from:
            from gradstream.shard_server.saving.start_rows import put_start_rows  # needs numba

            put_start_rows(self._order, self._folder, tables)

    def _resumed_rows(self) -> Iterable[StoredRows]:
        if self._resumed:
            from gradstream.center.tables.storage.row_file import read_rows

            yield from (read_rows(path) for _, path in self._resumed)

    def may_copy(self) -> bool:
        """Return whether a checkpoint may be copied: no earlier one is being stored. It waits a moment for that."""
        return self._uploads.wait_for_part(part_timeout(self._order.store))

    def write(self, checkpoint: CheckpointPart, layout: Layout, tables: HostedTables | None) -> None:
        """Hand the copy over for storing, without waiting. `tables`: the rows that the copy leaves out; `pending` copies them.
        Shard 0 also stores the manifest, which lists the checkpoint's parts. With the last checkpoint go the trained rows."""
        number, members, state = checkpoint
        if state is None:
            log.warning("checkpoint %s is left out, as an earlier one is still being stored", number)
            return
        needed = number == FINAL_CHECKPOINT
        whole: dict[str, Any] = {"layout": layout.as_dict(), "shard": _on_host(state)}
        part = self._with_rows(number, whole, tables) if tables else CheckpointPartFiles(number, self._part, whole)
        self._uploads.add_all(part, needed=needed)
        if self._order.rank == 0:
            center: Any = state["center"]
            ledger: Any = state["ledger"]
            of_members: Any = state["members"]
            manifest = {"checkpoint": number, "members": members, "servers": layout.servers}
            manifest |= {"version": center["version"], "samples": center["samples"]}
            manifest["pushed"] = {rank: account["pushed"] for rank, account in ledger.items()}
            if away := of_members["away"]:
                manifest["away"] = away
            if (spec := self._order.spec).stop.never:  # whoever feeds it may drop the data that no worker needs any more
                positions = {rank: of_members["positions"].get(rank, 0) for rank in range(spec.roles.worker.count)}
                manifest["positions"] = {rank: taken_at(position) for rank, position in positions.items()}
                if offsets := {rank: found for rank, position in positions.items() if (found := offsets_at(position))}:
                    manifest["offsets"] = offsets  # of a topic, whose messages have no numbers
            self._uploads.add(folder_of(number) + MANIFEST, TextContent(json.dumps(manifest)), needed=needed)
        if needed and tables:
            self._add_trained_rows(whole["shard"]["center"]["version"], tables)

    def note_commit(self, number: int, tables: HostedTables | None) -> None:
        """A checkpoint is committed."""
        if self._row_files and tables:
            self._row_files.note_commit(number, tables)

    def _with_rows(self, number: int, state: dict[str, Any], tables: HostedTables) -> CheckpointPartFiles:
        from gradstream.shard_server.saving.row_files import RowFiles, resumed_chain  # needs numba

        if self._row_files is None:
            self._row_files = RowFiles(self._order.attempt, resumed_chain(self._resumed, tables.resumed_mark))
        self.pending.complete()
        stored: list[ListedFile] = []
        copy, rests_on = self._row_files.begin(number, tables, stored)
        self.pending.begin(copy)
        return CheckpointPartFiles(number, self._part, state, copy.files(), copy.nbytes, rests_on, stored)

    def _add_trained_rows(self, version: int, tables: HostedTables) -> None:
        from gradstream.center.tables.storage.trained import ENTRY, trained_part, trained_tensors  # needs numba

        part = trained_part(self._order.spec, version, self._order.rank, tables.tables)
        content = TensorFile(trained_tensors(tables.tables), {ENTRY: part.model_dump_json()})
        self._uploads.add(tables_file(self._order.rank), content)

    def finish(self) -> None:
        """Wait until all files are stored. Raises: Unavailable, if one that is needed could not be."""
        self.pending.complete()
        self._uploads.finish()


def _on_host(state: Any) -> Any:
    """Return the state with all tensors on the CPU: the process that resumes from it may have no GPU."""
    match state:
        case torch.Tensor():
            return state.cpu()
        case dict():
            return {key: _on_host(value) for key, value in state.items()}
        case list():
            return [_on_host(value) for value in state]
        case tuple():
            return tuple(_on_host(value) for value in state)
    return state
