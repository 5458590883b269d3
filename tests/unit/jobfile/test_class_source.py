"""A class from a notebook becomes a module that works alone."""

from __future__ import annotations

import linecache
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gradstream.errors import InvalidBundle, InvalidWorkload
from gradstream.jobfile import class_source
from gradstream.jobfile.source import resolve_job

CELLS = [
    """
import math
from dataclasses import dataclass
from typing import Any
import torch.nn.functional as F
from torch import nn
from gradstream import Workload
SIZES = {"in": 2, "out": [3, (4, 5)]}
handle = open("/dev/null")
""",
    """
def scale(x):
    return x * math.pi * SIZES["in"]

def again(x, depth=0):
    return other(x, depth)

def other(x, depth):
    return again(x, depth + 1) if depth < 2 else scale(x)
""",
    """
@dataclass
class Shape:
    width: int = 3

class Base(Workload):
    def model(self) -> Any:
        return nn.Linear(SIZES["in"], Shape().width)
""",
    """
class Circle(Base):
    hidden: int = 32

    def loss(self, model, batch):
        return F.relu(again(model(batch)))

class Holder(Workload):
    def model(self):
        return handle
""",
]
JOB = {"name": "circle", "strategy": {"name": "sync"}, "stop": {"steps": 1}}


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A `__main__` whose code came in cells without a file, as in IPython."""
    made = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", made)
    for number, cell in enumerate(CELLS):
        name = f"/tmp/ipykernel_7/{number}.py"
        linecache.cache[name] = (len(cell), None, cell.splitlines(True), name)
        exec(compile(cell, name, "exec"), made.__dict__)
    yield made
    made.__dict__["handle"].close()
    for number in range(len(CELLS)):
        del linecache.cache[f"/tmp/ipykernel_7/{number}.py"]


def run(text: str, then: str, folder: Path) -> str:
    (folder / "alone.py").write_text(text)
    command = [sys.executable, "-c", f"from alone import *\n{then}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_class_takes_along_what_it_names(notebook: Any, tmp_path: Path) -> None:
    text = class_source.collect_source(notebook.Circle, None)
    assert run(text, "print(Circle(hidden=3).model(), scale(1) == again(1))", tmp_path).split() == [
        "Linear(in_features=2,",
        "out_features=3,",
        "bias=True)",
        "True",
    ]
    assert "handle" not in text
    assert "Holder" not in text


def test_what_cannot_be_sent_is_named(notebook: Any) -> None:
    with pytest.raises(InvalidWorkload, match=r"Holder uses 'handle', a TextIOWrapper .* workload\.args"):
        class_source.collect_source(notebook.Holder, None)


def test_modules_beside_the_notebook_need_the_folder(notebook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "beside.py").write_text("def helper(x):\n    return x\n")
    monkeypatch.syspath_prepend(tmp_path)
    cell = "import beside\nclass Near(Workload):\n    def loss(self, model, batch):\n        return beside.helper(1)\n"
    cell += "    def model(self): ...\n    def dataset(self, split): ...\n"
    linecache.cache["/tmp/ipykernel_7/9.py"] = (len(cell), None, cell.splitlines(True), "9")
    exec(compile(cell, "/tmp/ipykernel_7/9.py", "exec"), notebook.__dict__)
    with pytest.raises(InvalidWorkload, match=r"beside\.py, which would not be sent; give code=FOLDER"):
        resolve_job(JOB, workload=notebook.Near)
    found = resolve_job(JOB, workload=notebook.Near, code=tmp_path)
    assert {file.path for file in found.pack_code().bundle.files} == {"beside.py", "notebook_workload.py"}
    (tmp_path / "notebook_workload.py").write_text("")
    with pytest.raises(InvalidBundle, match="rename it"):
        resolve_job(JOB, workload=notebook.Near, code=tmp_path).pack_code()


def test_a_class_of_a_module_is_found_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "ring.py").write_text("from gradstream import Workload\nclass Ring(Workload): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    from deep.ring import Ring  # type: ignore[import-not-found]

    found = resolve_job(JOB, workload=Ring)
    assert (found.spec.workload.entrypoint, found.code) == ("deep.ring:Ring", tmp_path.resolve())
    inner = resolve_job(JOB, workload=Ring, code=tmp_path / "deep")
    assert inner.spec.workload.entrypoint == "ring:Ring"
    with pytest.raises(InvalidWorkload, match="give the class"):
        resolve_job(JOB, workload=Ring())
