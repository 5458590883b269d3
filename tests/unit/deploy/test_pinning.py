"""deploy/pin-images, with a `docker` that answers in the form of buildx: no registry is asked."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.unit.deploy import compose
from tests.unit.deploy.compose import COMPOSE, ROOT
from tests.unit.deploy.test_compose import ASKED

ANSWERS = """#!/bin/sh
for image; do :; done
case $image in
  {broken}*) echo "ERROR: not found" >&2; exit 1 ;;
  postgres*) printf 'Name:      %s\\nDigest:    sha256:{a}\\n\\nManifests:\\n  Name: x@sha256:{b}\\n' "$image" ;;
  *) echo '"sha256:{b}"' ;;
esac
"""
A, B = "a" * 64, "b" * 64


def pin(tmp_path: Path, env: Path, broken: str | None) -> subprocess.CompletedProcess[str]:
    """`broken`: the beginning of an image that the registry does not have; None: there is no docker."""
    tools = tmp_path / "bin"
    tools.mkdir(exist_ok=True)
    for name in ("sh", "grep", "tr", "sort", "head", "mktemp", "cat", "rm", "dirname"):
        if not (tools / name).exists():
            (tools / name).symlink_to(next(path for path in (Path("/usr/bin") / name, Path("/bin") / name) if path.exists()))
    if broken is not None:
        (tools / "docker").write_text(ANSWERS.replace("{broken}", broken).replace("{a}", A).replace("{b}", B))
        (tools / "docker").chmod(0o755)
    environment = {**os.environ, "PATH": str(tools)}
    return subprocess.run([ROOT / "deploy/pin-images", env], capture_output=True, text=True, timeout=30, env=environment)


def test_every_image_from_a_registry_is_pinned_and_other_settings_stay(tmp_path: Path) -> None:
    env = tmp_path / ".env"
    env.write_text("GRADSTREAM_PUBLIC_URL=https://gradstream.example.org\nGRADSTREAM_NODE_IMAGE=node:1@sha256:old\n")
    assert pin(tmp_path, env, "none").returncode == 0
    first = env.read_text()
    assert pin(tmp_path, env, "none").returncode == 0
    assert env.read_text() == first, "a second time changes nothing"
    settings = dict(line.split("=", 1) for line in first.splitlines())
    assert settings.pop("GRADSTREAM_PUBLIC_URL") == ASKED["GRADSTREAM_PUBLIC_URL"]
    services = compose.load(COMPOSE, ASKED | settings)["services"].values()
    pulled = {service["image"] for service in services if "build" not in service}
    built = {
        value for service in services if "build" in service for name, value in service["build"]["args"].items() if "IMAGE" in name
    }
    assert pulled | built == set(settings.values())
    assert settings["GRADSTREAM_POSTGRES_IMAGE"] == f"postgres:18@sha256:{A}", "the digest of the whole, not that of one platform"
    assert all(value.endswith((A, B)) for value in settings.values())


@pytest.mark.parametrize(
    ("broken", "said"), [(None, "There is no docker here"), ("valkey", "The digest of valkey/valkey:9.1-alpine is not")]
)
def test_it_writes_all_or_none(tmp_path: Path, broken: str | None, said: str) -> None:
    env = tmp_path / ".env"
    env.write_text("GRADSTREAM_SLOTS=8\n")
    done = pin(tmp_path, env, broken)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Nothing was changed." in done.stderr
    assert env.read_text() == "GRADSTREAM_SLOTS=8\n"


def test_the_dockerfile_builds_on_the_same_images_without_compose() -> None:
    defaults = dict(re.findall(r"^ARG (\w+_IMAGE)=(\S+)$", (ROOT / "deploy/Dockerfile").read_text(), re.MULTILINE))
    services = compose.load(COMPOSE, ASKED)["services"].values()
    for args in [service["build"]["args"] for service in services if "build" in service]:
        assert {name: value for name, value in args.items() if name.endswith("_IMAGE")} == defaults
