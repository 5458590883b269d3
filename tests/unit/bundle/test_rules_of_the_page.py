"""The page follows the same rules as the command line."""

from __future__ import annotations

import json
from pathlib import Path

from gradstream.bundle import rules

PAGE = Path(__file__).parents[3] / "frontend" / "src" / "lib" / "upload" / "bundleRules.json"


def test_the_page_has_the_same_rules() -> None:
    written = json.loads(PAGE.read_text())
    ours = {name: json.loads(json.dumps(value)) for name, value in vars(rules).items() if name.isupper()}
    assert written == ours, "write it anew with `make generate`"
