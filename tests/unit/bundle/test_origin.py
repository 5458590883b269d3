"""The commit of a folder of code, read from the files of its repository; git only says whether the code differs from it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

import gradstream
from gradstream.bundle.commit import uncommitted
from gradstream.bundle.commit.origin import CodeOrigin, collect_origin
from gradstream.bundle.commit.uncommitted import UncommittedFile, collect_uncommitted

COMMIT, OTHER = "1a2b3c4d" * 5, "0" * 40
Git = Callable[..., str]


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def without_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.fixture
def git(tmp_path: Path) -> Git:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    work = tmp_path / "work"
    work.mkdir()

    def run(*words: str, at: Path = work) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        return subprocess.run(("git", *who, *words), cwd=at, check=True, capture_output=True, text=True).stdout.strip()

    run("init", "-q", "-b", "main")
    write(work, {"job/circle.py": "x = 1\n", "README": "other\n", ".gitignore": "private/\n"})
    run("add", ".")
    run("commit", "-q", "-m", "first")
    return run


@pytest.mark.parametrize(
    ("files", "commit", "branch"),
    [
        ({"HEAD": "ref: refs/heads/main\n", "refs/heads/main": f"{COMMIT}\n"}, COMMIT, "main"),
        (
            {
                "HEAD": "ref: refs/heads/a/b\n",
                "packed-refs": f"# pack-refs\n{OTHER} refs/heads/a\n{COMMIT} refs/heads/a/b\n^{OTHER}\n",
            },
            COMMIT,
            "a/b",
        ),
        ({"HEAD": f"{COMMIT}\n"}, COMMIT, None),
        ({"HEAD": "c" * 64}, "c" * 64, None),
        ({"HEAD": "ref: refs/heads/main\n"}, None, "main"),
        ({"HEAD": "ref: refs/heads/.invalid\n"}, None, None),
        ({"HEAD": "ref: ../../secret\n", "../../secret": COMMIT}, None, None),
        ({"HEAD": "ref: HEAD\n"}, None, "HEAD"),
        ({"HEAD": f"ref: refs/heads/{'n' * 200}/{'n' * 200}\n", f"refs/heads/{'n' * 200}/{'n' * 200}": COMMIT}, COMMIT, None),
        ({"HEAD": "\x00nonsense"}, None, None),
    ],
    ids=[
        "a branch",
        "a packed branch",
        "detached",
        "sha256",
        "no commit yet",
        "reftable",
        "outside",
        "a circle",
        "long",
        "damaged",
    ],
)
@pytest.mark.usefixtures("without_git")
def test_the_commit_is_read_without_git(files: dict[str, str], commit: str | None, branch: str | None, tmp_path: Path) -> None:
    write(tmp_path / "work" / ".git", files)
    code = write(tmp_path / "work" / "job", {"circle.py": "x = 1\n"})
    expected = CodeOrigin(commit=commit, branch=branch, dirty=None, client=gradstream.__version__)
    assert collect_origin(code, ["circle.py"]) == expected
    assert collect_origin(code / "circle.py", ["circle.py"]) == expected


@pytest.mark.usefixtures("without_git")
def test_a_worktree_has_its_own_head_and_the_branches_of_all(tmp_path: Path) -> None:
    own = write(tmp_path / "main/.git/worktrees/w", {"HEAD": "ref: refs/heads/side\n", "commondir": "../..\n"})
    write(tmp_path / "main/.git", {"HEAD": f"{OTHER}\n", "packed-refs": f"{COMMIT} refs/heads/side\n"})
    code = write(tmp_path / "w", {".git": f"gitdir: {own}\n"})
    assert collect_origin(code, []) == CodeOrigin(commit=COMMIT, branch="side", client=gradstream.__version__)


def test_a_folder_in_no_repository_and_no_folder_have_the_client_only(tmp_path: Path) -> None:
    for code in (tmp_path, None):
        assert collect_origin(code) == CodeOrigin(client=gradstream.__version__)


def test_code_is_dirty_when_a_file_that_travels_differs(git: Git, tmp_path: Path) -> None:
    code, commit = tmp_path / "work" / "job", git("rev-parse", "HEAD")

    def dirty() -> bool | None:
        found = collect_origin(code)
        assert (found.commit, found.branch) == (commit, "main")
        return found.dirty

    assert dirty() is False
    write(code, {"../README": "changed beside it\n", "../private/x": "ignored\n"})
    write(code, {".gradstreamignore": "out/\n", "out/model": "stays here\n"})
    git("add", ".gradstreamignore", at=code)
    assert dirty() is True, "a file that is not committed"
    git("commit", "-q", "-m", "second")
    commit = git("rev-parse", "HEAD")
    assert dirty() is False, "what is not sent counts for nothing"
    write(code, {"more/layers.py": "new\n"})
    assert dirty() is True, "a new file"
    shutil.rmtree(code / "more")
    git("mv", "circle.py", "renamed.py", at=code)
    assert dirty() is True, "another name"
    git("mv", "renamed.py", "circle.py", at=code)
    assert dirty() is False
    write(code, {"circle.py": "x = 2\n"})
    assert dirty() is True, "another content"
    (code / "circle.py").unlink()
    assert dirty() is True, "a file that is gone"


def test_code_in_a_folder_that_the_repository_ignores_is_not_in_its_commit(git: Git, tmp_path: Path) -> None:
    code = write(tmp_path / "work" / "private" / "job", {"circle.py": "x = 1\n"})
    found = collect_origin(code, ["circle.py"])
    assert (found.commit, found.dirty) == (git("rev-parse", "HEAD"), True)


def test_files_that_differ_are_named_with_their_lines(git: Git, tmp_path: Path) -> None:
    code = write(tmp_path / "work" / "job", {"a.py": "one\ntwo\n", "gone.py": "secret\n", "data.bin": "\0one", "stays.py": "x\n"})
    git("add", ".", at=code)
    git("commit", "-q", "-m", "second")
    write(code, {"a.py": "one\nthree\n", "data.bin": "\0two", "more/é new.py": "new\n", "../README": "changed beside it\n"})
    (code / "gone.py").unlink()
    write(code, {"circle.py": "x = 2\n"})
    sent = ["a.py", "data.bin", "more/é new.py", "stays.py"]  # circle.py does not travel
    assert collect_uncommitted(code, sent) == [
        UncommittedFile("a.py", "changed", ["@@ -1,2 +1,2 @@", " one", "-two", "+three"]),
        UncommittedFile("data.bin", "changed", None),
        UncommittedFile("gone.py", "removed", None),
        UncommittedFile("more/é new.py", "added", None),
    ]
    assert collect_uncommitted(code / "a.py", ["a.py"])[0].path == "a.py", "a file that is sent alone"
    git("add", ".", at=code)
    git("commit", "-q", "-m", "third")
    assert collect_uncommitted(code, sent) == []
    assert collect_uncommitted(tmp_path, sent) == [], "it is in no repository"


def test_long_differences_are_left_out(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = write(tmp_path / "work" / "job", {"a.py": "a\n" * 10, "b.py": "b\n", "long.py": "x\n" * 20})
    git("add", ".", at=code)
    git("commit", "-q", "-m", "second")
    write(code, {"a.py": "A" * 100, "b.py": "B\n", "long.py": "y\n" * 20})
    monkeypatch.setattr(uncommitted, "MOST_TEXT", 50)
    monkeypatch.setattr(uncommitted, "_MOST_LINES", 15)
    found = {each.path: each.lines for each in collect_uncommitted(code, ["a.py", "b.py", "long.py"])}
    assert found == {"a.py": None, "b.py": ["@@ -1 +1 @@", "-b", "+B"], "long.py": None}


def test_what_must_not_leave_the_machine_and_what_cannot_is_left_out(git: Git, tmp_path: Path) -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n"
    code = write(
        tmp_path / "work" / "job", {"a.py": f"{key}x = 1\n", "link.py": "x\n", "line\nbreak.py": "x\n", "folder.py": "x\n"}
    )
    (code / os.fsdecode(b"\xff.py")).write_text("no text in UTF-8\n")
    git("add", ".", at=code)
    git("commit", "-q", "-m", "second")
    write(code, {"a.py": "x = 1\n"})
    for gone in ("link.py", "line\nbreak.py", "folder.py", os.fsdecode(b"\xff.py")):
        (code / gone).unlink()
    (code / "link.py").symlink_to("a.py")
    (code / "folder.py").mkdir()
    found = {each.path: (each.change, each.lines) for each in collect_uncommitted(code, ["a.py", "link.py", "folder.py"])}
    assert found == {"a.py": ("changed", None), "folder.py": ("changed", None), "link.py": ("changed", None)}


@pytest.mark.usefixtures("without_git")
def test_without_git_no_difference_is_known(tmp_path: Path) -> None:
    write(tmp_path / "work" / ".git", {"HEAD": f"{COMMIT}\n"})
    assert collect_uncommitted(write(tmp_path / "work" / "job", {"circle.py": "x = 1\n"}), ["circle.py"]) == []


def test_a_worktree_made_by_git(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    git("pack-refs", "--all")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))  # as in a hook
    found = collect_origin(tmp_path / "side" / "job")
    assert (found.branch, found.dirty) == ("side", False)
    monkeypatch.delenv("GIT_DIR")
    assert found.commit == git("rev-parse", "HEAD")


@pytest.mark.parametrize(
    "wrong",
    [
        {"commit": "1a2b3c4"},
        {"commit": f"{COMMIT}\n"},
        {"commit": "A" * 40},
        {"branch": ""},
        {"branch": "n" * 251},
        {"branch": "a\nb"},
        {"branch": "a\x00"},
        {"client": "0" * 65},
        {"client": "0.1\n"},
        {"dirty": "perhaps"},
    ],
)
def test_what_is_no_origin_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        CodeOrigin.model_validate(wrong)
