"""What others wrote, at a terminal: shown, not obeyed."""

from __future__ import annotations

import json
import sys

import pytest

from gradstream.cli.terminal.output import print_json, print_text, talk
from gradstream.cli.terminal.tables import print_table
from gradstream.cli.terminal.visible import make_visible, make_visible_but_colours

TITLE, CLEAR, BACK = "\x1b]0;owned\x07", "\x1b[2J", "\x08"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (TITLE, "^[]0;owned^G"),
        (CLEAR, "^[[2J"),
        (BACK, "^H"),
        ("\x9b2J", "\\x9b2J"),
        ("a\u202egpj", "a\\u202egpj"),
        ("\x7f", "^?"),
        ("\x00", "^@"),
        ("tab\tand\nline, café 火", "tab\tand\nline, café 火"),
    ],
)
def test_control_characters_have_a_name(written: str, shown: str) -> None:
    assert make_visible(written) == shown


def test_colours_of_a_log_stay_and_end_with_their_line_and_conceal_nothing() -> None:
    assert make_visible_but_colours("\x1b[38;5;8merror\x1b[0m: it") == "\x1b[38;5;8m\x1b[28merror\x1b[0m\x1b[28m: it\x1b[m"
    assert make_visible_but_colours(f"\x1b[8ma{CLEAR}{TITLE}") == "\x1b[8m\x1b[28ma^[[2J^[]0;owned^G\x1b[m"
    assert make_visible_but_colours("plain") == "plain"
    assert make_visible_but_colours(CLEAR) == "^[[2J"


def test_tables_and_talk_show_them(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("FORCE_COLOR", "1"), ("NO_COLOR", "1"), ("COLUMNS", "100")):
        monkeypatch.setenv(name, value)
    print_table(("name", "reason"), [("job", f"fails{CLEAR}{TITLE}")])
    talk(f"the job said {CLEAR}")
    out, err = capsys.readouterr()
    assert "fails^[[2J^[]0;owned^G" in out
    assert "the job said ^[[2J" in err
    assert "\x1b" not in out


@pytest.mark.parametrize("written", ["no entry [weights] in it", "no files under [/data/train]", ":smile:"])
def test_brackets_in_a_table_are_text(written: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Rich would take them for markup: it drops them, or raises."""
    for name, value in (("FORCE_COLOR", "1"), ("NO_COLOR", "1"), ("COLUMNS", "100")):
        monkeypatch.setenv(name, value)
    print_table((written, "reason"), [("job", written)])
    head, line = capsys.readouterr().out.splitlines()
    assert written in head
    assert written in line


def test_json_has_the_same_value_without_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"message": f"a{CLEAR}\x9b2J\x7f\u202egpj, café"}
    print_json(value)
    out = capsys.readouterr().out
    assert json.loads(out) == value
    assert not set(out) & set("\x1b\x9b\x7f\u202e")
    assert "café" in out


def test_a_file_gets_every_byte_of_a_text_and_a_terminal_no_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    print_text(f"name: {CLEAR}")
    assert capsys.readouterr().out == f"name: {CLEAR}\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_text(f"name: {CLEAR}\n")
    assert capsys.readouterr().out == "name: ^[[2J\n"
