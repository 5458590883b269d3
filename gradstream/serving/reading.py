"""Rows and dense slices in the files of one export, which have been compared with its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from gradstream.center.entries import Buffers
from gradstream.errors import Invalid
from gradstream.model.weights.in_checkpoint import name_tensors
from gradstream.process.saving.exports import DENSE, GONE, ExportManifest, ManifestPart, downloaded_export
from gradstream.process.saving.state_file import read_state
from gradstream.serving.folder import REMEDY, check_files
from gradstream.serving.rows import ExportedRows, RowPart


def apply_export(root: Path, manifest: ExportManifest, before: Mapping[str, ExportedRows] | None) -> dict[str, ExportedRows]:
    """Return the rows of all tables after an export. `before`: those that a delta changes, which stay as they are.

    Raises: Invalid: a file is missing or damaged, so nothing of the export is used."""
    check_files(root, manifest)
    folder, exported = downloaded_export(root, manifest.number), manifest.exported
    dtype = torch.float16 if exported.dtype == "float16" else torch.float32
    found = dict[str, ExportedRows]()
    for name, described in exported.tables.items():
        parts = [_part_of(folder, manifest, part, name, described.width, dtype) for part in manifest.parts]
        if manifest.after is None or before is None:
            found[name] = ExportedRows.of_base(name, exported.seed, described, parts, dtype)
        elif name not in before or before[name].described != described:
            raise Invalid(f"{folder} has a table '{name}' that the export before it has not; {REMEDY}")
        else:
            found[name] = before[name].with_delta(parts)
    return found


def read_dense(root: Path, manifest: ExportManifest) -> dict[str, torch.Tensor]:
    """Return the state_dict of the model. Raises: Invalid: a file is damaged."""
    folder = downloaded_export(root, manifest.number)
    try:
        files = [file.name for part in manifest.parts for file in part.files if file.name.endswith(DENSE)]
        slices = [read_state(folder / name) for name in files]
        theta = torch.cat([each["theta"] for each in slices])
        buffers = slices[0]["buffers"]
        return name_tensors(read_state(folder / manifest.tensors.name), theta, Buffers(*buffers) if buffers else None)
    except (SafetensorError, KeyError, IndexError, RuntimeError, OSError, TypeError) as error:
        raise Invalid(f"{folder} has no whole dense model ({type(error).__name__}); {REMEDY}") from error


def _part_of(folder: Path, manifest: ExportManifest, part: ManifestPart, name: str, width: int, dtype: torch.dtype) -> RowPart:
    files, gone = list[tuple[NDArray[np.int64], torch.Tensor]](), np.empty(0, np.int64)
    for file in part.files:
        path = folder / file.name
        if file.name.endswith(DENSE):
            continue
        try:
            with safe_open(path, framework="pt") as opened:
                if f"{name}/keys" not in opened.keys():  # noqa: SIM118 - it is no dict
                    continue
                keys = opened.get_tensor(f"{name}/keys")
                values = None if file.name.endswith(GONE) else opened.get_tensor(f"{name}/values")
        except (SafetensorError, OSError) as error:
            raise Invalid(f"{path} has no rows of an export, or is damaged; {REMEDY}") from error
        _check_shapes(path, keys, values, width, dtype)
        if values is None:
            gone = keys.numpy()
        else:
            files.append((keys.numpy(), values))
    return RowPart(part.shard, manifest.exported.shards, part.whole, files, gone)


def _check_shapes(path: Path, keys: torch.Tensor, values: torch.Tensor | None, width: int, dtype: torch.dtype) -> None:
    wanted = (len(keys), width) if keys.dim() == 1 else None
    is_good = keys.dtype == torch.int64 and keys.dim() == 1
    if not is_good or (values is not None and (values.dtype != dtype or tuple(values.shape) != wanted)):
        raise Invalid(f"{path} is damaged: its keys and values are not those that the manifest describes; {REMEDY}")
