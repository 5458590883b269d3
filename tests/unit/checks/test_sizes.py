"""The caps of files, functions and folders."""

from __future__ import annotations

from checks import sizes

_FILE, _FUNCTION, _FOLDER = sizes.LINES_OF_A_FILE, sizes.LINES_OF_A_FUNCTION, sizes.FILES_IN_A_FOLDER


def _function(lines: int) -> str:
    return "def run():\n" + "    go()\n" * (lines - 1)


def test_a_file_a_function_or_a_folder_above_its_cap_is_named() -> None:
    modules = {"a/long.py": "x = 1\n" * (_FILE + 1), "b/far.py": _function(_FUNCTION + 1)}
    modules |= {f"c/file{number}.py": "" for number in range(_FOLDER + 1)}
    assert [problem.split(": ")[:2] for problem in sizes.problems(modules)] == [
        ["c", "folder"],
        ["a/long.py:1", "file"],
        ["b/far.py:1", "function"],
    ]


def test_sizes_up_to_the_caps_pass() -> None:
    modules = {"a/long.py": "x = 1\n" * _FILE, "b/far.py": _function(_FUNCTION), "c/__init__.py": ""}
    modules |= {f"c/file{number}.py": "" for number in range(_FOLDER)}
    modules |= {f"gradstream/strategies/file{number}.py": "" for number in range(_FOLDER + 1)}
    assert list(sizes.problems(modules)) == []
