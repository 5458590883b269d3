"""Bundles come from anyone: nothing in one may touch anything outside its folder, or fill memory or disk."""

from __future__ import annotations

import gzip
import io
import subprocess
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradstream import bundle
from gradstream.bundle import limits
from gradstream.errors import InvalidBundle


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 0) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = kind, link, size
    return made


def archive(*entries: tarfile.TarInfo) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for one in entries:
            tar.addfile(one, io.BytesIO(b"x" * one.size))
    return raw.getvalue()


def refused(data: bytes, into: Path) -> InvalidBundle:
    """The error of both `inspect` and `unpack`, which must agree, and must have written nothing."""
    with pytest.raises(InvalidBundle) as by_inspect:
        bundle.inspect(data)
    with pytest.raises(InvalidBundle) as by_unpack:
        bundle.unpack(data, into)
    assert str(by_inspect.value) == str(by_unpack.value)
    assert not into.exists()
    return by_inspect.value


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (entry("/etc/passwd"), "absolute"),
        (entry("../up"), "'..'"),
        (entry("a/../../up"), "'..'"),
        (entry("a/../b"), "'..'"),
        (entry("link", tarfile.SYMTYPE, "/etc/passwd"), "link"),
        (entry("link", tarfile.SYMTYPE, "ok"), "link"),
        (entry("link", tarfile.LNKTYPE, "ok"), "link"),
        (entry("null", tarfile.CHRTYPE), "neither"),
        (entry("disk", tarfile.BLKTYPE), "neither"),
        (entry("pipe", tarfile.FIFOTYPE), "neither"),
        (entry("."), "neither"),
        (entry("c:\\windows"), "backslash"),
        (entry("two\nlines"), "control"),
        (entry("n" * 300), "too long"),
        (entry("ok"), "twice"),
        (entry("ok/below"), "twice"),
        (entry("folder"), "as a folder"),
    ],
)
def test_entries_that_must_not_be_unpacked(bad: tarfile.TarInfo, why: str, tmp_path: Path) -> None:
    error = refused(archive(entry("ok", size=3), entry("folder/x"), bad), tmp_path / "out")
    assert [why in problem.message for problem in error.problems] == [True]


def test_a_refused_name_that_is_not_text_can_still_be_reported(tmp_path: Path) -> None:
    error = refused(archive(entry("ok"), entry("/\udcff")), tmp_path / "out")
    assert error.problems[0].pointer.encode()


LONG = ["a", f"{'deep/' * 30}name.py", f"{'n' * 150}", "é/ü.py", "sub/run"]


@pytest.mark.parametrize("layout", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_layout_of_tar_is_read(layout: int, tmp_path: Path) -> None:
    names = [name for name in LONG if layout != tarfile.USTAR_FORMAT or len(name.rpartition("/")[2]) <= 100]
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz", format=layout, pax_headers={"comment": "as git writes it"}) as tar:
        for size, name in enumerate(names, 510):
            one = entry(name, size=size)
            one.mtime, one.mode = 1.5 if layout == tarfile.PAX_FORMAT else 1, 0o755 if name == "sub/run" else 0o600
            tar.addfile(one, io.BytesIO(bytes([size % 256]) * size))
    bundle.unpack(raw.getvalue(), tmp_path / "out")
    assert [file.path for file in bundle.inspect(raw.getvalue()).files] == names
    for size, name in enumerate(names, 510):
        assert (tmp_path / "out" / name).read_bytes() == bytes([size % 256]) * size
        assert bool((tmp_path / "out" / name).stat().st_mode & 0o100) == (name == "sub/run")


def test_what_the_programs_tar_and_git_write_is_read(tmp_path: Path) -> None:
    code = tmp_path / "code"
    for name in LONG:
        (code / name).parent.mkdir(parents=True, exist_ok=True)
        (code / name).write_text(name)
    packed = [
        subprocess.run(["tar", "-czf", "-", f"--format={layout}", "-C", code, "."], capture_output=True, check=True).stdout
        for layout in ("gnu", "oldgnu", "pax", "posix")
    ]
    git = ["git", "-C", str(code), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *command], check=True)
    packed.append(subprocess.run([*git, "archive", "--format=tar.gz", "HEAD"], capture_output=True, check=True).stdout)
    for data in packed:
        assert sorted(file.path for file in bundle.inspect(data).files) == sorted(LONG)


def test_what_tar_itself_makes_is_accepted(tmp_path: Path) -> None:
    data = archive(entry("./", tarfile.DIRTYPE), entry("./digits.py", size=3), entry("./sub/", tarfile.DIRTYPE), entry("./sub/a"))
    assert [file.path for file in bundle.inspect(data).files] == ["digits.py", "sub/a"]
    bundle.unpack(data, tmp_path / "out")
    assert (tmp_path / "out" / "digits.py").read_bytes() == b"xxx"


def test_a_folder_in_use_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("here")
    with pytest.raises(InvalidBundle, match="not empty"):
        bundle.unpack(archive(entry("ok")), tmp_path)


def test_a_decompression_bomb_stops_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_UNPACKED", 4 * bundle.MIB)
    bomb = archive(entry("zeros", size=16 * bundle.MIB))
    assert len(bomb) < 100_000
    assert "claims 16,777,216 bytes; all files may have 4 MiB" in str(refused(bomb, tmp_path / "out"))


def test_zeros_behind_the_archive_are_a_bomb_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_UNPACKED", 4 * bundle.MIB)
    data = gzip.compress(gzip.decompress(archive(entry("ok"))) + bytes(16 * bundle.MIB))
    assert "more than 4 MiB" in str(refused(data, tmp_path / "out"))


def test_limits_on_bytes_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_FILES", 2)
    assert "more than 2 files" in str(refused(archive(entry("a"), entry("b"), entry("c")), tmp_path / "out"))
    monkeypatch.setattr(limits, "MAX_FOLDERS", 2)
    assert "more than 2 folders" in str(refused(archive(entry("a/b/c/d")), tmp_path / "out"))
    monkeypatch.setattr(limits, "MAX_DEPTH", 1)
    assert "more than 1 folders" in refused(archive(entry("a/b/c")), tmp_path / "out").problems[0].message
    monkeypatch.setattr(limits, "MAX_BYTES", 10)
    assert "are allowed" in str(refused(archive(entry("a")), tmp_path / "out"))


@pytest.mark.parametrize(
    "data",
    [b"", b"PK\x03\x04zip", gzip.compress(b""), gzip.compress(b"text" * 400), archive()],
    ids=["nothing", "zip", "empty", "text", "no files"],
)
def test_what_is_no_bundle_at_all(data: bytes, tmp_path: Path) -> None:
    refused(data, tmp_path / "out")


def test_a_bundle_cut_short_or_damaged_is_noticed(tmp_path: Path) -> None:
    whole = archive(entry("a", size=4000), entry("b", size=4000))
    for length in range(0, len(whole), 7):
        refused(whole[:length], tmp_path / "out")
    refused(whole[:-8] + b"\0\0\0\0" + whole[-4:], tmp_path / "out")


name = st.text(st.sampled_from("ab./\\\0\n é"), max_size=12)
kind = st.sampled_from([tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])


@given(st.lists(st.builds(entry, name, kind, name, st.integers(0, 50)), max_size=6))
def test_whatever_the_names_nothing_is_written_outside(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tarfile.TarInfo]
) -> None:
    home = tmp_path_factory.mktemp("home")
    into = home / "deep" / "into"
    data = archive(*entries)
    try:
        listed = bundle.inspect(data).files
    except InvalidBundle:
        with pytest.raises(InvalidBundle):
            bundle.unpack(data, into)
        assert list(home.iterdir()) == []
    else:
        bundle.unpack(data, into)
        written = {path.relative_to(into).as_posix() for path in home.rglob("*") if path.is_file()}
        assert written == {file.path for file in listed}
        assert not any(path.is_symlink() for path in home.rglob("*"))


@given(st.binary(max_size=600), st.integers(0, 400))
def test_garbage_is_refused_and_never_crashes(garbage: bytes, at: int) -> None:
    whole = gzip.decompress(archive(entry("a", size=40), entry("b/c")))
    for data in (garbage, gzip.compress(whole[:at] + garbage + whole[at + len(garbage) :])):
        try:
            bundle.inspect(data)
        except InvalidBundle:
            pass
