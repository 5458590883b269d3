"""The tensors of a stored model, read one by one from its file or its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from gradstream.process.saving.model_files import tensor_files


class TensorsOfModel(Mapping[str, Tensor]):
    def __init__(self, path: Path) -> None:
        """`path`: of the file, or of an index with its parts beside it. Raises: Invalid, OSError, SafetensorError."""
        from safetensors import safe_open

        self._files = dict[str, Any]()
        for file in tensor_files(path):
            opened: Any = safe_open(file, framework="pt")
            self._files |= dict.fromkeys(opened.keys(), opened)

    def __getitem__(self, name: str) -> Tensor:
        found: Tensor = self._files[name].get_tensor(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)
