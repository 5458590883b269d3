"""scripts/audit: what was not compared with a database of advisories is never passed off as compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

from tests.unit.deploy.compose import ROOT

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    loader = SourceFileLoader("audit", str(ROOT / "scripts/audit"))
    spec = spec_from_loader("audit", loader)
    assert spec
    module = sys.modules["audit"] = module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.long
def test_without_a_database_it_says_so_and_names_what_it_did_not_compare(tmp_path: Path) -> None:
    gpu = tmp_path / "gpu.txt"
    gpu.write_text("torch==2.9.0+cu128\n")
    offline = {
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_FIND_LINKS": "",
        "HTTPS_PROXY": NOWHERE,
        "https_proxy": NOWHERE,
        "npm_config_registry": NOWHERE,
        "npm_config_fetch_retries": "0",
    }
    command = [sys.executable, ROOT / "scripts/audit", gpu]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env={**os.environ, **offline})
    assert done.returncode == 3, done.stdout + done.stderr
    assert "The audit is incomplete: run it where a database of advisories can be reached." in done.stderr
    for lock, packages in (("constraints.txt", 100), (gpu, 1), ("frontend/package-lock.json", 100)):
        lines = done.stdout.partition(f"{lock}: 0 packages compared, 0 advisories\n")[2].splitlines()
        assert lines[0].startswith("  NOT COMPARED: all "), lock
        assert int(lines[0].split()[3]) >= packages


def test_a_package_that_the_database_does_not_know_counts_as_not_compared(audit: ModuleType) -> None:
    found = {"id": "PYSEC-1", "fix_versions": ["2.1"], "aliases": [], "description": ""}
    told = {
        "dependencies": [
            {"name": "good", "version": "1.0", "vulns": []},
            {"name": "bad", "version": "2.0", "vulns": [found]},
            {"name": "own", "skip_reason": "Dependency not found on PyPI and could not be audited: own (1.0)"},
        ],
        "fixes": [],
    }
    report = audit.Report("lock")
    audit.read_pip_audit(json.dumps(told), "", 3, report)
    assert (report.compared, report.advisories) == (2, ["bad 2.0: PYSEC-1, fixed in 2.1"])
    assert report.not_compared == ["own: Dependency not found on PyPI and could not be audited"]


def test_npm_tells_advisories_or_that_it_could_not_ask(audit: ModuleType) -> None:
    report = audit.Report("lock")
    found = {"name": "x", "severity": "high", "via": [{"title": "Prototype pollution"}, "y"], "range": "<2.0"}
    audit.read_npm_audit(json.dumps({"vulnerabilities": {"x": found}, "metadata": {}}), "", 10, report)
    assert (report.compared, report.advisories, report.not_compared) == (10, ["x <2.0: high, Prototype pollution"], [])
    refused = audit.Report("lock")
    audit.read_npm_audit(json.dumps({"message": "405 Method Not Allowed", "error": {}}), "", 10, refused)
    assert (refused.compared, refused.not_compared) == (0, ["all 10 packages: 405 Method Not Allowed"])


def test_builds_for_gpus_are_asked_for_by_their_version(audit: ModuleType) -> None:
    text = "torch==2.9.0+cu128\n# comment\n\nmine @ file:///x\nnumpy==2.1.0 ; python_version > '3'\nuvicorn[standard]==0.34.0\n"
    assert audit.read_pins(text) == (["torch==2.9.0", "numpy==2.1.0", "uvicorn==0.34.0"], ["mine @ file:///x"])
