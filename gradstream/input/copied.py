"""Mini-batches on their way to a GPU beside what is computed there: from pinned memory, on a stream of their own."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from gradstream.data.source import each


class ReadyBatch(NamedTuple):
    batch: Any
    examples: int
    copied: torch.cuda.Event | None
    """The event that ends the copy to the GPU, if there is one."""


def copied(batch: Any, examples: int, device: torch.device, stream: torch.cuda.Stream | None) -> ReadyBatch:
    """Begin the copy of a mini-batch to `device`. `stream`: None: it stays where it is."""
    if stream is None:
        return ReadyBatch(batch, examples, None)
    with torch.cuda.stream(stream):
        moved = each(batch, lambda tensor: tensor.pin_memory().to(device, non_blocking=True))
        return ReadyBatch(moved, examples, stream.record_event())


def usable(ready: ReadyBatch, device: torch.device) -> tuple[Any, int]:
    """Return a mini-batch, and how many examples it has, once its copy is done for what this thread computes next."""
    if ready.copied is not None:
        here = torch.cuda.current_stream(device)
        here.wait_event(ready.copied)
        each(ready.batch, lambda tensor: tensor.record_stream(here))
    return ready.batch, ready.examples
