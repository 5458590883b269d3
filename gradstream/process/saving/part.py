"""The part that one process has in a checkpoint: its state, and further files if it has too much for one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradstream.process.saving.checkpoint_names import LIST, STATE, CheckpointPath, folder_of
from gradstream.process.saving.content import Content, TextContent, sha256_of, sha256_of_file
from gradstream.process.saving.part_list import EarlierFile, ListedFile, PartList
from gradstream.process.saving.resumed import ResumedFile
from gradstream.process.saving.state_file import nbytes_of, read_state, state_file

if TYPE_CHECKING:
    from gradstream.process.store import Store


@dataclass(frozen=True, slots=True)
class CheckpointPartFiles:
    """A part on its way into the store. Its state is stored last: a part whose state is there is whole."""

    checkpoint: int
    part: str
    """`worker-0`, `shard-1`."""
    state: dict[str, Any]
    """Tensors and plain values, which must not change any more."""
    further: Iterable[tuple[str, Content]] = ()
    """Names, without the part, and contents. It may be a generator, so that one of them at a time is in memory."""
    further_bytes: int = 0
    rests_on: Sequence[EarlierFile] = ()
    stored: list[ListedFile] = field(default_factory=list)
    """Gets the further files, as they are stored."""

    @property
    def name(self) -> str:
        return f"{folder_of(self.checkpoint)}{self.part}"

    @property
    def nbytes(self) -> int:
        return nbytes_of(self.state) + self.further_bytes

    def put_into(self, store: Store) -> None:
        """Raises: Unavailable: a file could not be stored; none of those behind it is."""
        for name, content in self.further:
            self.stored.append(self._put_further(store, name, content))
        if self.stored or self.rests_on:
            listed = PartList(files=tuple(self.stored), rests_on=tuple(self.rests_on))
            store.put(self.name + LIST, TextContent(listed.model_dump_json()))
        store.put(self.name + STATE, state_file(self.state))

    def _put_further(self, store: Store, name: str, content: Content) -> ListedFile:
        file = ListedFile(name=f"{self.part}.{name}", size=content.nbytes, sha256=sha256_of(content))
        store.put(folder_of(self.checkpoint) + file.name, content, file.sha256)
        return file


def resumed_state(store: Store, part: str, folder: Path) -> Any | None:
    """Return the state of a part in the checkpoint that this attempt resumes from. `folder` gets a copy of its file. None: the
    attempt begins at the beginning, or the process has no part."""
    files = store.resumed(part)
    return read_state(store.fetch(files[0], folder)) if files else None


def resumed_part(store: Store, part: str, folder: Path) -> tuple[Any, list[tuple[EarlierFile, Path]]] | None:
    """Return the state as `resumed_state` does, and the further files, the oldest first, each with its copy."""
    files = store.resumed(part)
    if not files:
        return None
    state, *further = files
    own = [file for file in further if Path(file.path).parent == Path(state.path).parent and file.attempt == state.attempt]
    earlier = [file for file in further if file not in own]
    return read_state(store.fetch(state, folder)), [_fetched(store, file, folder) for file in earlier + own]


def _fetched(store: Store, file: ResumedFile, folder: Path) -> tuple[EarlierFile, Path]:
    path, at = store.fetch(file, folder), CheckpointPath.parse(file.path)
    assert at is not None, "the store has listed it"
    sha256 = file.sha256 or sha256_of_file(path)
    name = Path(file.path).name
    return EarlierFile(name=name, size=path.stat().st_size, sha256=sha256, attempt=file.attempt, checkpoint=at.number), path
