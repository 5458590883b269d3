"""`gradstream train` in this process: what it decides and says while a job runs."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gradstream.errors import InvalidJob
from gradstream.local.servers.redis import Redis
from gradstream.local.training.attempt import LocalAttempt
from gradstream.local.training.trainer import Trainer
from gradstream.process.shared import SharedFolders
from gradstream.process.zygote.zygote import Zygote
from gradstream.progress import alerts
from gradstream.spec import JobSpec
from gradstream.wire.redis.client import connect
from tests.support import TIMEOUT, eventually

CODE = """\
import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload


class Wide(Workload):
    classifies = False

    def model(self):
        return nn.Sequential(nn.Linear(8, 600_000), nn.Linear(600_000, 1))

    def dataset(self, split):
        x = torch.randn(64, 8, generator=torch.Generator().manual_seed(1 if split == "train" else 2))
        return TensorDataset(x, x.sum(1, keepdim=True))

    def loss(self, model, batch):
        return 1e-9 * model(batch[0]).square().mean()
"""
PARAMETERS = 8 * 600_000 + 600_000 + 600_000 + 1


def spec(servers: Any) -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": "wide",
            "workload": {"entrypoint": "wide:Wide"},
            "strategy": {"name": "async", "lr": 0.01},
            "stop": {"steps": 8},
            "roles": {"server": {"count": servers}, "worker": {"count": 1, "device": "cpu"}},
            "batch_size": 8,
        }
    )


def train(folder: Path, servers: Any) -> tuple[dict[str, Any], str]:
    (folder / "wide.py").write_text(CODE)
    talk = io.StringIO()
    with Trainer(spec(servers), folder, folder / "out", talk) as trainer:
        return trainer.run(), talk.getvalue()


@contextmanager
def touched(file: Path, talk: io.StringIO, word: str) -> Iterator[None]:
    """This file is made once the trainer has said the word."""

    def touch() -> None:
        eventually(lambda: word in talk.getvalue(), word, 4 * TIMEOUT)
        file.touch()

    onlooker = threading.Thread(target=touch, daemon=True)
    onlooker.start()
    yield
    onlooker.join()


@pytest.mark.more
def test_code_that_does_not_return_is_told_with_its_line(tmp_path: Path) -> None:
    """It waits for a file that is there only when the alert has been printed."""
    talk, go = io.StringIO(), tmp_path / "go"
    wait = f"import os, time\nany(time.sleep(0.02) for _ in iter(lambda: os.path.exists({str(go)!r}), True))\n"
    (tmp_path / "wide.py").write_text(wait + CODE)
    warned = spec(1).model_copy(update={"env": {"START_WARNING_SECONDS": "1"}})
    with Trainer(warned, tmp_path, tmp_path / "out", talk) as trainer, touched(go, talk, "alert"):
        assert trainer.run()["status"] == "succeeded"
    assert "been in import wide for more than 1 s, at wide.py:2" in talk.getvalue()


def test_brackets_in_an_error_of_the_code_are_text(tmp_path: Path) -> None:
    """Rich would take them for markup, and the run would end with an error about that."""
    (tmp_path / "wide.py").write_text("raise FileNotFoundError('no [weights] under [/data/train]')\n")
    talk = io.StringIO()
    with Trainer(spec(1), tmp_path, tmp_path / "out", talk) as trainer:
        assert trainer.run()["status"] == "failed"
    head, *log = talk.getvalue().splitlines()
    assert head.startswith("failed: ")
    assert "no [weights] under [/data/train]" in head
    assert any("no [weights] under [/data/train]" in line for line in log)


def with_roles(roles: dict[str, Any]) -> JobSpec:
    return JobSpec.model_validate(spec(1).model_dump(exclude={"roles"}) | {"roles": roles})


@pytest.mark.parametrize("role", ["worker", "server"])
def test_it_refuses_gpus_that_are_not_there(role: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(InvalidJob, match=rf"^roles\.{role}\.device: .*this machine has none that torch can use; set auto or cpu"):
        Trainer(with_roles({role: {"device": "cuda"}}), tmp_path, tmp_path / "out", io.StringIO())
    assert not (tmp_path / "out").exists()


def test_orders_name_the_gpus_of_this_machine(tmp_path: Path, shared_redis: Redis) -> None:
    roles = {"server": {"device": "auto", "gpu": 0.25}, "worker": {"count": 3, "gpu": 0.5}}
    admin = connect(shared_redis.url, password=shared_redis.password)
    made = {"zygote": Zygote(), "redis": admin, "plane_url": shared_redis.url}
    attempt = LocalAttempt(with_roles(roles), tmp_path, tmp_path, gpus=(5, 2), **made)
    orders = [
        attempt.order("server", 0, 0),
        *(attempt.order("worker", rank, 0) for rank in range(3)),
        attempt.order("evaluator", -1, 0),
    ]
    attempt.close()
    assert [(order.gpus, order.gpu_share) for order in orders] == [([5], 4), ([5], 2), ([2], 2), ([2], 2), ([], 1)]


def test_it_checkpoints_no_network_off(tmp_path: Path) -> None:
    with pytest.raises(InvalidJob, match=r"^network: .*submit the job"):
        Trainer(spec(1).model_copy(update={"network": "platform"}), tmp_path, tmp_path / "out", io.StringIO())


@pytest.mark.more
def test_auto_shards_begin_once_more_where_cores_are_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first attempt waits in its first step until the shards are counted: it could have ended before on a busy machine."""
    monkeypatch.setattr(os, "cpu_count", lambda: 3)  # two beside the worker
    talk, go = io.StringIO(), tmp_path / "go"
    waits = f"while not os.path.exists({str(go)!r}):\n            time.sleep(0.02)\n        return 1e-9"
    (tmp_path / "wide.py").write_text("import os, time\n" + CODE.replace("return 1e-9", waits))
    with Trainer(spec("auto"), tmp_path, tmp_path / "out", talk) as trainer, touched(go, talk, "roles.server.count: auto"):
        result = trainer.run()
    said = talk.getvalue()
    assert result["status"] == "succeeded", said
    assert "roles.server.count: auto. 2 shards" in said
    assert [load["rank"] for load in result["shards"]] == [0, 1]
    assert sum(load["slice_bytes"] for load in result["shards"]) == 4 * PARAMETERS
    assert result["version"] == 8, "all pushes are of the second attempt"
    assert result["model_path"].endswith("/store/2/model.safetensors")


@pytest.mark.more
def test_a_worker_without_shared_memory_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = SharedFolders.of

    def taken(self: SharedFolders, j: str) -> Path | None:
        """The folder of an attempt in which no file of worker 0 can be made."""
        folder = of(self, j)
        if folder is not None:
            (folder / "0.0").touch()
        return folder

    monkeypatch.setattr(SharedFolders, "of", taken)
    result, said = train(tmp_path, 1)
    assert result["status"] == "succeeded", said
    [alert] = result["alerts"]
    assert alert.startswith("Worker 0 could not allocate 48.0 MB of shared memory, so vectors go through Redis")
    assert f"alert: {alert}" in said
    assert result["exchange"]["sent_bytes"] == result["exchange"]["raw_bytes"] == 4 * PARAMETERS


TROUBLED = """\
import os, time
import torch
from torch import nn
from torch.utils.data import TensorDataset

from gradstream import Workload

time.sleep(1)


class Troubled(Workload):
    claim: str
    slow, calls = False, 0

    def model(self):
        return nn.Linear(4, 1)

    def dataset(self, split):
        x = torch.randn(400, 4, generator=torch.Generator().manual_seed(1))
        return TensorDataset(x, x.sum(1, keepdim=True))

    def loss(self, model, batch):
        if model.training:
            self.calls += 1
            if self.calls == 1:
                self.slow = claimed(self.claim)
            time.sleep(0.1 if self.slow else 0.01)
        loss = (model(batch[0]) - batch[1]).square().mean()
        return loss * float("nan") if model.training and self.calls % 4 == 0 else loss

    def evaluate(self, model, batch):
        return {"auc": float("nan")}


def claimed(path):
    try:
        return bool(open(path, "x"))
    except FileExistsError:
        return False
"""


@pytest.mark.more
def test_it_lists_at_its_end_what_the_page_would_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One job with a hang, the same rows in both splits, a NaN metric, a slow worker and pushes that are not finite."""
    monkeypatch.setattr(alerts, "_SECONDS", 0.5)
    (tmp_path / "troubled.py").write_text(TROUBLED)
    wanted = JobSpec.model_validate(
        {
            "name": "troubled",
            "workload": {"entrypoint": "troubled:Troubled", "args": {"claim": str(tmp_path / "claim")}},
            "strategy": {"name": "async", "lr": 0.01},
            "gate": "asp",
            "stop": {"epochs": 2},
            "batch_size": 8,
            "on_nan": "drop",
            "roles": {"server": {"count": 1}, "worker": {"count": 3, "device": "cpu"}},
            "env": {"START_WARNING_SECONDS": "0.3"},
        }
    )
    talk = io.StringIO()
    with Trainer(wanted, tmp_path, tmp_path / "out", talk) as trainer:
        result = trainer.run()
    said = talk.getvalue()
    assert result["status"] == "succeeded", said
    _, _, listed = said.partition(f"alerts of this run: {len(result['alerts'])}\n")
    for part in (
        "been in import troubled for more than 0 s, at troubled.py:8",
        "evaluation rows that were compared are training rows",
        "eval/auc is not a finite number",
        "times slower than the other workers",
        "% of the pushes were dropped because they held a NaN",
    ):
        [alert] = [alert for alert in result["alerts"] if part in alert]
        assert listed.count(f"  {alert}\n") == 1, f"{part}: {listed}"
        assert "Workers tab" not in alert
