"""The rules of `prose.json`, which the page's ESLint reads, too. A rule's pattern is searched in each sentence of a text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from checks.texts import Text


@dataclass(frozen=True, slots=True)
class ProseRule:
    name: str
    pattern: str
    kinds: list[str]
    instead: str
    bad: list[str]
    """Examples that the rule finds; tests read them."""
    good: list[str]

    def finds(self, sentence: str, kind: str) -> bool:
        return kind in self.kinds and re.search(self.pattern, sentence) is not None


RULES = [ProseRule(**rule) for rule in json.loads(Path(__file__).with_name("prose.json").read_text())]
_END = re.compile(r"(?:(?<=[.!?])|(?<=[.!?]\*)|(?<=[.!?]\*\*))\s+(?=[A-Z`\"({*\[])|\n\s*\n|\n(?= *[-*] )")


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield each sentence on one line, with the number of lines before it."""
    begin = 0
    for end in [*(match.span() for match in _END.finditer(text)), (len(text), len(text))]:
        yield text.count("\n", 0, begin), " ".join(text[begin : end[0]].split())
        begin = end[1]


def problems(texts: Iterable[Text]) -> Iterator[str]:
    for text in texts:
        for below, sentence in sentences(text.text):
            for rule in RULES:
                if rule.finds(sentence, text.kind):
                    yield f"{text.file}:{text.line + below}: {rule.name}: {rule.instead}: {sentence}"
