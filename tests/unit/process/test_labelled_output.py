"""Lines of several processes in one log."""

from __future__ import annotations

import io
import logging
import sys

import pytest

from gradstream.process.labelled_output import LabelledOutput, label_output


@pytest.mark.parametrize(
    ("written", "log"),
    [
        (["one\n", "two\n"], "[peer 1] one\n[peer 1] two\n"),
        (["a", "b", "\n", "\n", "c"], "[peer 1] ab\n[peer 1] \n[peer 1] c"),
        (["two\nlines", " of text\nand more\n", ""], "[peer 1] two\n[peer 1] lines of text\n[peer 1] and more\n"),
    ],
)
def test_each_line_begins_with_the_label(written: list[str], log: str) -> None:
    stream = io.StringIO()
    labelled = LabelledOutput(stream, "[peer 1] ")
    assert [labelled.write(text) for text in written] == [len(text) for text in written]
    assert stream.getvalue() == log
    assert labelled.writable(), "what it lacks, the stream has"


def test_printed_and_logged_lines_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    handler = logging.StreamHandler(err)
    logging.getLogger().addHandler(handler)
    try:
        label_output("[peer 2] ")
        sys.stdout.writelines(["print", "ed 1\n"])
        logging.getLogger("tests").warning("logged")
    finally:
        logging.getLogger().removeHandler(handler)
    assert (out.getvalue(), err.getvalue()) == ("[peer 2] printed 1\n", "[peer 2] logged\n")
