"""`compile: true` of a job: torch compiles what the model's forward computes, and its backward. Names and parameters stay as they
are, and compiled code reads the parameters where they lie."""

from __future__ import annotations

import os
import stat
from functools import cache
from pathlib import Path
from typing import Any

import torch
from platformdirs import user_cache_path
from torch import Tensor, nn

from gradstream.errors import InvalidWorkload
from gradstream.model.tables import table_modules
from gradstream.process.begin import CODE_FOLDER
from gradstream.spec import JobSpec

MAX_VERSIONS = 64
"""Compiled versions that torch keeps: one for each block, shape of a mini-batch, and training or evaluation. Others run plainly."""


def compile_forward(module: nn.Module) -> None:
    """Let torch compile this module at its first mini-batch. Each shape is compiled by itself, so that the code for a mini-batch,
    and with it the bits, do not depend on those before it."""
    if hasattr(module, "_orig_mod"):
        return  # the workload compiles it
    for embedding in table_modules(module):
        embedding.forward = torch.compiler.disable(embedding.forward)  # type: ignore[no-untyped-call]  # it looks rows up, which no compiler sees
    forward = module.forward

    def whole(*args: Any, **kwargs: Any) -> Any:
        """A function of ours: torch compiles no forward of its own modules alone."""
        return forward(*args, **kwargs)

    compiled = torch.compile(whole, dynamic=False)

    def compiled_forward(*args: Any, **kwargs: Any) -> Any:
        try:
            return compiled(*args, **kwargs)
        except RuntimeError as error:
            if not _is_of_compiler(error):
                raise
            raise InvalidWorkload(
                f"compile: torch cannot compile the {type(module).__name__}: {_first_line(error)}; put torch.compiler.disable "
                "around the part that it names, or remove compile"
            ) from error

    module.forward = compiled_forward


def check_compiler(spec: JobSpec) -> None:
    """Compile a small function, with settings that all that follows has. Raises: InvalidWorkload: this machine cannot."""
    from torch._dynamo import config as dynamo
    from torch._inductor import config as inductor
    from torch._inductor.runtime.cache_dir_utils import default_cache_dir

    os.environ.setdefault(CODE_FOLDER, str(user_cache_path("gradstream") / "compiled"))
    dynamo.recompile_limit = max(dynamo.recompile_limit, MAX_VERSIONS)
    inductor.compile_threads = torch.get_num_threads()  # by default processes for all cores, which are not this worker's
    inductor.cpp_cache_precompile_headers = _is_own(Path(default_cache_dir()))  # they lie there, whatever CODE_FOLDER says
    if compiler := os.environ.get("CXX"):
        inductor.cpp.cxx = (None, compiler)  # read before this process had the environment of its job
    if spec.roles.worker.group.peers > 1 and os.environ.get("CUDA_VISIBLE_DEVICES"):
        return  # a process that uses CUDA cannot fork its peers: what this machine lacks shows at their first mini-batch
    gpu = spec.roles.worker.effective_device != "cpu" and torch.cuda.is_available()
    _check_device("cuda" if gpu else "cpu")


@cache
def _check_device(device: str) -> None:
    needs, named_by = ("a C++ compiler (g++)", "CXX") if device == "cpu" else ("Triton and a C compiler (gcc)", "CC")
    try:
        torch.compile(_small, dynamic=False)(torch.ones(8, device=device))
    except Exception as error:
        raise InvalidWorkload(
            f"compile: torch needs {needs} to compile for {device}, and cannot use one on this machine: {_first_line(error)}; "
            f"install it there, set {named_by} in env to its path, or remove compile"
        ) from error


def _is_own(folder: Path) -> bool:
    """Only this account can put code there. The folder is made, since its place may be open to all."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _small(x: Tensor) -> Tensor:
    return x.sin() + 1


def _is_of_compiler(error: RuntimeError) -> bool:
    return type(error).__module__.startswith(("torch._dynamo", "torch._inductor"))


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]
