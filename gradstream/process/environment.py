"""The environment of a job's processes: Python, its packages, the machine. A job keeps that of worker 0 as `environment.json`."""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import psutil
from pydantic import BaseModel, Field

import gradstream

ENVIRONMENT = "environment.json"
_MAX_PACKAGES = 500
_MAX_TEXT = 200


class Environment(BaseModel, frozen=True):
    python: str
    gradstream: str
    packages: list[str]
    """`name==version`, sorted, each name once."""
    packages_left_out: int = Field(0, ge=0)
    """Packages beyond the first 500."""
    host: str | None = None
    system: str | None = None
    """The distribution of Linux, or the operating system."""
    kernel: str | None = None
    processor: str | None = None
    cores: int | None = None
    """Logical cores of the machine."""
    gpu: str | None = None
    driver: str | None = None

    @property
    def phrase(self) -> str:
        """`Python 3.11.7, torch 2.13.0`"""
        torch = next((each.partition("==")[2] for each in self.packages if each.startswith("torch==")), None)
        return f"Python {self.python}{f', torch {torch}' if torch else ''}"


def collect_environment(gpu: int | None) -> Environment:
    """The environment of this process. `gpu`: the index of its GPU on this machine. Unknown values are None."""
    packages = _installed_packages()
    name, driver = _gpu_and_driver(gpu) if gpu is not None else (None, None)
    return Environment(
        python=platform.python_version(),
        gradstream=gradstream.__version__,
        packages=packages[:_MAX_PACKAGES],
        packages_left_out=max(0, len(packages) - _MAX_PACKAGES),
        host=_text_or_none(socket.gethostname),
        system=_text_or_none(_system),
        kernel=_text_or_none(platform.release),
        processor=_text_or_none(_processor),
        cores=psutil.cpu_count() or os.cpu_count(),
        gpu=name,
        driver=driver,
    )


def _installed_packages() -> list[str]:
    found = dict[str, str]()
    for distribution in metadata.distributions():  # in the order of imports: the first one of a name is the one that counts
        about = distribution.metadata
        name, version = about["Name"], about["Version"]  # of a broken installation None, although the types deny it
        if name and version:
            found.setdefault(name.lower().replace("_", "-"), f"{name}=={version}"[:_MAX_TEXT])
    return [found[name] for name in sorted(found)]


def _text_or_none(ask: Callable[[], str]) -> str | None:
    try:
        return ask()[:_MAX_TEXT] or None
    except (OSError, ValueError, KeyError):
        return None


def _system() -> str:
    return platform.freedesktop_os_release()["PRETTY_NAME"] if platform.system() == "Linux" else platform.platform()


def _processor() -> str:
    if platform.system() != "Linux":
        return platform.processor()
    lines = (line.partition(":") for line in Path("/proc/cpuinfo").read_text().splitlines())
    return next((value.strip() for name, _, value in lines if name.strip() == "model name"), platform.machine())


def _gpu_and_driver(index: int) -> tuple[str | None, str | None]:
    """Names as the driver has them, asked without CUDA."""
    import pynvml

    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        return _decode(pynvml.nvmlDeviceGetName(handle)), _decode(pynvml.nvmlSystemGetDriverVersion())
    except pynvml.NVMLError:
        return None, None


def _decode(text: str | bytes) -> str:
    return (text if isinstance(text, str) else text.decode(errors="replace"))[:_MAX_TEXT]
