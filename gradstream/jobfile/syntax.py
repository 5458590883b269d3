"""Mistakes of YAML in the words of an author: libyaml says what its scanner expected, and names the place where it noticed."""

from __future__ import annotations

import yaml

_AT_OPENING = ("did not find expected ',' or", "could not find expected ':'", "found unexpected end of stream")
"""Problems that libyaml notices after their place; it knows where what is wrong begins."""
_TABS = "YAML does not allow tabs as indentation; use spaces"
_QUOTES = 'begin the value with a letter, a digit or a quote, as in name: "%x"'
_REMEDIES = {
    "found a tab character": _TABS,
    "mapping values are not allowed": "a second ': ' in one line, a line that is indented too far, or no space after the ':' of "
    "the line before. Put a text with ': ' in quotes, as in name: \"a: b\", and begin the keys of one mapping in one column",
    "could not find expected ':'": "there is no ': ' between key and value; write it with a space, as in name: digits",
    "did not find expected ',' or": "the bracket that opens here is not closed, or a ',' between two values is missing, as in "
    "{count: 2, threads: 1}",
    "found unexpected end of stream": "the quote that opens here is not closed; close it in the same line",
    "found unknown escape character": "a backslash in double quotes begins a special character; use single quotes, as in '\\d'",
    "did not find expected key": "a key was expected here. Begin the keys of one mapping in one column, and put a whole value in "
    'quotes, as in name: "a b"',
    "but found another document": "a second document begins here, behind ---. Write one job in each file",
    "found undefined alias": f"a value that begins with * refers to another one. To mean the text, {_QUOTES}",
    "did not find expected alphabetic": f"a value that begins with * or & refers to another one. To mean the text, {_QUOTES}",
    "found character that cannot start": f"no value may begin with this character; {_QUOTES}",
}
"""Remedies by the beginning of what libyaml says."""


def explain_syntax(error: yaml.MarkedYAMLError, text: str) -> tuple[str, yaml.Mark | None]:
    """Return a sentence with a remedy, and the place that it is about."""
    problem = error.problem or error.context or "it cannot be read"
    late = error.context_mark is not None and problem.startswith(_AT_OPENING)
    mark = error.context_mark if late else error.problem_mark or error.context_mark
    if mark and text[_start(text, mark.line) + mark.column :].startswith("\t"):
        return _TABS, mark
    if mark and "\u00a0" in "".join(text.splitlines()[mark.line : mark.line + 1]):
        return "this line holds a no-break space (U+00A0), which only looks like a space; write a space instead", mark
    return next((said for begins, said in _REMEDIES.items() if problem.startswith(begins)), problem), mark


def _start(text: str, line: int) -> int:
    """Where a line, counted from 0, begins."""
    return sum(map(len, text.splitlines(keepends=True)[:line]))
