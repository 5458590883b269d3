"""deploy/Dockerfile: what it copies is there, and what an image lacks, its program does not import."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.unit.deploy import dockerfile
from tests.unit.deploy.compose import COMPOSE, ROOT, load
from tests.unit.deploy.test_compose import ASKED

STAGES = dockerfile.stages(ROOT / "deploy/Dockerfile")
IGNORE = ROOT / ".dockerignore"
MADE_BY_US = {"gradstream", "backend", "worker_agent", "ps_node", "worker_node", "migrations"}

WITHOUT = """
import importlib, json, pkgutil, sys
from importlib.metadata import packages_distributions

told = json.loads(sys.argv[1])
owners = packages_distributions()

class OnlyWhatTheImageHas:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        owned_by = {owner.lower().replace("_", "-").replace(".", "-") for owner in owners.get(top, ())}
        lacks = owned_by and not owned_by & set(told["installed"]) and top not in told["there"]
        if lacks or top in told["absent"]:
            raise ModuleNotFoundError(f"{name} is not in the image", name=name)

sys.meta_path.insert(0, OnlyWhatTheImageHas())
for name in told["programs"]:
    program = importlib.import_module(name)
    for each in pkgutil.walk_packages(getattr(program, "__path__", []), name + "."):
        importlib.import_module(each.name)
"""


def installed_by(requirement: str) -> set[str]:
    """The names of all distributions that pip would install for it."""
    todo, done = [Requirement(requirement)], set[str]()
    while todo:
        wanted = todo.pop()
        name = canonicalize_name(wanted.name)
        if f"{name}{sorted(wanted.extras)}" in done:
            continue
        done |= {name, f"{name}{sorted(wanted.extras)}"}
        for line in requires(name) or ():
            further = Requirement(line)
            if further.marker is None or any(further.marker.evaluate({"extra": extra}) for extra in (*wanted.extras, "")):
                todo.append(further)
    return {name for name in done if "[" not in name}


@pytest.mark.parametrize("stage", STAGES.values(), ids=lambda stage: stage.name)
def test_everything_copied_is_there(stage: dockerfile.Stage) -> None:
    for origin, sources in stage.copies():
        assert origin is None or origin in STAGES
        for source in sources if origin is None else ():
            assert (ROOT / source).exists(), source
            assert not dockerfile.ignored(IGNORE, source.rstrip("/")), f".dockerignore keeps {source} from the builder"


@pytest.mark.parametrize("path", ["deploy/secrets/join-token", ".env", ".git/config", "frontend/node_modules/x", "backend/page/x"])
def test_what_no_image_needs_stays_outside(path: str) -> None:
    assert dockerfile.ignored(IGNORE, path)


def test_compose_names_stages_that_exist() -> None:
    services = load(COMPOSE, ASKED)["services"].values()
    assert {service["build"]["target"] for service in services if "build" in service} == {"control", "agent"} <= STAGES.keys()


def test_everything_is_installed_in_its_pinned_version() -> None:
    """Constraints hold for every `pip install`; torch, which comes from an index of its own, is named with its version."""
    assert "PIP_CONSTRAINT=/src/constraints.txt" in " ".join(STAGES["dependencies"].of("ENV")).split()
    builds = [stage.name for stage in STAGES.values() if any("pip install" in value for value in stage.of("RUN"))]
    assert builds == ["control-packages", "agent-packages"]
    assert all(STAGES[name].base == "dependencies" for name in builds)
    assert re.search(r"^torch==[\d.]+$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)


@pytest.mark.more
@pytest.mark.parametrize(
    ("image", "programs"),
    [("control", ["backend"]), ("agent", ["worker_agent", "ps_node", "worker_node", "gradstream.process", "gradstream.wire"])],
)
def test_a_program_imports_nothing_that_its_image_lacks(image: str, programs: list[str]) -> None:
    packages = STAGES[f"{image}-packages"]
    [extras] = re.findall(r"pip install '\.(\[[\w,]+\])'", " ".join(packages.of("RUN")))
    copied = {source.rstrip("/") for _, sources in packages.copies() for source in sources}
    told = {
        "programs": programs,
        "installed": sorted(installed_by(f"gradstream{extras}")),
        "there": sorted(copied & MADE_BY_US),
        "absent": sorted(MADE_BY_US - copied),
    }
    assert ("torch" in told["installed"]) is (image == "agent")
    _run(WITHOUT, json.dumps(told))


def _run(code: str, *arguments: str) -> None:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=100, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_the_check_of_imports_finds_what_is_missing() -> None:
    told = {"programs": ["torch"], "installed": ["redis"], "there": [], "absent": []}
    with pytest.raises(AssertionError, match="torch is not in the image"):
        _run(WITHOUT, json.dumps(told))
