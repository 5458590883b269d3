"""The prose that users read is checked: each rule finds its bad examples, and passes good prose."""

from __future__ import annotations

import pytest

from checks.prose import RULES, ProseRule, problems, sentences
from checks.texts import of_document, of_module

each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)


@each_rule
def test_a_rule_finds_its_bad_examples_and_no_good_one(rule: ProseRule) -> None:
    assert rule.bad
    assert rule.good
    for kind in rule.kinds:
        assert [text for text in rule.bad if not rule.finds(text, kind)] == []
        assert [text for text in rule.good if rule.finds(text, kind)] == []


@each_rule
def test_good_examples_pass_all_rules(rule: ProseRule) -> None:
    assert [(other.name, text) for other in RULES for text in rule.good for kind in other.kinds if other.finds(text, kind)] == []


def test_texts_of_a_module_have_their_kind_and_line() -> None:
    source = '''"""Whoever asks."""
class Job(Schema):
    name: str = Field(description=f"What {1} it is")
    """Of a job."""
    def run(self):
        raise Conflict("Nobody can say where: "
                       "name a job.")  # see ADR 1
        log("What it is")  # prose: the name of a file
'''
    found = [(text.line, text.kind, text.text) for text in of_module("job.py", source)]
    assert found == [
        (1, "docstring", "Whoever asks."),
        (3, "description", "What {} it is"),
        (4, "docstring", "Of a job."),
        (6, "message", "Nobody can say where: name a job."),
    ]
    assert [problem.split(": ")[:2] for problem in problems(of_module("job.py", source))] == [
        ["job.py:1", "opening"],
        ["job.py:3", "opening"],
        ["job.py:4", "opening"],
        ["job.py:6", "nobody"],
    ]


def test_texts_of_a_document_leave_out_code_and_exceptions() -> None:
    source = """# What runs

A paragraph over
two lines. Whoever reads it.
- Of an item.

| what | who |
|---|---|
| a job | nobody |

```
Whoever
```
    Whoever
> What is quoted <!-- prose: a quotation -->
"""
    texts = [(text.line, text.text) for text in of_document("a.md", source)]
    assert (1, "What runs") in texts
    assert (3, "A paragraph over\ntwo lines. Whoever reads it.") in texts
    assert (5, "Of an item.") in texts
    assert (9, "nobody") in texts
    assert not [text for _, text in texts if text == "Whoever" or "quoted" in text]
    assert [problem.split(":")[1] for problem in problems(of_document("a.md", source))] == ["1", "4", "5", "9"]


def test_a_sentence_knows_its_line() -> None:
    text = "First.\nSecond, e.g. this\none. Third?\n\n    Fourth"
    assert list(sentences(text)) == [(0, "First."), (1, "Second, e.g. this one."), (2, "Third?"), (4, "Fourth")]


def test_a_sentence_ends_inside_its_emphasis_too() -> None:
    assert [text for _, text in sentences("*One reads it.* What it is. **Two do.** Of both.")] == [
        "*One reads it.*",
        "What it is.",
        "**Two do.**",
        "Of both.",
    ]
