"""This server's part of a checkpoint. The shard makes its copy between two entries of the log; another thread stores it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from gradstream.center.entries import FINAL_CHECKPOINT
from gradstream.process.order import ProcessOrder
from gradstream.process.saving.checkpoint_names import MANIFEST, folder_of, shard_part
from gradstream.process.saving.content import TextContent
from gradstream.process.saving.part import CheckpointPartFiles, resumed_state
from gradstream.process.saving.tensor_file import TensorFile
from gradstream.process.saving.uploads import Uploads
from gradstream.process.store import open_store, tables_file
from gradstream.wire.transport.layout import Layout


class CheckpointFiles:
    def __init__(self, order: ProcessOrder, folder: Path) -> None:
        """`folder` gets copies of the files that this attempt resumes from."""
        self._order, self._folder, self._part = order, folder, shard_part(order.rank)
        self._store = open_store(order.store, order)
        self._uploads = Uploads(self._store)

    def resumed(self) -> tuple[Layout, dict[str, Any]] | None:
        """Return the layout and shard state that this attempt resumes from. None: it starts from scratch."""
        state = resumed_state(self._store, self._part, self._folder)
        return state and (Layout(**state["layout"]), state["shard"])

    def write(self, checkpoint: tuple[int, list[int], dict[str, object]], layout: Layout) -> None:
        """Hand the copy over for storing, without waiting. Shard 0 also stores the manifest, which lists the checkpoint's parts.
        With the last checkpoint go the trained rows of this shard."""
        number, members, state = checkpoint
        needed = number == FINAL_CHECKPOINT
        whole: dict[str, Any] = {"layout": layout.as_dict(), "shard": _on_host(state)}
        self._uploads.add_all(CheckpointPartFiles(number, self._part, whole), needed=needed)
        if self._order.rank == 0:
            center: Any = state["center"]
            ledger: Any = state["ledger"]
            manifest = {"checkpoint": number, "members": members, "servers": layout.servers}
            manifest |= {"version": center["version"], "samples": center["samples"]}
            manifest["pushed"] = {rank: account["pushed"] for rank, account in ledger.items()}
            self._uploads.add(folder_of(number) + MANIFEST, TextContent(json.dumps(manifest)), needed=needed)
        if needed:
            self._add_trained_rows(whole["shard"]["center"])

    def _add_trained_rows(self, center: dict[str, Any]) -> None:
        if tables := center.get("tables"):
            from gradstream.center.tables.trained import ENTRY, trained_part, trained_tensors  # needs numba

            part = trained_part(self._order.spec, center["version"], self._order.rank, tables)
            content = TensorFile(trained_tensors(tables), {ENTRY: part.model_dump_json()})
            self._uploads.add(tables_file(self._order.rank), content)

    def finish(self) -> None:
        """Wait until all files are stored. Raises: Unavailable, if one that is needed could not be."""
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
