"""The reference of the job file is the schema's, and each key has a description in plain English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradstream.jobfile.reference import markdown
from gradstream.spec import JobSpec

PAGE = Path(__file__).parents[3] / "docs" / "guides" / "job-file.md"
_BEGINNING = re.compile(r"(Of|What|Who|Whoever|How|Where|Whether|By|Between|Its)\b")


def test_the_page_is_the_schemas() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown(), "run `make generate`, which writes the page"


def fields() -> Iterator[tuple[str, str]]:
    """Each field of the job file with its description, its own or that of its type; variants by their name."""
    whole = JobSpec.model_json_schema()
    for title, part in {"": whole, **whole["$defs"]}.items():
        for key, field in part["properties"].items():
            kinds = [one for one in (field, *field.get("anyOf", [])) if "$ref" in one]
            types = [whole["$defs"][one["$ref"].rpartition("/")[2]] for one in kinds]
            if "const" not in field:
                yield f"{title}.{key}", next((one["description"] for one in (field, *types) if "description" in one), "")


@pytest.mark.parametrize(("key", "description"), list(fields()))
def test_each_key_has_a_description_that_begins_with_a_noun_or_a_verb(key: str, description: str) -> None:
    assert description, f"{key}: Field(description=...) is missing"
    assert not _BEGINNING.match(description.partition(": ")[2] or description), description
