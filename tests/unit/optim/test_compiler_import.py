"""Optimizers of a job process do not import torch's compiler. See ADR 161."""

import subprocess
import sys

import pytest

from gradstream.process.zygote.zygote import PRELOAD

RULES = ["sgd", "adagrad", "adam", "adamw", "lars", "lamb", "muon"]
STEPS = """
import importlib, sys
for name in {preload!r}:
    importlib.import_module(name)
import torch
from pydantic import TypeAdapter
from gradstream.optim.flat import FlatOptimizer
from gradstream.optim.spec import AnyOptimizer
from gradstream.programs.imports import skip_compiler

skip_compiler()
for rule in {rules!r}:
    fields = {{"momentum": 0.9}} if rule == "sgd" else {{}}
    spec = TypeAdapter(AnyOptimizer).validate_python({{"name": rule, **fields}})
    optimizer = FlatOptimizer(torch.ones(8), spec, lr=0.1)
    for _ in range(2):
        optimizer.step(torch.ones(8))
        optimizer.load(optimizer.state())
own = torch.optim.Adam([torch.nn.Parameter(torch.ones(3))])
own.add_param_group({{"params": [torch.nn.Parameter(torch.ones(2))]}})
own.zero_grad()
own.load_state_dict(own.state_dict())
print([name for name in ("torch._dynamo", "torch._inductor") if name in sys.modules])
"""


@pytest.mark.more
def test_optimizers_do_not_import_the_compiler() -> None:
    """It takes a second at the start of each agent and each run, and 70 MB. A new torch may call it from other places."""
    code = STEPS.format(preload=PRELOAD, rules=RULES)
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=100).stdout
    assert printed == "[]\n"
