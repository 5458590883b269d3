"""This server's part of a checkpoint. The shard makes its copy between two entries of the log; another thread writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from gradstream.center.entries import FINAL_CHECKPOINT
from gradstream.process.order import ProcessOrder
from gradstream.process.store import Uploads, open_store
from gradstream.wire.transport.layout import Layout


class CheckpointFiles:
    def __init__(self, order: ProcessOrder, folder: Path) -> None:
        """`folder` holds each file until it is stored."""
        self._order, self._folder = order, folder
        self._store = open_store(order.store, order)
        self._uploads = Uploads(self._store, folder)

    def resumed(self) -> tuple[Layout, dict[str, Any]] | None:
        """Return the layout and shard state that this attempt resumes from. None: it starts from scratch."""
        file = self._store.resumed(f"shard-{self._order.rank}.pt", self._folder)
        if file is None:
            return None
        state = torch.load(file, weights_only=True)
        return Layout(**state["layout"]), state["shard"]

    def write(self, checkpoint: tuple[int, list[int], dict[str, object]], layout: Layout) -> None:
        """Hand the copy over for writing, without waiting. Shard 0 also writes the manifest, which lists the checkpoint's parts."""
        number, members, state = checkpoint
        needed, folder = number == FINAL_CHECKPOINT, f"checkpoints/{number}"
        whole = {"layout": layout.as_dict(), "shard": _on_host(state)}
        self._uploads.add(f"{folder}/shard-{self._order.rank}.pt", whole, needed=needed)
        if self._order.rank == 0:
            center: Any = state["center"]
            ledger: Any = state["ledger"]
            manifest = {"checkpoint": number, "members": members, "servers": layout.servers}
            manifest |= {"version": center["version"], "samples": center["samples"]}
            manifest["pushed"] = {rank: account["pushed"] for rank, account in ledger.items()}
            self._uploads.add(f"{folder}/manifest.json", json.dumps(manifest), needed=needed)

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
