"""Gradstream: PyTorch training on parameter servers, every algorithm of distributed SGD behind one switch."""

from gradstream.spec import JobSpec
from gradstream.workload import Workload

__version__ = "0.1.0"
__all__ = ["JobSpec", "Workload", "__version__"]
