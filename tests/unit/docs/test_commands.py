"""Every `gradstream ...` that the documents write down is a command that exists, with these options and arguments."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from gradstream.cli.main import COMMANDS, app
from tests.unit.docs.test_references import DOCUMENTS, ROOT

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SHELL = ("", "sh", "bash", "console")
_TYPED = re.compile(r"^ *(?:\$ )?(?:\w+=\$\()?gradstream (.*)$", re.MULTILINE)
"""A line of a shell; of `$ gradstream` and `job=$(gradstream ...)` what follows."""
_INLINE = re.compile(r"`gradstream ([^`]+)`")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_ABOUT_GRADSTREAM = [each for each in DOCUMENTS if each.parent.name == "guides" and each.name != "benchmarks.md"] + [
    ROOT / "README.md"
]
"""Documents in which an option without a command is one of `gradstream`."""


UsageError: Any = typer.BadParameter.__base__
"""Of the click that Typer brings."""
ROOT_COMMAND: Any = typer.main.get_command(app)
GUIDE = ROOT / "docs/guides/cli.md"


def typed(document: Path) -> list[str]:
    """Commands in blocks of code, without comments."""
    text = document.read_text()
    fenced = [body for language, body in _FENCED.findall(text) if language in _SHELL]
    indented = [line for line in _FENCED.sub("", text).splitlines() if line.startswith("    ")]
    return _TYPED.findall("\n".join([*fenced, *indented]))


def inline(document: Path) -> list[str]:
    return [" ".join(words.split()) for words in _INLINE.findall(_FENCED.sub("", document.read_text()))]


def words_of(line: str) -> list[str]:
    """Up to a comment, a redirection, a pipe or the end of a substitution."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.commenters = "#"
    lexer.wordchars += "{}:=,<@$"
    words: list[str] = []
    for word in lexer:
        if word in {">", "|", ")", ";", "&&"}:
            break
        words.append(word)
    return words


def parse(words: list[str]) -> tuple[Any, dict[str, Any]]:
    """The command that these words call and the values they give. Raises: UsageError, AssertionError."""
    command: Any = ROOT_COMMAND
    context = typer.Context(command, info_name="gradstream")
    while isinstance(command, TyperGroup) and words and not words[0].startswith("-"):
        name, command, words = command.resolve_command(context, words)
        context = typer.Context(command, context, info_name=name)
    given, left, _ = command.make_parser(context).parse_args(args=list(words))
    assert not left, f"{left} is too much"
    return command, given


@pytest.mark.parametrize("document", [each for each in DOCUMENTS if typed(each)], ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_that_one_can_type_exist(document: Path) -> None:
    for line in typed(document):
        command, given = parse(words_of(line))
        missing = [each.name for each in command.params if each.required and not given.get(str(each.name))]
        assert not missing, f"gradstream {line}: {missing} is missing"


@pytest.mark.parametrize("document", [each for each in DOCUMENTS if inline(each)], ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_and_options_in_sentences_exist(document: Path) -> None:
    for line in inline(document):
        words = words_of(line)
        if words[0] == "COMMAND":
            continue
        try:
            parse(words)
        except UsageError as error:
            if "requires an argument" not in error.message:  # a sentence may leave the value out
                raise


@pytest.mark.parametrize("document", _ABOUT_GRADSTREAM, ids=lambda path: str(path.relative_to(ROOT)))
def test_options_without_a_command_are_those_of_one(document: Path) -> None:
    assert set(_OPTION.findall(_FENCED.sub("", document.read_text()))) <= every_option()


@cache
def every_option() -> frozenset[str]:
    def walk(command: Any, context: typer.Context) -> set[str]:
        found = {"--help", *(word for each in command.params for word in [*each.opts, *each.secondary_opts])}
        if isinstance(command, TyperGroup):
            for name in command.list_commands(context):
                _, inner, _ = command.resolve_command(context, [name])
                found |= walk(inner, typer.Context(inner, context))
        return found

    return frozenset(walk(ROOT_COMMAND, typer.Context(ROOT_COMMAND)))


@pytest.mark.parametrize(
    "line", ["sbumit job.yaml", "submit job.yaml --plam", "stop", "token crate ci", "queue now", "wait JOB --timeout"]
)
def test_what_does_not_exist_is_found(line: str, tmp_path: Path) -> None:
    document = tmp_path / "guide.md"
    document.write_text(f"    gradstream {line}    # a comment\n")
    with pytest.raises((UsageError, AssertionError)):
        test_commands_that_one_can_type_exist(document)


def test_the_guide_names_every_command() -> None:
    told = {words_of(line)[0] for line in [*typed(GUIDE), *inline(GUIDE)]}
    assert set(COMMANDS) - {"demo", "reset"} <= told
