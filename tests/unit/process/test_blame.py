"""What is said of an error of user code: the user's lines first, and none of the platform's."""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from pathlib import Path
from textwrap import dedent

import pytest

from gradstream.errors import InvalidWorkload
from gradstream.model.usercode import blaming
from gradstream.process import exits
from gradstream.process.blame import shorten_warnings


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a process, with user code."""
    (tmp_path / "code").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "code"))
    return tmp_path


def ended(folder: Path, code: str, capfd: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """What the end says, and the log, of a process that imports this."""
    name = f"user_{abs(hash(code))}"
    (folder / "code" / f"{name}.py").write_text(dedent(code))
    with exits.explained(folder), blaming("import of it"):
        importlib.import_module(name)
    sys.modules.pop(name, None)
    said = json.loads((folder / "exit.json").read_text())["message"]
    return said.replace(name, "w"), capfd.readouterr().err.replace(name, "w")


def test_the_users_lines_and_what_a_library_did_below(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said, log = ended(folder, "import json\ndef half():\n    return json.loads('{')\nhalf()\n", capfd)
    assert said.startswith("the workload failed in import of it: JSONDecodeError: Expecting property name")
    assert said.endswith(" (w.py:3)")
    assert log.splitlines()[:2] == ["Traceback (most recent call last):", '  File "w.py", line 4, in <module>']
    assert "importlib" not in log
    assert "usercode" not in log
    assert str(folder) not in log
    assert "decoder.py" in log, "what the user's line has called"
    assert log.count("JSONDecodeError") == 1


def test_a_mistake_that_the_platform_explains_has_no_traceback(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with exits.explained(folder), blaming("loss()"):
        raise InvalidWorkload("loss() must return a scalar tensor")
    log = capfd.readouterr().err
    assert "Traceback" not in log
    assert "loss() must return a scalar tensor" in log


def test_a_syntax_error_names_the_file_as_the_user_knows_it(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said, log = ended(folder, "x = (\n", capfd)
    assert "SyntaxError" in said
    assert 'File "w.py", line 1' in log
    assert str(folder) not in said + log


def test_a_warning_names_the_file_as_the_user_knows_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    shorten_warnings(folder)
    said = warnings.formatwarning("odd", UserWarning, str(folder / "code" / "w.py"), 3, line="x = odd()")
    assert said == "w.py:3: UserWarning: odd\n  x = odd()\n"
