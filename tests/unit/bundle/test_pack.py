"""What travels to the nodes, and what stays at home."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gradstream import bundle
from gradstream.bundle import limits
from gradstream.errors import InvalidBundle


def write(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def names(packed: bundle.Bundle) -> list[str]:
    return [file.path for file in packed.files]


def test_a_packed_folder_unpacks_to_the_same_files(tmp_path: Path) -> None:
    source = write(tmp_path / "a", digits="import torch", sub__deep__part="x" * 5000)
    (source / "run").write_text("#!/bin/sh")
    (source / "run").chmod(0o755)

    packed = bundle.pack(source)
    bundle.unpack(packed.data, tmp_path / "b")

    assert names(packed) == ["digits", "run", "sub/deep/part"]
    for file in packed.files:
        there = tmp_path / "b" / file.path
        assert there.read_bytes() == (source / file.path).read_bytes()
        assert there.stat().st_mode & 0o222 == 0
    assert os.access(tmp_path / "b" / "run", os.X_OK)


def test_the_hash_depends_on_content_and_names_only(tmp_path: Path) -> None:
    first = write(tmp_path / "first", x="1", a__y="2")
    second = write(tmp_path / "second", a__y="2", x="1")
    os.utime(second / "x", (1, 1))
    os.chmod(second / "x", 0o600)

    assert bundle.pack(first).hash == bundle.pack(second).hash
    write(second, x="3")
    assert bundle.pack(first).hash != bundle.pack(second).hash


def test_one_file_is_a_bundle(tmp_path: Path) -> None:
    (tmp_path / "digits.py").write_text("...")
    packed = bundle.pack(tmp_path / "digits.py")
    assert names(packed) == ["digits.py"]
    assert packed.holds("digits:Digits")
    assert not packed.holds("other:Digits")


def test_packages_hold_entrypoints_too(tmp_path: Path) -> None:
    write(tmp_path, **{"models__mlp.py": "", "models__cnn____init__.py": ""})
    (tmp_path / "models" / "cnn" / "__init__.py").parent.mkdir(exist_ok=True)
    (tmp_path / "models" / "cnn" / "__init__.py").write_text("")
    packed = bundle.pack(tmp_path)
    assert packed.holds("models.mlp:Net")
    assert packed.holds("models.cnn:Net")


def test_the_ignore_file_adds_to_the_defaults_and_can_undo_them(tmp_path: Path) -> None:
    write(tmp_path, digits="", data__big="", keep__data="", env="", venv__lib="", debug="")
    (tmp_path / ".env").write_text("SECRET=1")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref")
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "x.pyc").write_text("")
    assert names(bundle.pack(tmp_path)) == ["data/big", "debug", "digits", "env", "keep/data"]

    (tmp_path / bundle.IGNORE_FILE).write_text("/data/\n# a comment\ndebug\n!venv/\n")
    assert names(bundle.pack(tmp_path)) == [bundle.IGNORE_FILE, "digits", "env", "keep/data", "venv/lib"]


def test_a_link_inside_the_folder_travels_as_its_file(tmp_path: Path) -> None:
    write(tmp_path, digits="text")
    (tmp_path / "alias").symlink_to("digits")
    packed = bundle.pack(tmp_path)
    bundle.unpack(packed.data, tmp_path / "out")
    assert not (tmp_path / "out" / "alias").is_symlink()
    assert (tmp_path / "out" / "alias").read_text() == "text"


def test_links_that_leave_the_folder_and_special_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("password")
    inside = write(tmp_path / "in", digits="", sub__x="")
    (inside / "leak").symlink_to(tmp_path / "secret")
    (inside / "away").symlink_to(tmp_path)
    (inside / "nowhere").symlink_to("gone")
    (inside / "twin").symlink_to("sub")
    os.mkfifo(inside / "pipe")

    with pytest.raises(InvalidBundle) as caught:
        bundle.pack(inside)

    said = {problem.pointer: problem.message for problem in caught.value.problems}
    assert set(said) == {"/leak", "/away", "/nowhere", "/twin", "/pipe"}
    assert "leaves the folder" in said["/leak"]
    assert "leaves the folder" in said["/away"]
    assert "not a regular file" in said["/pipe"]


def test_a_bundle_that_is_too_large_names_its_largest_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "weights.bin").write_bytes(os.urandom(3000))
    (tmp_path / "digits.py").write_text("x")
    monkeypatch.setattr(limits, "MAX_BYTES", 2000)
    with pytest.raises(InvalidBundle, match=r"\.gradstreamignore") as caught:
        bundle.pack(tmp_path)
    assert caught.value.problems[0].pointer == "/weights.bin"

    monkeypatch.setattr(limits, "MAX_UNPACKED", 2000)
    with pytest.raises(InvalidBundle, match="of files") as caught:
        bundle.pack(tmp_path)
    assert caught.value.problems[0].pointer == "/weights.bin"


def test_too_many_files_and_none_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidBundle, match="no files"):
        bundle.pack(tmp_path)
    with pytest.raises(InvalidBundle, match="not there"):
        bundle.pack(tmp_path / "gone")
    write(tmp_path, a="", b="", c="")
    monkeypatch.setattr(limits, "MAX_FILES", 2)
    with pytest.raises(InvalidBundle, match="more than 2 files"):
        bundle.pack(tmp_path)
