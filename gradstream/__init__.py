"""Gradstream: PyTorch training on parameter servers, every algorithm of distributed SGD behind one switch.

from gradstream import Client, Workload, submit, train
"""

TYPE_CHECKING = False
"""True for type checkers. To import `typing` for it would double the time in which Ctrl-C prints a traceback."""
if TYPE_CHECKING:
    from gradstream.client import Client
    from gradstream.sdk import submit, train
    from gradstream.spec import JobSpec
    from gradstream.workload import Workload

__version__ = "0.1.0"
__all__ = ["Client", "JobSpec", "Workload", "__version__", "submit", "train"]


_LAZY = {
    "Client": "gradstream.client",
    "JobSpec": "gradstream.spec",
    "Workload": "gradstream.workload",
    "submit": "gradstream.sdk",
    "train": "gradstream.sdk",
}
"""Imported when they are used, so that a command starts, and can be interrupted, at once."""


def __getattr__(name: str) -> object:
    if name in _LAZY:
        from importlib import import_module

        found: object = getattr(import_module(_LAZY[name]), name)
        return found
    raise AttributeError(f"module 'gradstream' has no attribute '{name}'")
