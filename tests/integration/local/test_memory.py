"""What the processes of a job take in memory, measured by the kernel, with what a plan says before anything runs."""

from __future__ import annotations

import io
import re
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from gradstream.advise.forecast import memory, remote_memory
from gradstream.api.plan import Size
from gradstream.local.training.trainer import Trainer
from gradstream.process import shared
from gradstream.spec import JobSpec
from gradstream.strategies import STRATEGIES

STEPS = 20
CODE = """\
import re
import time
from itertools import count
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import TensorDataset

from gradstream import Workload

rss = re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]
name = Path("/proc/self/comm").read_text().strip()
losses = count(1)


class Deep(Workload):
    folder: str
    evaluation: float = 0.0

    def model(self):
        Path(self.folder, name).write_text(rss)
        return nn.Sequential(*(nn.Linear(1600, 1600) for _ in range(10)), nn.Linear(1600, 10))

    def dataset(self, split):
        drawn = torch.Generator().manual_seed(1 if split == "train" else 2)
        return TensorDataset(torch.rand(32, 1600, generator=drawn), torch.randint(10, (32,), generator=drawn))

    def loss(self, model, batch):
        trained = Path(self.folder, "trained")
        if torch.is_grad_enabled() and next(losses) == STEPS:
            trained.touch()
        until = time.monotonic() + self.evaluation
        while not torch.is_grad_enabled() and not trained.exists() and time.monotonic() < until:
            time.sleep(0.05)
        return cross_entropy(model(batch[0]), batch[1])
""".replace("STEPS", str(STEPS))
PARAMETERS = 10 * (1600 * 1600 + 1600) + 16_010
BESIDE = 40e6
"""Bytes that a process takes for other things after the import of its workload: mini-batches, activations, code."""


class Peaks:
    """The largest memory that each job process of this program has had, in bytes, by name. They end without saying it."""

    def __init__(self) -> None:
        self.by_name: dict[str, int] = {}
        self.of_server = 0
        """The server's own memory, without what it shares with others: beyond that of its parent, from which it was forked."""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peaks:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.02):
            for child in psutil.Process().children(recursive=True):
                try:
                    status = Path(f"/proc/{child.pid}/status").read_text()
                    parent = Path(f"/proc/{child.ppid()}/status").read_text()
                except (OSError, psutil.NoSuchProcess):
                    continue
                name, peak = re.search(r"Name:\t(.*)", status), re.search(r"VmHWM:\s+(\d+)", status)
                if name and peak and name[1].startswith("gs "):
                    self.by_name[name[1]] = max(self.by_name.get(name[1], 0), 1024 * int(peak[1]))
                own, at_first = (re.search(r"RssAnon:\s+(\d+)", text) for text in (status, parent))
                if name and own and at_first and name[1] == "gs server-0":
                    self.of_server = max(self.of_server, 1024 * (int(own[1]) - int(at_first[1])))


@pytest.mark.more
@pytest.mark.parametrize(
    "strategy",
    [
        *("adag", "diloco", "easgd", "geo"),
        *(pytest.param(each, marks=pytest.mark.long) for each in ("local_sgd", "delayed_diloco", "downpour", "fedprox")),
    ],
)
def test_vectors_that_a_round_makes_are_what_a_plan_says(tmp_path: Path, strategy: str) -> None:
    """At most, and nearly: of a worker of each kind."""
    (tmp_path / "deep.py").write_text(CODE)
    spec = JobSpec.model_validate(
        {
            "name": "deep",
            "workload": {"entrypoint": "deep:Deep", "args": {"folder": str(tmp_path)}},
            "strategy": {"name": strategy, "lr": 0.01} | ({"window": 2} if "window" in STRATEGIES[strategy].model_fields else {}),
            "stop": {"epochs": 3},
            "roles": {"server": {"count": 1}, "worker": {"count": 1, "device": "cpu"}},
            "batch_size": 4,
        }
    )
    with Trainer(spec, tmp_path, tmp_path / "out", io.StringIO()) as trainer, Peaks() as peaks:
        assert trainer.run()["status"] == "succeeded"
    said = memory(spec, Size(parameters=PARAMETERS)).worker
    taken = peaks.by_name["gs worker-0"] - 1024 * int((tmp_path / "gs worker-0").read_text())
    assert 0.7 * said < taken < 1.1 * said + BESIDE


@pytest.mark.more
def test_workers_and_the_evaluator_take_what_a_plan_says(tmp_path: Path) -> None:
    """Four vectors and, where evaluations go by samples, one: the model is where centers arrive. They took 5.4 and 4.2 when the
    memory of the model's first parameters stayed."""
    (tmp_path / "deep.py").write_text(CODE)
    spec = JobSpec.model_validate(
        {
            "name": "deep",
            "workload": {"entrypoint": "deep:Deep", "args": {"folder": str(tmp_path)}},
            "strategy": {"name": "sync", "lr": 0.01},
            "stop": {"epochs": 3},
            "evaluate": {"every": "32 samples"},
            "roles": {"server": {"count": 1}, "worker": {"count": 1, "device": "cpu"}},
            "batch_size": 8,
        }
    )
    with Trainer(spec, tmp_path, tmp_path / "out", io.StringIO()) as trainer, Peaks() as peaks:
        assert trainer.run()["status"] == "succeeded"
    said = memory(spec, Size(parameters=PARAMETERS))
    assert said.evaluator == 4 * PARAMETERS
    for name, vectors in (("gs worker-0", said.worker), ("gs evaluator", said.evaluator)):
        taken = peaks.by_name[name] - 1024 * int((tmp_path / name).read_text())
        assert 0.9 * vectors < taken < 1.1 * vectors + BESIDE, name


EVALUATED = {"evaluate": {"every": "4 samples"}, "checkpoint": {"every": "1000 samples"}}
"""Evaluations last until centers wait for them: until training has ended, or for 2 seconds where training waits for them. It also
waits at a checkpoint, so none falls in between."""


@pytest.mark.more
@pytest.mark.parametrize(
    ("strategy", "more", "remote"),
    [
        ("dc_asgd", {}, False),
        ("dc_asgd", EVALUATED, False),
        pytest.param("distance", EVALUATED, False, marks=pytest.mark.long),
        pytest.param("dynsgd", EVALUATED, False, marks=pytest.mark.long),
        ("geo", EVALUATED, False),
        pytest.param("eamsgd", EVALUATED, False, marks=pytest.mark.long),
        pytest.param("delayed_diloco", EVALUATED, False, marks=pytest.mark.long),
        pytest.param("async", {"optimizer": {"name": "adam"}}, False, marks=pytest.mark.long),
        ("sync", {"optimizer": {"name": "sgd", "momentum": 0.9}, "roles": {"worker": {"count": 2}}}, False),
        ("easgd", {"gate": "bsp", "roles": {"worker": {"count": 2}}}, False),
        pytest.param("dynsgd", {"checkpoint": {"every": "16 samples"}}, True, marks=pytest.mark.long),
        ("eamsgd", {"checkpoint": {"every": "16 samples"}}, True),
        ("dc_asgd", {"checkpoint": {"every": "16 samples"}, "codec": {"name": "int8"}}, True),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else str(value),
)
def test_servers_take_what_a_plan_says(
    tmp_path: Path, strategy: str, more: dict[str, Any], remote: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most, and nearly. With holes between vectors that come and go they took up to twice as much.

    `remote`: vectors go through Redis, as from workers on another machine."""
    (tmp_path / "deep.py").write_text(CODE)
    if remote:
        monkeypatch.setattr(shared.SharedFolders, "of", lambda *_: None)
    count = more.get("roles", {}).get("worker", {}).get("count", 1)
    evaluation = (2.0 if STRATEGIES[strategy].pulls_every_round else 60.0) if "evaluate" in more else 0.0
    spec = JobSpec.model_validate(
        {
            "name": "deep",
            "workload": {"entrypoint": "deep:Deep", "args": {"folder": str(tmp_path), "evaluation": evaluation}},
            "strategy": {"name": strategy, "lr": 0.01} | ({"window": 2} if "window" in STRATEGIES[strategy].model_fields else {}),
            "stop": {"steps": STEPS},
            "batch_size": 4,
            **more,
            "roles": {"server": {"count": 1}, "worker": {"count": count, "device": "cpu"}},
        }
    )
    with Trainer(spec, tmp_path, tmp_path / "out", io.StringIO()) as trainer, Peaks() as peaks:
        assert trainer.run()["status"] == "succeeded"
    size = Size(parameters=PARAMETERS)
    said = memory(spec, size).server + remote * remote_memory(spec, size, count)
    assert 0.6 * said < peaks.of_server < 1.1 * said + BESIDE
