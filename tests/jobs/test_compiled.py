"""A job whose model torch compiles, in processes that are isolated as on any node."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from tests.platforms import Lab


@pytest.mark.more
@pytest.mark.timeout(600)  # two jobs, and a compiler
@pytest.mark.skipif(not shutil.which("g++"), reason="torch.compile needs a C++ compiler, and this machine has no g++")
def test_a_compiled_job_agrees_with_the_plain_one_and_keeps_its_code_to_itself(lab: Lab, tmp_path: Path) -> None:
    fields = {"strategy": {"name": "sync", "lr": 0.05}, "roles": {"worker": {"count": 1, "device": "cpu"}}}
    plain = lab.ended(lab.submit("plain", **fields))
    compiled = lab.ended(lab.submit("compiled", compile=True, **fields), timeout=300)
    assert (compiled.status, compiled.attempt) == ("succeeded", 1), compiled.message
    one, other = lab.weights(plain, tmp_path), lab.weights(compiled, tmp_path)
    assert all(torch.allclose(other[name], value, rtol=1e-5) for name, value in one.items())
    assert compiled.progress.eval["loss"] == pytest.approx(plain.progress.eval["loss"], rel=1e-4)


@pytest.mark.more
def test_a_node_without_a_compiler_fails_the_job_before_it_trains(lab: Lab) -> None:
    job = lab.ended(lab.submit("no-compiler", compile=True, env={"CXX": "/nowhere/g++"}))
    assert (job.status, job.progress.samples) == ("failed", 0)
    assert "compile: torch needs a C++ compiler (g++)" in (job.message or "")
    assert "or remove compile" in (job.message or "")
