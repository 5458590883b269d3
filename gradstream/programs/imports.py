"""How a program imports."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_ASK_COMPILER = ("add_param_group", "load_state_dict", "state_dict", "zero_grad")
"""Methods of torch's optimizers which ask the compiler to leave them alone."""


@contextmanager
def without_collector() -> Iterator[None]:
    """Import without passes of the garbage collector, then leave all objects so far out of its hands: modules stay as long as the
    program. Such passes are 15 to 18 % of the CPU time of a start; later ones, over all modules, take 130 ms each."""
    gc.disable()
    try:
        yield
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def skip_compiler() -> None:
    """Let torch's optimizers run without importing its compiler, which takes 1 s and 70 MB. `torch.compile` still imports it, and
    would then trace these four methods; user code has no reason to compile them, since it takes no steps."""
    from torch.optim import Optimizer

    for name in _ASK_COMPILER:
        method = getattr(Optimizer, name).__wrapped__
        method.__dynamo_disable = method  # torch looks here for the method that its compiler would have wrapped
