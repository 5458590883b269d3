"""No request waits for modules that a library imports at its first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

EXPORT = """
import sys
from backend import app, commands
from backend.metrics import export

commands.load_late_imports()
before = set(sys.modules)
table = export._without_formulas(export._SCHEMA.empty_table())
export.pc.write_csv(table, export.io.BytesIO())
print(len(set(sys.modules) - before))
"""


@pytest.mark.more
def test_the_first_export_imports_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", EXPORT], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"
