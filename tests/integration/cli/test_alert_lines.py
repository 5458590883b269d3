"""Commands that follow a job say an alert once when it is raised, with its remedy, and once when it is over."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradstream.client import Client
from tests.integration.cli.shared import COMMAND
from tests.kafka import KafkaBroker
from tests.platforms import stop_new_jobs
from tests.support import TIMEOUT, eventually

CLICKS = """\
import torch
from gradstream import Workload, data, nn as gnn


class Clicks(Workload):
    servers: str
    classifies = False

    def dataset(self, split):
        if split == "train":
            return data.kafka(self.servers, "clicks", label="click", ids=["user"], idle=0.5)
        return [{"user": user, "click": 1.0} for user in range(8)]

    def model(self):
        return gnn.Embedding("user", 1)

    def loss(self, model, batch):
        return torch.nn.functional.binary_cross_entropy_with_logits(model(batch["user"]).squeeze(-1), batch["click"].float())
"""
SLOW = """\
from pathlib import Path
from threading import Event

import torch
from gradstream import Workload


class Slow(Workload):
    door: str
    classifies = False

    def dataset(self, split):
        while not Path(self.door).exists():
            Event().wait(0.05)
        return torch.utils.data.TensorDataset(torch.zeros(64, 1), torch.zeros(64, 1))

    def model(self):
        return torch.nn.Linear(1, 1)

    def loss(self, model, batch):
        return torch.nn.functional.mse_loss(model(batch[0]), batch[1])
"""
JOB = """\
name: job
workload: {{entrypoint: "{entrypoint}", args: {args}}}
strategy: {{name: async, lr: 0.1}}
batch_size: 4
roles: {{worker: {{count: 1}}, server: {{count: 1}}}}
checkpoint: {{every: 1}}
stop: {{never: true}}
"""


@pytest.fixture
def broker() -> Iterator[KafkaBroker]:
    made = KafkaBroker()
    yield made
    made.stop()


class Reader:
    """A command, and what it has said so far on stderr."""

    def __init__(self, words: list[str], environment: dict[str, str], folder: Path) -> None:
        self._said = folder / f"{words[0]}.said"
        with self._said.open("w") as stderr:
            self.process = subprocess.Popen(
                [*COMMAND, *words], env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=stderr
            )

    @property
    def said(self) -> list[str]:
        """Its lines, without the times that they begin with."""
        return [re.sub(r"^\d\d:\d\d:\d\d  ", "", line) for line in self._said.read_text().splitlines()]

    def end(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(TIMEOUT)


@contextlib.contextmanager
def reader(words: list[str], environment: dict[str, str], folder: Path) -> Iterator[Reader]:
    made = Reader(words, environment, folder)
    try:
        yield made
    finally:
        made.end()


def alerts(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith(("alert: ", "resolved: "))]


@pytest.mark.more
def test_train_says_that_a_partition_has_no_leader_and_that_it_has_one_again(
    environment: dict[str, str], broker: KafkaBroker, tmp_path: Path
) -> None:
    broker.create("clicks", 2)
    for partition in range(2):
        broker.add("clicks", partition, ({"user": user, "click": 1} for user in range(8)))
    (tmp_path / "clicks.py").write_text(CLICKS)
    (tmp_path / "job.yaml").write_text(JOB.format(entrypoint="clicks:Clicks", args={"servers": broker.servers}))
    with reader(["train", "job.yaml"], environment, tmp_path) as train:
        eventually((tmp_path / "job.out/1/store/1/checkpoints/1/manifest.json").exists, "the first mini-batches")
        broker.deny_leader("clicks", 1, replies=20)
        eventually(lambda: alerts(train.said), "the alert")
        eventually(lambda: alerts(train.said)[1:], "its end")
    raised = (
        "alert: Partition 1 of the followed topic has no leader that answers. Workers wait up to 10 min, then the job fails. Bring "
        "the broker back, or elect another leader. The log of worker-0 has topic and addresses."
    )
    assert alerts(train.said) == [raised, "resolved: Every partition of the followed topic has a leader again."]
    assert [line for line in train.said if line.startswith("  Partition")] == [raised.replace("alert:", " ")]


@pytest.mark.more
def test_follow_says_that_a_start_hangs_and_that_it_goes_on(client: Client, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "job.yaml").write_text(JOB.format(entrypoint="slow:Slow", args={"door": str(tmp_path / "door")}))
    words = ["submit", "job.yaml", "--follow", "--set", "env={START_WARNING_SECONDS: '1'}"]
    with stop_new_jobs(client), reader(words, environment, tmp_path) as follow:
        eventually(lambda: alerts(follow.said), "the alert")
        (tmp_path / "door").touch()
        eventually(lambda: alerts(follow.said)[1:], "its end")
    raised, resolved = alerts(follow.said)
    assert raised.startswith("alert: evaluator and worker-0 have been in dataset() for more than 1 s, at slow.py:14 (wait). ")
    assert raised.endswith("Long downloads are fine; if it hangs, stop the job. The log shows the stack.")
    assert resolved == "resolved: evaluator, worker-0: dataset() has ended; the start continues."
