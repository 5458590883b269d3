"""A model on its way into a store: one file, or parts and an index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from torch import Tensor

from gradstream.process.saving import model_files
from gradstream.process.saving.content import Content, TextContent
from gradstream.process.saving.model_files import ENTRY, INDEX, index_text, part_name, split_names
from gradstream.process.saving.tensor_file import TensorFile


def files_of_model(model: str, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> Iterator[tuple[str, Content]]:
    """Yield names and contents, in the order in which they are to be stored. `model`: name of the one file. The tensors must not
    change any more."""
    sizes = {name: tensor.nbytes for name, tensor in tensors.items()}
    parts = split_names(sizes, model_files.PART_BYTES)
    if len(parts) == 1:
        yield model, TensorFile(tensors, metadata)
        return
    for number, names in enumerate(parts, 1):
        yield part_name(model, number, len(parts)), TensorFile({name: tensors[name] for name in names}, metadata)
    yield model + INDEX, TextContent(index_text(model, parts, sizes, metadata.get(ENTRY)))
