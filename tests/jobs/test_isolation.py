"""Isolated jobs: what hostile user code gets, and what is left of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from tests.platforms import Lab, slow_until
from tests.support import eventually
from tests.userland.attacker import ATTACKS, MARK, SAYS

STEADY: dict[str, Any] = {"strategy": {"name": "sync"}, "stop": {"epochs": 25}}
"""A job of a hundred mini-batches of each worker."""
PAUSE = 2.0
"""Seconds of a mini-batch of the victim: it trains while it is attacked."""
GONE_WITHIN = 5.0
"""Seconds after the end of a job's processes."""


class Attacked:
    def __init__(self, lab: Lab, folder: Path, network: str = "platform") -> None:
        self.lab, self.go = lab, folder / "go"
        self.victim = lab.submit(
            name="victim",
            args=slow_until(self.go, PAUSE),
            env={"SECRET": "a-secret-of-the-victim-0123456789"},
            **STEADY,
        )
        lab.trains(self.victim)
        self.job = lab.submit(
            name="attacker",
            network=network,
            strategy={"name": "async", "lr": 0.05},
            workload={"entrypoint": "attacker:Attacker", "args": {"target": self._target(), "until": str(self.go)}},
            roles={"worker": {"count": 1, "device": "cpu"}, "server": {"count": 1}},
        )
        try:
            self.got = eventually(self._got, "the end of all attacks")
        except BaseException:
            self.go.touch()
            raise

    def _target(self) -> dict[str, object]:
        agent = self.lab.program("worker_agent")
        programs = [p for p in psutil.Process().children() if p.pid != agent.pid]
        sockets = [c.laddr for p in programs for c in p.net_connections("unix") if str(c.laddr).startswith("/")]
        ports = {c.laddr.port for p in programs for c in p.net_connections("tcp") if c.status == psutil.CONN_LISTEN}
        pids = [p.pid for p in (*programs, agent, *agent.children(recursive=True))]
        data = str(self.lab.platform.folder.path)
        return {"data": data, "pids": pids, "ports": sorted(ports), "sockets": sorted(set(sockets))}

    def _got(self) -> dict[str, str] | None:
        lines = "".join(chunk.text for chunk in self.lab.client.logs(self.job.id, role="worker")).splitlines()
        got = dict(json.loads(line.removeprefix(SAYS)) for line in lines if line.startswith(SAYS))
        assert "done" in got or not (job := self.lab.client.job(self.job.id)).ended, f"{job.message}\n{lines[-20:]}"
        return got if "done" in got else None


@pytest.fixture(scope="module")
def attacked(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    isolation = lab.client.nodes()[0].isolation
    assert isolation
    if isolation.level != "namespace":
        assert not can_make_namespaces(), f"the machine offers namespaces, and its agent does not use them: {isolation.note}"
        pytest.skip("this machine offers no namespaces")
    folder = tmp_path_factory.mktemp("attacked")
    folder.chmod(0o777)
    attacked = Attacked(lab, folder)
    yield attacked
    attacked.go.touch()
    lab.ended(attacked.victim), lab.ended(attacked.job)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_gets_nothing(name: str, attacked: Attacked) -> None:
    assert attacked.got.get(name, "it was not tried") == ""


@pytest.mark.more
def test_nothing_is_left_and_the_victim_has_the_bits_of_an_undisturbed_run(attacked: Attacked, tmp_path: Path) -> None:
    check_end(attacked, tmp_path)


def check_end(attacked: Attacked, tmp_path: Path) -> None:
    """End the attacker: nothing of it is left, and the victim has not noticed it."""
    lab = attacked.lab
    assert marked_processes(), "the attacker has left processes"
    assert not lab.client.job(attacked.victim.id).ended, "it was there all the while"
    attacked.go.touch()
    assert lab.ended(attacked.job).status == "succeeded", lab.messages(attacked.job)
    eventually(lambda: not marked_processes() and not marked_files(), "the end of all that it had left", GONE_WITHIN)
    victim = lab.ended(attacked.victim)
    calm = lab.ended(lab.submit(**STEADY))
    assert (victim.status, victim.attempt) == ("succeeded", 1), lab.messages(victim)
    expected, got = lab.weights(calm, tmp_path), lab.weights(victim, tmp_path)
    assert all(torch.equal(expected[name], got[name]) for name in expected)


def can_make_namespaces() -> bool:
    """By another program than ours, so that a fault of our own search is no reason to skip. The view of files takes Linux 5.12."""
    if tuple(map(int, os.uname().release.split(".")[:2])) < (5, 12) or not shutil.which("unshare"):
        return False
    wanted = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--net", "--fork", "--mount-proc", "true"]
    return subprocess.run(wanted, capture_output=True, check=False, timeout=20).returncode == 0


def marked_processes() -> list[int]:
    return [p.pid for p in psutil.process_iter(["cmdline"]) if any(MARK in word for word in p.info["cmdline"] or ())]


def marked_files() -> list[str]:
    found = [str(path) for place in ("/tmp", "/var/tmp", "/dev/shm") for path in Path(place).glob(f"{MARK}*")]
    found += [line for line in Path("/proc/net/unix").read_text().splitlines() if MARK in line]
    return found + [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if MARK in line]
