"""YAML with lines: the data of a job file, and where each value stands in the text.

The dialect is the core schema of YAML 1.2, so that a job means the same here and in JSON: `no` is text, `1e-3` is a
number, dates are text, keys are text, a key may not be there twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.reader import Reader

from gradstream.bounds import MAX_DEPTH
from gradstream.errors import InvalidJob, Mistake, pointer_to
from gradstream.jobfile.syntax import explain_syntax

MAX_TEXT = 256 * 1024
MAX_VALUES = 5_000
"""Aliases counted as often as they are used: what would expand to more is refused, not expanded."""

_MAX_DEPTH = 2 * MAX_DEPTH
"""More than any job has: the place of what is too deep is named by the job's own check."""

_LONGEST_NUMBER = 400
"""Characters of a whole number: more than any double has."""

_CORE = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (r"[-+]?[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+", list("-+0123456789")),
    "float": (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
}


class _Loader(Composer, yaml.CSafeLoader):
    """libyaml reads the text, as Python code would hold the interpreter for half a second; what is made of it is ours."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  # not SafeLoader's YAML 1.1

    def __init__(self, text: str) -> None:
        yaml.CSafeLoader.__init__(self, text)
        Composer.__init__(self)
        self._nodes = self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Counts while it reads, as reading is what takes time."""
        self._nodes += 1
        if self._nodes > 2 * MAX_VALUES:  # keys are nodes, too
            raise _too_many()
        if self._depth > _MAX_DEPTH:
            raise _too_deep()
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def _integer(_loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> int:
    digits = node.value
    if len(digits) > _LONGEST_NUMBER:
        raise ValueError("too many digits")
    return int(digits, 0) if digits.startswith(("0x", "0o")) else int(digits)


for _tag, (_pattern, _first) in _CORE.items():
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), _first)
_Loader.add_constructor("tag:yaml.org,2002:int", _integer)
_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in (*_CORE, "str", "seq", "map")}


@dataclass
class Document:
    data: Any
    lines: dict[str, int] = field(default_factory=dict)
    """The line, from 1, of each value by its pointer."""
    overridden: dict[str, str] = field(default_factory=dict)
    """Pointers that were set from outside, with the words that set them."""

    def override(self, words: str) -> None:
        """Set one value, as in `strategy.lr=0.1`; the part after `=` is YAML. Raises: InvalidJob."""
        path, equals, value = words.partition("=")
        keys = path.strip().split(".")
        if not equals or not all(keys):
            raise InvalidJob(f"'{words}' is not an override; write KEY=VALUE, e.g. strategy.lr=0.1")
        if not isinstance(self.data, dict):
            raise InvalidJob("the job file is not a mapping, so nothing can be set in it")
        here = self.data
        for key in keys[:-1]:
            inner = here.setdefault(key, {})
            if not isinstance(inner, dict):
                raise InvalidJob(f"'{words}' cannot be set: '{key}' has no keys in the job file, it is {inner!r}")
            here = inner
        here[keys[-1]] = parse(value).data
        self.overridden[pointer_to(keys)] = words

    def place(self, pointer: str) -> str | None:
        """Where the user wrote the value at `pointer`, or what it is missing from; None for the whole document."""
        while pointer:
            if pointer in self.overridden:
                return f"set by '{self.overridden[pointer]}'"
            if pointer in self.lines:
                return f"line {self.lines[pointer]}"
            pointer = pointer.rpartition("/")[0]
        return None


def parse(text: str) -> Document:
    """Raises: InvalidJob, naming line and column."""
    if len(text) > MAX_TEXT:
        raise InvalidJob(f"the job file has {len(text):,} characters, {MAX_TEXT:,} are allowed")
    refused = Reader.NON_PRINTABLE.search(text)
    if refused:
        raise _not_yaml(f"the character U+{ord(refused.group()):04X} is not allowed; remove it", _mark(text, refused.start()))
    document = Document(None)
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        document.data = None if node is None else _read(loader, node, "", document.lines)
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(*explain_syntax(error, text)) from error
    except (yaml.YAMLError, ValueError) as error:
        raise InvalidJob(f"the job file cannot be read: {error}") from error
    except RecursionError as error:  # an alias stands inside of what it stands for
        raise _too_deep() from error
    return document


def _read(loader: _Loader, node: yaml.Node, pointer: str, lines: dict[str, int]) -> Any:
    lines.setdefault(pointer, node.start_mark.line + 1)
    if len(lines) > MAX_VALUES:
        raise _too_many()
    if node.tag not in _TAGS:
        raise _not_yaml(f"the tag {node.tag} is not understood; remove it", node.start_mark)
    if isinstance(node, yaml.SequenceNode):
        return [_read(loader, inner, f"{pointer}/{at}", lines) for at, inner in enumerate(node.value)]
    if not isinstance(node, yaml.MappingNode):
        return _read_scalar(loader, node)
    values: dict[str, Any] = {}
    for key, inner in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _not_yaml("a key must be text", key.start_mark)
        if key.value in values:
            raise _not_yaml(f"the key '{key.value}' is there twice; remove one", key.start_mark)
        below = pointer + pointer_to([key.value])
        lines[below] = key.start_mark.line + 1
        values[key.value] = _read(loader, inner, below, lines)
    return values


def _read_scalar(loader: _Loader, node: yaml.Node) -> Any:
    try:
        return loader.construct_object(node)
    except (KeyError, ValueError) as error:  # a tag says what the text is not: `!!bool maybe`
        kind = node.tag.rpartition(":")[2]
        raise _not_yaml(f"{node.value[:40]!r} is no {kind}; remove the tag, or write another value", node.start_mark) from error


def _too_deep() -> InvalidJob:
    return InvalidJob("the job file is nested too deeply")


def _too_many() -> InvalidJob:
    return InvalidJob(f"the job file has more than {MAX_VALUES:,} values")


def _mark(text: str, position: int) -> yaml.Mark:
    before = text[:position]
    return yaml.Mark("", position, before.count("\n"), position - before.rfind("\n") - 1, None, 0)


def _not_yaml(said: str, mark: yaml.Mark | None) -> InvalidJob:
    place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
    return InvalidJob("the job file cannot be read", [Mistake("", said + place)])
