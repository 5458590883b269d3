"""The files of a stored model: one, or parts and an index, as Hugging Face names them.

    model.safetensors                     up to PART_BYTES
    model-00001-of-00003.safetensors      parts of a larger one; a tensor is in one part
    model.safetensors.index.json          {"metadata": {"total_size": bytes}, "weight_map": {tensor: part}}

The index is stored last, so a model whose index is there is whole. Needs no torch.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from gradstream.errors import Invalid
from gradstream.process.store import BEST, MODEL

PART_BYTES = 4 * 10**9
"""Bytes of the tensors in a file, at most; one tensor may be larger."""
INDEX = ".index.json"
MAX_INDEX = 64 * 1024 * 1024
"""Bytes."""
ENTRY = "gradstream"
"""The entry of the metadata that says where a model comes from. It is the same in the index and in each part."""
_PART = re.compile(r"(model|best)-([0-9]{5})-of-([0-9]{5})\.safetensors")
_LONGEST_HEADER = 1 << 26
"""Bytes."""


class IndexMetadata(BaseModel, frozen=True, extra="allow"):
    total_size: int = Field(ge=0, description="Bytes of all tensors")
    gradstream: str | None = Field(None, max_length=10_000)


class ModelIndex(BaseModel, frozen=True):
    metadata: IndexMetadata
    weight_map: dict[str, str] = Field(min_length=1)

    @property
    def parts(self) -> list[str]:
        return sorted(set(self.weight_map.values()))


def model_of(path: str) -> str | None:
    """Return MODEL or BEST if a file of this name belongs to it: the file itself, its index or a part. None: it does not."""
    name = path.removesuffix(INDEX)
    if name in (MODEL, BEST):
        return name
    part = _PART.fullmatch(path)
    return f"{part[1]}.safetensors" if part and 1 <= int(part[2]) <= int(part[3]) else None


def with_parts(names: Iterable[str], there: Collection[str]) -> list[str]:
    """Return these names of files, a model that is there in parts by all of its files, with the index last."""
    found = list[str]()
    for name in names:
        in_parts = name in (MODEL, BEST) and name not in there and name + INDEX in there
        found += sorted(each for each in there if model_of(each) == name and each.endswith(".safetensors")) if in_parts else []
        found.append(name + INDEX if in_parts else name)
    return found


def split_names(sizes: Mapping[str, int], most: int) -> list[list[str]]:
    """Return the names of the tensors of each part, in their order. `sizes`: bytes by name."""
    parts: list[list[str]] = [[]]
    taken = 0
    for name, size in sizes.items():
        if parts[-1] and taken + size > most:
            parts.append([])
            taken = 0
        parts[-1].append(name)
        taken += size
    return parts


def part_name(model: str, number: int, count: int) -> str:
    """`number`: from 1."""
    return f"{model.removesuffix('.safetensors')}-{number:05d}-of-{count:05d}.safetensors"


def index_text(model: str, parts: Sequence[Sequence[str]], sizes: Mapping[str, int], about: str | None) -> str:
    named = {name: part_name(model, number, len(parts)) for number, names in enumerate(parts, 1) for name in names}
    metadata = {"total_size": sum(sizes.values())} | ({ENTRY: about} if about else {})
    return json.dumps({"metadata": metadata, "weight_map": named}, ensure_ascii=False, indent=2) + "\n"


def read_index(path: Path, model: str) -> ModelIndex:
    """Read the index of this model. Raises: Invalid: it is none."""
    try:
        if path.stat().st_size > MAX_INDEX:
            raise Invalid(f"{path.name} is larger than {MAX_INDEX:,} bytes")
        index = ModelIndex.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise Invalid(f"{path.name} lacks metadata.total_size or weight_map, as an index of a model has them") from error
    strange = [name for name in index.parts if not _PART.fullmatch(name) or model_of(name) != model]
    if strange:
        raise Invalid(f"{path.name} names {strange[0][:100]}, which is not a part of {model}")
    return index


def find_model(folder: Path, model: str) -> Path | None:
    """Return the index or the file of a model in a folder; None: it has neither."""
    found = (folder / name for name in (model + INDEX, model))
    return next((path for path in found if path.exists()), None)


def tensor_files(path: Path) -> list[Path]:
    """Return the files that hold the tensors of a stored model. `path`: its file, or its index, beside which the parts lie.
    Raises: Invalid: a part is missing, or of another model."""
    if not path.name.endswith(INDEX):
        return [path]
    index = read_index(path, path.name.removesuffix(INDEX))
    files = [path.parent / name for name in index.parts]
    if lacking := [file.name for file in files if not file.exists()]:
        raise Invalid(f"{path.name} names {', '.join(lacking)}, which is not beside it; download all files of the model")
    if any(describe(file) != index.metadata.gradstream for file in files):
        raise Invalid(
            f"{path.name} and its parts are of different models, as one was replaced meanwhile; download all of them again"
        )
    return files


def describe(file: Path) -> str | None:
    """Return what a `.safetensors` file says of its model; None: nothing."""
    try:
        with file.open("rb") as opened:
            (length,) = struct.unpack("<Q", opened.read(8))
            header: Any = json.loads(opened.read(min(length, _LONGEST_HEADER)))
        return str(header["__metadata__"][ENTRY])
    except (ValueError, KeyError, TypeError, struct.error):
        return None
