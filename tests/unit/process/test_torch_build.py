"""The build of torch that an agent reports, without importing it."""

from __future__ import annotations

import json
import subprocess
import sys

import torch

_ASK = """
import json, sys
from gradstream.process.gpus.torch_build import torch_build
print(json.dumps([torch_build().as_dict(), "torch" in sys.modules]))
"""


def test_it_is_the_torch_that_processes_import() -> None:
    done = subprocess.run([sys.executable, "-c", _ASK], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [{"version": torch.__version__, "cuda": torch.version.cuda}, False]
