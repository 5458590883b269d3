"""The steps of every process of a group are watched: one that hangs is named with its line, and one that waits for it is not."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gradstream.group.peers import PeerHung
from gradstream.process.watchdogs.step import step_watchdog
from gradstream.spec import JobSpec
from tests.unit.group.conftest import make_group

CODE = """
import multiprocessing
import re
import time

import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload


class Sleeps(Workload):
    who: str
    seconds: float
    holds: bool = False
    calls = 0

    def model(self):
        return nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2))

    def dataset(self, split):
        return TensorDataset(torch.randn(16, 4))

    def loss(self, model, batch):
        self.calls += model.training
        if self.calls > 2 and multiprocessing.current_process().name == self.who:
            if self.holds:
                re.match(r"(a+)+$", "a" * 60 + "b")
            time.sleep(self.seconds)
        return model(batch[0]).square().mean()
"""
LINE = 1 + CODE.splitlines().index("            time.sleep(self.seconds)")
GROUPS: list[dict[str, int]] = [{"replicate": 2}, {"tensor": 2}, {"fsdp": 2, "stages": 2}, {"stages": 2, "tensor": 2}]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a worker."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "sleeps_in_loss.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path / "code"))
    yield tmp_path
    sys.modules.pop("sleeps_in_loss", None)


def job(group: dict[str, int], who: str, seconds: float, *, holds: bool = False) -> JobSpec:
    args: dict[str, Any] = {"who": who, "seconds": seconds, "holds": holds}
    return JobSpec.model_validate(
        {
            "name": "hangs",
            "workload": {"entrypoint": "sleeps_in_loss:Sleeps", "args": args},
            "batch_size": 8,
            "accumulate": 2,
            "strategy": {"name": "sync", "lr": 0.1},
            "stop": {"epochs": 9},
            "roles": {"worker": {"count": 1, "group": group, "device": "cpu", "step_timeout": 1}},
        }
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_a_peer_whose_user_code_hangs_ends_the_group_with_its_line(group: dict[str, int], folder: Path) -> None:
    """The lead waits for it, with tensor also within user code, and the lead's own watchdog says nothing."""
    ended: list[int] = []
    problem = make_group(job(group, "peer-1", 600), 0, folder)
    said = rf"^peer 1 of worker-0: user code ran for 1 s at sleeps_in_loss.py:{LINE} without a step: the limit of roles"
    with closing(problem), step_watchdog(folder, 1.0, lambda: 5, ended.append, waits=lambda: problem.waits_for_peers):
        problem.gradient(0)
        with pytest.raises(PeerHung, match=said):
            problem.gradient(1)
    assert not ended


@pytest.mark.more
@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_a_peer_whose_user_code_lets_no_other_thread_run_is_named_with_its_line(
    group: dict[str, int], folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The regular expression takes years, and the interpreter's lock for all of them."""
    line = 1 + next(number for number, text in enumerate(CODE.splitlines()) if "re.match" in text)
    said = (
        rf"^peer 1 of worker-0: user code ran for 1 s at sleeps_in_loss.py:{line} \(match\) without a step, and let no other thread"
    )
    with closing(make_group(job(group, "peer-1", 0, holds=True), 0, folder)) as problem:
        problem.gradient(0)
        with pytest.raises(PeerHung, match=said):
            problem.gradient(1)
    assert re.search(rf'^\[peer 1\]   File ".*sleeps_in_loss.py", line {line} in loss$', capfd.readouterr().err, re.MULTILINE)
    assert not list(folder.glob("*.txt")), "no file is left"


@pytest.mark.more
@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_peers_that_wait_for_a_slow_lead_do_not_hang(group: dict[str, int], folder: Path) -> None:
    with closing(make_group(job(group, "MainProcess", 2.5), 0, folder)) as problem:
        for position in range(2):
            problem.gradient(position)
