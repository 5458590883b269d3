"""The torch of this machine, read from its files: neither the agent nor the command line imports it for that."""

from __future__ import annotations

import functools
import importlib.util
import logging
import runpy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TorchBuild:
    version: str
    cuda: str | None
    """Version of CUDA that it was built for; None: it cannot use GPUs of NVIDIA."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@functools.cache
def torch_build() -> TorchBuild | None:
    """Return the build of torch that processes here import; None: not known."""
    try:
        found = importlib.util.find_spec("torch")
        if found is None or found.origin is None:
            return None
        about = runpy.run_path(str(Path(found.origin).with_name("version.py")))
        return TorchBuild(str(about["__version__"]), None if about["cuda"] is None else str(about["cuda"]))
    except Exception as error:  # another build of torch may have another file
        log.info("the version of torch is not known: %r", error)
        return None
