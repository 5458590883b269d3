"""The page explains its words as the glossary does."""

from __future__ import annotations

import re
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "frontend" / "src"
_USE = re.compile(r'(?:<Term word=|[ {]term: )"([^"]+)"')


def test_the_page_has_the_definitions_of_the_glossary() -> None:
    loader = SourceFileLoader("page_glossary", str(ROOT / "scripts" / "page-glossary"))
    spec = spec_from_loader(loader.name, loader)
    assert spec
    script = module_from_spec(spec)
    loader.exec_module(script)
    assert (PAGE / "lib" / "glossary.json").read_text(encoding="utf-8") == script.text(), "write it anew with `make generate`"
    used = {word for file in PAGE.rglob("*.ts*") for word in _USE.findall(file.read_text(encoding="utf-8"))}
    assert used == set(script.WORDS), "each word is used somewhere"
