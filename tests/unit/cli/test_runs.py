"""Every run of `gradstream train` has a folder of its own, which no source lies in."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradstream import marker
from gradstream.errors import Conflict
from gradstream.local.training import runs


def test_runs_are_numbered_and_none_is_used_twice(tmp_path: Path) -> None:
    parent = tmp_path / "circle.out"
    first = runs.next_run(parent)
    (first / "model.safetensors").write_text("1")
    assert [runs.next_run(parent).name for _ in range(10)] == [str(number) for number in range(2, 12)]
    assert first.name == "1"
    assert marker.kind_of(parent, ["1", marker.MARKER]) == "training"


def test_a_run_that_never_began_leaves_no_folder(tmp_path: Path) -> None:
    folder = runs.next_run(tmp_path / "circle.out")
    runs.drop_if_unused(folder)
    assert not folder.exists()
    used = runs.next_run(tmp_path / "circle.out")
    (used / "log").touch()
    runs.drop_if_unused(used)
    assert used.exists()


def test_a_folder_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "circle.out").mkdir()
    (tmp_path / "circle.out" / "results.csv").write_text("mine")
    with pytest.raises(Conflict, match="--out"):
        runs.next_run(tmp_path / "circle.out")
    assert [path.name for path in (tmp_path / "circle.out").iterdir()] == ["results.csv"]


def test_the_output_of_an_earlier_version_is_kept_beside_new_runs(tmp_path: Path) -> None:
    parent = tmp_path / "circle.out"
    for folder in ("processes", "store"):
        (parent / folder).mkdir(parents=True)
    (parent / "redis.log").touch()
    assert runs.next_run(parent) == parent / "1"
    assert sorted(path.name for path in parent.iterdir()) == sorted(["1", "processes", "redis.log", "store", marker.MARKER])
