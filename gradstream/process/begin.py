"""The first moments of a job process: from a bare fork (or a bare interpreter) to its role's `main`.

The order of the steps matters: it must die with its parent before it can be orphaned, and have its log before it can fail.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import hashlib
import importlib
import os
import random
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

from gradstream.center.tables import kernel_cache
from gradstream.process import exits
from gradstream.process.blame import shorten_warnings
from gradstream.process.exits import EXIT_CODES, Exit, ExitReason
from gradstream.process.gpus.mps import finish_kernels, join_mps
from gradstream.process.gpus.use import limit_gpu_memory
from gradstream.process.naming import name_process
from gradstream.process.order import ProcessOrder
from gradstream.process.zygote import orphans
from gradstream.process.zygote.launch import die_with_parent
from gradstream.programs.imports import skip_compiler
from gradstream.sandbox.enter import enter
from gradstream.sandbox.sandbox import Sandbox

CODE_FOLDER = "TORCHINDUCTOR_CACHE_DIR"
"""Environment variable: where torch.compile keeps the code that it makes. Its default lies in /tmp under a name that others can
guess, so another account could put code there. Job files may set it."""
KEPT_ENV = (
    *("PATH", "HOME", "LANG", "TMPDIR", "TERM", "TZ", "USER", "LOGNAME", "XDG_CACHE_HOME", "TRITON_CACHE_DIR"),
    *(kernel_cache.OWN_FOLDER, orphans.OWNER),
)
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""torch has a call of its own; these are for other libraries, and for programs that user code starts."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_LARGE = 1 << 30
"""Bytes; larger blocks still go back to the kernel."""
_KILL_ME_FIRST = "500"
"""Value of oom_score_adj: when memory runs out, a training process goes before the platform's own programs."""


def kept_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the part of its machine's environment that a job process may see. It holds none of the platform's settings."""
    return {name: value for name, value in environ.items() if name in KEPT_ENV or name.startswith("LC_")}


def begin(
    order_json: str, folder: Path, entrypoint: str, parent: int, sandbox: Sandbox | None = None, uid: int | None = None
) -> NoReturn:
    """Become the process that the order describes, run it and end with its exit code. `uid`: the account of its sandbox. `parent`:
    0 for a process in a namespace of its own."""
    die_with_parent(parent, signal.SIGKILL)
    os.setsid()
    orphans.adopt()  # what its children leave stays below it, so that it ends with it
    code = exits.CANNOT_BEGIN
    try:
        _redirect(folder)
        if sandbox is not None:
            _enter(sandbox, folder, uid)
            die_with_parent(parent, signal.SIGKILL)  # again: who becomes another user loses it
            os.environ[kernel_cache.OWN_FOLDER] = str(folder / "kernels")
        order = ProcessOrder.model_validate_json(order_json)
        _settle(order, folder)
        main = _resolve(entrypoint)
        (folder / exits.BEGAN).touch()
        code = EXIT_CODES[ExitReason.INTERNAL]
        code = _run(main, order, folder)
    except BaseException as error:  # nothing may unwind into the code that forked us
        _explain(error, folder)
    finally:
        with contextlib.suppress(RuntimeError):  # an error of its GPU is told already
            finish_kernels()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _enter(sandbox: Sandbox, folder: Path, uid: int | None) -> None:
    """Into the sandbox; or leave the reason where the agent reads it, which by then may be no longer at its path."""
    outside = os.open(folder, os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        enter(sandbox, folder, uid)
    except BaseException as error:
        os.fchdir(outside)
        message = (
            f"the sandbox of level '{sandbox.level}', which this node offered when its agent started, could not be made: {error}. "
            "Start the agent again, which tries what the machine offers now, or choose a level by --isolation"
        )
        exits.write(Path(), Exit(reason=ExitReason.INTERNAL, message=message))
        raise
    finally:
        os.close(outside)  # it leads out of the sandbox


def _redirect(folder: Path) -> None:
    """Everything that this process prints, also from C and from its own subprocesses, goes to `<folder>/log`."""
    os.chdir(folder)
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, source in ((0, nothing), (1, log), (2, log)):
        os.dup2(source, target)
    sys.stdout = os.fdopen(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)


def _settle(order: ProcessOrder, folder: Path) -> None:
    runs_user_code = order.role != "server"
    threads = order.spec.roles.worker.threads if order.role in ("worker", "peers") else 1
    environment = kept_environment(os.environ) | dict.fromkeys(_THREADS, str(threads))
    os.environ.clear()
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"  # so that an index means the same here as in the agent's inventory
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, order.visible_gpus))
    os.environ.update(environment)
    os.environ[CODE_FOLDER] = str(folder / "compiled")
    if runs_user_code:
        _write_no_bytecode()
        os.environ.update(order.spec.env)
        sys.path.insert(0, str(folder / "code"))
        shorten_warnings(folder)
        os.chdir(_make_work_folder(folder))
    sys.argv = [order.label]
    name_process(order.label, f"{order.spec.name} ({order.job_id})")
    if sys.platform == "linux":
        Path("/proc/self/oom_score_adj").write_text(_KILL_ME_FIRST)
        _keep_freed_memory()
        if order.role in ("worker", "peers"):
            _yield_to_others()
    faulthandler.enable(2)  # a crash in native code names the line of Python in the log
    _seed(order)
    import torch

    torch.set_num_threads(threads)
    skip_compiler()
    join_mps(order)
    if len(order.visible_gpus) == 1:  # the peers of a group on several GPUs know which one is theirs
        limit_gpu_memory(order.gpu_share)


def _write_no_bytecode() -> None:
    """Bytecode would lie among the code that other processes share: to an agent that checks it, as a change of the code."""
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def _make_work_folder(folder: Path) -> Path:
    """A folder of this process's own with a link to each entry of its code: so relative paths read what was submitted, and what
    user code writes by a relative path does not end in code that other processes share."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    with contextlib.suppress(FileNotFoundError):  # without a bundle, the code is installed on the node
        for entry in (folder / "code").iterdir():
            (work / entry.name).symlink_to(entry)
    return work


def _yield_to_others() -> None:
    """A worker computes for milliseconds on end; what it waits for goes first when it wakes up."""
    with contextlib.suppress(OSError):  # some sandboxes have no such scheduler; without it, all is only a little slower
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _keep_freed_memory() -> None:
    """glibc gives large blocks back to the kernel when they are freed, and each step of a model pays for their pages again: a third
    of the time of one with layers of 64 MB. Here they are kept for the next step."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt:  # musl has none, and no such habit
        mallopt(_M_MMAP_THRESHOLD, _LARGE)
        mallopt(_M_TRIM_THRESHOLD, _LARGE)


def _seed(order: ProcessOrder) -> None:
    """Each process draws its own numbers, and the same ones in every run of the same job."""
    import numpy
    import torch

    role = "worker" if order.role == "peers" else order.role  # they build the model of their worker
    seed = seed_of(order.spec.seed, role, order.worker)
    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)


def seed_of(seed: int, role: str, rank: int) -> int:
    """Return the seed of a process's generators, in a job with this seed."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{role}/{rank}".encode()).digest()[:4], "big")


def _resolve(entrypoint: str) -> Callable[[ProcessOrder, Path], int]:
    module, _, name = entrypoint.partition(":")
    main: Callable[[ProcessOrder, Path], int] = getattr(importlib.import_module(module), name)
    return main


def _run(main: Callable[[ProcessOrder, Path], int], order: ProcessOrder, folder: Path) -> int:
    try:
        return main(order, folder)
    except SystemExit as asked:  # user code that calls sys.exit(); as the interpreter would understand it
        return asked.code if isinstance(asked.code, int) else int(asked.code is not None)


def _explain(error: BaseException, folder: Path) -> None:
    with contextlib.suppress(OSError):  # the disk may be full
        traceback.print_exception(error)
        exits.write(folder, Exit(reason=ExitReason.INTERNAL, message=f"{type(error).__name__}: {error}"))


if __name__ == "__main__":  # where a fork is not safe: a fresh interpreter, told by the first line of its stdin
    import json

    _told = json.loads(sys.stdin.readline())
    begin(_told["order"], Path(_told["folder"]), _told["entrypoint"], _told["parent"])
