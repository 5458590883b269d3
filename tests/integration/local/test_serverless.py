"""Jobs without servers in real processes, and no control plane: the bits, checkpoints and deaths of one with servers."""

from __future__ import annotations

import io
import os
import signal
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from uuid import UUID, uuid4

import psutil
import pytest
import torch
from safetensors.torch import load_file

from gradstream.local.training.attempt import LocalAttempt
from gradstream.local.training.trainer import Trainer
from gradstream.process.order import Resume
from gradstream.process.saving.checkpoint_names import folder_of
from gradstream.spec import JobSpec
from tests.platforms import USERLAND, slow_until
from tests.support import TIMEOUT, eventually


def spec_of(servers: int, go: Path | None = None, epochs: int = 3, on_worker_loss: str = "restart") -> JobSpec:
    """`go`: mini-batches take long until this file is there."""
    return JobSpec.model_validate(
        {
            "name": "alone",
            "workload": {"entrypoint": "steady:Steady", "args": slow_until(go) if go else {}},
            "strategy": {"name": "sync", "lr": 0.05},
            "optimizer": {"name": "adam"},
            "roles": {"worker": {"count": 2, "device": "cpu"}, "server": {"count": servers}},
            "stop": {"epochs": epochs},
            "on_worker_loss": on_worker_loss,
        }
    )


def trained(folder: Path, servers: int, on_worker_loss: str = "restart") -> dict[str, torch.Tensor]:
    talk = io.StringIO()
    with Trainer(spec_of(servers, on_worker_loss=on_worker_loss), USERLAND, folder, talk) as trainer:
        result = trainer.run()
    assert result["status"] == "succeeded", talk.getvalue()
    assert result["samples"] == 3 * 256
    return load_file(result["model_path"])


@pytest.mark.more
def test_train_without_servers(tmp_path: Path) -> None:
    without, beside = trained(tmp_path / "without", 0), trained(tmp_path / "with", 1)
    assert without.keys() == beside.keys()
    assert all(torch.equal(without[name], value) for name, value in beside.items())
    one_holder = trained(tmp_path / "holder", 0, "continue")
    assert all(torch.equal(one_holder[name], value) for name, value in beside.items())


class Attempts:
    """The attempts of one job, one after the other, on the processes of one trainer."""

    def __init__(self, trainer: Trainer, go: Path, epochs: int) -> None:
        self._trainer, self._go, self._epochs = trainer, go, epochs
        self._first = trainer._make_attempt(spec_of(0, go, epochs), 1)
        self.job: UUID = uuid4()

    def close(self) -> None:
        self._first.close()

    def begin(self, number: int, servers: int) -> LocalAttempt:
        """From checkpoint 1 of the attempt before."""
        like = self._first
        attempt = LocalAttempt(
            spec_of(servers, self._go, self._epochs),
            USERLAND,
            like._folder,
            zygote=like._zygote,
            redis=like._redis,
            plane_url=like._access.url,
            job_id=self.job,
            number=number,
            resume=Resume(attempt=number - 1, checkpoint=1) if number > 1 else None,
        )
        attempt.start()
        return attempt


def pump_until(attempt: LocalAttempt, condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, what
        list(attempt.pump(0.1))
        assert not attempt.failed, attempt.failed


def pump_until_trained(attempt: LocalAttempt) -> None:
    def has_loss() -> bool:
        return any(point.name == "train/loss" for _, points in attempt.metrics() for point in points)

    pump_until(attempt, has_loss, "training")


def take_checkpoint(attempt: LocalAttempt) -> None:
    pump_until_trained(attempt)
    attempt.request_checkpoint(1)
    parts = {"manifest.json", *(f"{part}-{k}.safetensors" for part in ("worker", "shard") for k in range(2))}
    folder = attempt.store / folder_of(1)
    pump_until(attempt, lambda: folder.is_dir() and parts <= {file.name for file in folder.iterdir()}, "checkpoint 1")


def pid_of(job: UUID, label: str) -> int:
    processes, title = psutil.Process().children(recursive=True), f"{label} of alone ({job})"
    [found] = [each.pid for each in processes if title in title_of(each)]
    return found


def title_of(process: psutil.Process) -> str:
    """Empty: it has ended, and is perhaps still listed."""
    try:
        return "".join(process.cmdline())
    except psutil.Error:
        return ""


@pytest.mark.more
def test_an_attempt_without_servers_resumes_one_with_servers_and_the_other_way_round(tmp_path: Path) -> None:
    """Each is closed after its checkpoint, with `kill -9` of all its processes."""
    go, epochs = tmp_path / "go", 12
    with (
        Trainer(spec_of(0), USERLAND, tmp_path / "run", io.StringIO()) as trainer,
        closing(Attempts(trainer, go, epochs)) as attempts,
    ):
        for number, servers in ((1, 0), (2, 2), (3, 0)):
            attempt = attempts.begin(number, servers)
            take_checkpoint(attempt)
            attempt.close()
        go.touch()
        last = attempts.begin(4, 2)
        pump_until(last, lambda: last.over, "the end")
        last.close()
        model = load_file(last.store / "model.safetensors")
        calm = LocalAttempt(
            spec_of(2, go, epochs),
            USERLAND,
            tmp_path / "calm",
            zygote=trainer._zygote,
            redis=last._redis,
            plane_url=last._access.url,
        )
        calm.start()
        pump_until(calm, lambda: calm.over, "the end")
        calm.close()
    undisturbed = load_file(calm.store / "model.safetensors")
    assert all(torch.equal(model[name], value) for name, value in undisturbed.items())


@pytest.mark.more
def test_a_killed_worker_leaves_no_process_and_no_memory(tmp_path: Path) -> None:
    with Trainer(spec_of(0), USERLAND, tmp_path / "run", io.StringIO()) as trainer:
        attempts = Attempts(trainer, tmp_path / "go", 100)
        attempt = attempts.begin(1, 0)
        pump_until(
            attempt, lambda: any(point.name == "train/loss" for _, points in attempt.metrics() for point in points), "training"
        )
        home = attempt._shared.of(attempt.j)
        assert home is not None
        assert {"0.0", "1.0", "0.entries", "1.arrivals"} <= {file.name for file in home.iterdir()}
        survivor = pid_of(attempts.job, "worker-0")
        os.kill(pid_of(attempts.job, "worker-1"), signal.SIGKILL)
        eventually(lambda: [*attempt.pump(0.1)] and attempt.failed, "the death is seen")
        assert attempt.failed is not None
        assert attempt.failed[0] == "worker-1.0"
        attempt.close()
        eventually(lambda: not psutil.pid_exists(survivor), "the other worker has ended")
        assert not home.exists()
