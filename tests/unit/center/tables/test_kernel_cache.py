"""Where a process finds the machine code of kernels, and that all of it is compiled ahead."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradstream.center.tables import kernel_cache
from gradstream.process.zygote.zygote import PRELOAD


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv(kernel_cache.OWN_FOLDER, raising=False)
    kernel_cache.shared_folder.cache_clear()
    return tmp_path / "home"


@pytest.fixture(autouse=True)
def forget() -> None:
    kernel_cache.shared_folder.cache_clear()


def test_a_process_outside_of_a_sandbox_writes_to_the_shared_folder(home: Path) -> None:
    folder = kernel_cache.choose_folder()
    assert folder == kernel_cache.shared_folder()
    assert folder.is_relative_to(home)
    assert folder.is_dir()
    assert not kernel_cache.is_complete()


def test_a_process_in_a_sandbox_takes_a_copy_of_what_is_complete(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = kernel_cache.shared_folder()
    shared.mkdir(parents=True)
    (shared / "one.nbc").write_bytes(b"code")
    monkeypatch.setenv(kernel_cache.OWN_FOLDER, str(tmp_path / "early"))
    assert kernel_cache.choose_folder() == tmp_path / "early"
    assert not list((tmp_path / "early").iterdir()), "a part of the kernels may be half written"
    kernel_cache.mark_complete()
    monkeypatch.setenv(kernel_cache.OWN_FOLDER, str(tmp_path / "own"))
    assert kernel_cache.choose_folder() == tmp_path / "own"
    assert (tmp_path / "own" / "one.nbc").read_bytes() == b"code"
    assert home.exists()


def test_without_a_place_to_write_there_is_no_folder(home: Path) -> None:
    home.write_text("a file where the folder should be")
    assert kernel_cache.choose_folder() is None


def test_the_folder_depends_on_the_fields_of_all_tuples_that_kernels_take(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """numba keeps the name of a tuple's class in its index, and not the names of its fields."""
    fields = {file: names for package in kernel_cache.PACKAGES for file in package.glob("*.py") if (names := fields_in(file))}
    assert {"frames.py", "rows.py", "index.py", "push.py"} <= {file.name for file in fields}
    for file, names in fields.items():
        copy = tmp_path / file.name
        copy.write_bytes(file.read_bytes())
        monkeypatch.setattr(kernel_cache, "PACKAGES", (tmp_path,))
        kernel_cache.shared_folder.cache_clear()
        before = kernel_cache.shared_folder()
        copy.write_text(copy.read_text().replace(f"    {names[0]}: ", "    renamed: ", 1))
        kernel_cache.shared_folder.cache_clear()
        assert kernel_cache.shared_folder() != before, file


def test_each_installation_has_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """numba would find no code in another one's folder, which says that it is complete."""
    folders = set()
    for package in (tmp_path / "one", tmp_path / "other"):
        package.mkdir()
        (package / "kernels.py").write_text("@kernel")
        monkeypatch.setattr(kernel_cache, "PACKAGES", (package,))
        kernel_cache.shared_folder.cache_clear()
        folders.add(kernel_cache.shared_folder())
    assert len(folders) == 2


def fields_in(file: Path) -> list[str]:
    """Return the fields of the named tuples in a source file."""
    classes = [node for node in ast.parse(file.read_text()).body if isinstance(node, ast.ClassDef)]
    tuples = [found for found in classes if "NamedTuple" in [ast.unparse(base) for base in found.bases]]
    return [ast.unparse(line.target) for found in tuples for line in found.body if isinstance(line, ast.AnnAssign)]


@pytest.mark.more
def test_the_zygote_imports_no_kernels() -> None:
    """A process chooses their folder when it imports them, and the zygote is in no sandbox. Jobs without tables need none."""
    code = f"import sys, importlib; [importlib.import_module(name) for name in {PRELOAD!r}]; print('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=100).stdout == "False\n"


AFTER_A_FORK = """
import os, sys, torch
from gradstream.process.zygote.forkserver import load_kernels
load_kernels()
from gradstream.center.tables.compiling import _kernels
assert len(os.listdir("/proc/self/task")) == 1, "a process with threads cannot be forked"
loaded = [list(kernel.signatures) for kernel in _kernels]
assert any(loaded)
if not (child := os.fork()):
    torch.set_num_threads(1)
    from tests.unit.sim.test_tables import ADMITTED, job, train
    train(job("async", tables=ADMITTED, stop={"steps": 4}, shards=2))
    os._exit(loaded != [list(kernel.signatures) for kernel in _kernels])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.more
def test_the_zygote_loads_kernels_for_jobs_with_tables_and_their_processes_compile_nothing() -> None:
    """As the agent has compiled them; see the next test."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-m", "gradstream.model.compile_kernels"], env=environment, check=True, timeout=300)
    subprocess.run([sys.executable, "-c", AFTER_A_FORK], env=environment, check=True, timeout=300)


@pytest.mark.more
def test_all_kernels_that_a_job_calls_are_compiled_ahead(tmp_path: Path) -> None:
    """A worker with a copy of the folder adds nothing to it. Tests beside this one may add other kernels there meanwhile."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-m", "gradstream.model.compile_kernels"], env=environment, check=True, timeout=300)
    own = tmp_path / "own"
    options = "tables=ADMITTED, stop={'steps': 4}, shards=2"
    train = f"from tests.unit.sim.test_tables import ADMITTED, job, train; train(job('async', {options}))"
    train += (
        "; from tests.unit.center.tables import test_copying; test_copying.test_rows_after_a_restored_copy_have_the_same_bits()"
    )
    train += "; from tests.unit.center.tables import test_cold_rows"
    train += "; test_cold_rows.test_the_file_stays_small_while_rows_come_and_go()"
    subprocess.run([sys.executable, "-c", train], env=environment | {kernel_cache.OWN_FOLDER: str(own)}, check=True, timeout=300)
    assert "complete" in names(own) <= names(kernel_cache.shared_folder())


def names(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
