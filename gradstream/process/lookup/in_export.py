"""One key in the exports of a job that are kept: its row, its tombstone, or neither."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gradstream.process.lookup.keys import shard_of
from gradstream.process.lookup.stored_tensors import Damaged, FileCheck, SearchedFile, StoredTensors
from gradstream.process.saving.exports import DENSE, GONE, ExportManifest

FindFile = Callable[[ExportManifest, str], SearchedFile]
"""The file of an export by its name. Raises: NotFound."""


@dataclass(frozen=True, slots=True)
class KeyInExports:
    state: Literal["row", "evicted", "absent"]
    """In the newest export."""
    number: int | None
    """The export that has its row or its tombstone; None: no kept export has either."""
    values: NDArray[np.float32] | None = None
    earlier: bool = False
    """That export is older than the base of the newest one, which has neither."""


class ExportSearch:
    def __init__(self, manifests: Mapping[int, ExportManifest], find_file: FindFile, check: FileCheck) -> None:
        """`manifests`: of all committed exports that are kept, by number; one at least."""
        self._manifests, self._find_file, self._check = manifests, find_file, check

    def find(self, table: str, key: int) -> KeyInExports:
        """Look from the newest export down to the base that it rests on, then in older exports of its attempt.

        Raises: Damaged, with the number of the export in the message."""
        number: int | None = max(self._manifests)
        attempt = self._manifests[max(self._manifests)].attempt
        while number is not None and number in self._manifests:
            manifest = self._manifests[number]
            if found := self._find_in(manifest, table, key):
                return found
            base, number = manifest.number, None if self._is_whole(manifest, key) else manifest.after
        for older in sorted((n for n, m in self._manifests.items() if n < base and m.attempt == attempt), reverse=True):
            if found := self._find_in(self._manifests[older], table, key):
                return KeyInExports("evicted", older, None, earlier=True)
        return KeyInExports("absent", None)

    def _find_in(self, manifest: ExportManifest, table: str, key: int) -> KeyInExports | None:
        shard = shard_of(key, manifest.exported.shards)
        names = [file.name for part in manifest.parts if part.shard == shard for file in part.files]
        try:
            for name in names:
                if not name.endswith((GONE, DENSE)):
                    tensors = self._open(manifest, name)
                    place = tensors.find(f"{table}/keys", key)
                    if place is not None:
                        return KeyInExports("row", manifest.number, tensors.row(f"{table}/values", place))
            for name in names:
                if name.endswith(GONE) and self._open(manifest, name).find(f"{table}/keys", key) is not None:
                    return KeyInExports("evicted", manifest.number)
        except Damaged as error:
            raise Damaged(
                f"Export {manifest.number} is damaged on the platform's disk: {error.message}. "
                "Ask for another one with all rows: gradstream export JOB --base."
            ) from error
        return None

    def _is_whole(self, manifest: ExportManifest, key: int) -> bool:
        """This export has all rows of the key's shard."""
        shard = shard_of(key, manifest.exported.shards)
        return any(part.whole for part in manifest.parts if part.shard == shard)

    def _open(self, manifest: ExportManifest, name: str) -> StoredTensors:
        file = self._find_file(manifest, name)
        self._check.require(file)
        return StoredTensors(file.path)
