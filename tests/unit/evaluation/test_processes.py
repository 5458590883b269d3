"""Evaluations by several processes: the bits of one, errors of user code, and the ends of processes."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import IterableDataset, TensorDataset

from gradstream import Workload
from gradstream.evaluation.processes import ScoringPeers
from gradstream.evaluation.scoring import Scorer
from gradstream.group.memory import shared_vector
from gradstream.group.peers import PeerLost
from gradstream.model.flat_model import FlatModel
from gradstream.model.usercode import UserCode
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec
from tests.nets import CPU
from tests.support import eventually
from tests.unit.group.conftest import kill_peer


class Streamed(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter(Scored().dataset("eval"))


class Unsendable:
    def __init__(self) -> None:
        self.lock = threading.Lock()


class Scored(Workload):
    """Does all that an evaluation may do. `doing`: what it does besides."""

    many: bool = False
    doing: str = ""
    lead: int = 0

    def model(self) -> nn.Module:
        return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 3 if self.many else 1))

    def dataset(self, split: str) -> Any:
        if self.doing == "streams":
            return Streamed()
        generator = torch.Generator().manual_seed(3)
        x = torch.randn(203, 4, generator=generator)
        return TensorDataset(x, (x[:, 0] + torch.randn(203, generator=generator) > 0.8).long())

    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        scores = model(batch[0])
        self.log("mean", scores.mean())
        self.log("mean", scores.std(correction=0))
        self.log("largest", scores.max(), reduce="max")
        self.log("last", scores[0, 0], reduce="last")
        self.log_text("first", str(batch[0][0].tolist()))
        self.log_histogram(f"of {len(batch[0])}".replace(" ", "/"), scores)
        if self.many:
            return nn.functional.cross_entropy(scores, batch[1])
        logits, labels = scores.squeeze(1), batch[1].float()
        self.observe(logits, labels, 0.3)
        self.observe(logits[:5], labels[:5], logits[:5].abs())
        return nn.functional.binary_cross_entropy_with_logits(logits, labels)

    def evaluate(self, model: nn.Module, batch: Any) -> dict[str, Any]:
        found: dict[str, Any] = {"loss": self.loss(model, batch), "mean": float(model(batch[0]).mean())}
        if os.getpid() != self.lead:
            match self.doing:
                case "raises":
                    raise ValueError("a peer does not like this")
                case "changes":
                    next(model.parameters()).data.add_(1)
                case "moves":
                    next(model.parameters()).data = next(model.parameters()).data.clone()
                case "dies":
                    os.kill(os.getpid(), signal.SIGKILL)
                case "unsendable":
                    found["odd"] = Unsendable()
        return found | {"scores": model(batch[0]).double(), "half": batch[0].bfloat16(), "n": [len(batch[0])]}

    def summarize(self, outputs: list[dict[str, Any]]) -> dict[str, float]:
        scores = torch.cat([output["scores"] for output in outputs])
        half = torch.cat([output["half"] for output in outputs])
        counts = [output["n"][0] for output in outputs]
        return {"product": float((scores[:, 0] * torch.arange(len(scores))).sum()), "half": float(half.sum()), "n": sum(counts)}


def job(processes: int = 1, members: int = 1, metrics: tuple[str, ...] = (), **args: Any) -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": "s",
            "workload": {"entrypoint": "tests.unit.evaluation.test_processes:Scored", "args": {"lead": os.getpid(), **args}},
            "members": members,
            "strategy": {"name": "sync"},
            "stop": {"steps": 1},
            "evaluate": {"processes": processes, "metrics": metrics, "batch_size": 16},
        }
    )


class Evaluation:
    """A scorer with its processes, at centers that change."""

    def __init__(self, spec: JobSpec) -> None:
        torch.set_num_threads(1)
        code = UserCode(spec)
        self.flat = FlatModel(code.model(), CPU, make_theta=shared_vector)
        self.scorer = Scorer(code, self.flat.model, code.dataset("eval"), spec.evaluate.batch_size, CPU)
        self.peers = ScoringPeers(code, self.flat, self.scorer.split, spec) if spec.evaluate.processes > 1 else None
        self.scorer.others = self.peers

    def score(self, center: int = 0) -> tuple[dict[str, str], dict[str, str], list[tuple[str, bytes | None]]]:
        """Return metrics, logged numbers and media, with all bits."""
        drawn = torch.Generator().manual_seed(center)
        self.flat.theta.copy_(torch.randn(self.flat.theta.shape, generator=drawn))
        if buffers := self.flat.buffers():
            buffers.floats.uniform_(0.5, 1.5, generator=drawn)
            self.flat.load_buffers(buffers)
        if self.peers:
            self.peers.begin(buffers)
        found = {key: value.hex() for key, value in self.scorer.score().items()}
        logged = {name: value.hex() for name, value in self.scorer.logged.take().items()}
        return found, logged, [(item.name, self.scorer.media.encode(item)) for item in self.scorer.media.take()]


@pytest.fixture
def evaluation() -> Iterator[Callable[[JobSpec], Evaluation]]:
    made = list[Evaluation]()

    def make(spec: JobSpec) -> Evaluation:
        made.append(Evaluation(spec))
        return made[-1]

    yield make
    for each in made:
        if each.peers:
            each.peers.close()


OF_CLASSES = ("perplexity", "auc", "top-2", "f1", "average_precision")


@pytest.mark.parametrize("members", [1, 2])
@pytest.mark.parametrize(
    ("metrics", "args"),
    [(("mse", "mae", "auc", "f1"), {}), (OF_CLASSES, {"many": True}), (("mse",), {"doing": "streams"})],
    ids=["values", "classes", "stream"],
)
def test_scores_have_the_bits_of_one_process(
    members: int, metrics: tuple[str, ...], args: dict[str, Any], evaluation: Callable[[JobSpec], Evaluation]
) -> None:
    """13 mini-batches, of which the last is short; a second center with other buffers."""
    one, *others = (evaluation(job(processes, members, metrics, **args)) for processes in (1, 2, 3))
    for center in range(2):
        found, logged, media = one.score(center)
        assert {"loss", "mean", "product", "n"} <= found.keys()
        assert set(logged) == {"mean", "largest", "last"}
        assert {name for name, _ in media} == {"first", "of/16", "of/11"}
        for other in others:
            assert other.score(center) == (found, logged, media)


@pytest.mark.parametrize(
    ("doing", "said"),
    [
        ("raises", "ValueError: a peer does not like this"),
        ("changes", "it changed the parameter 0.weight in place"),
        ("moves", "it gave the parameter 0.weight new memory"),
        ("unsendable", "cannot be sent to the evaluator's first process .*set evaluate.processes: 1"),
    ],
)
def test_mistakes_in_a_peer_are_blamed_as_in_one_process(
    doing: str, said: str, evaluation: Callable[[JobSpec], Evaluation]
) -> None:
    with pytest.raises(UserError, match=re.escape("the workload failed in evaluate()")) as raised:
        evaluation(job(2, doing=doing)).score()
    cause = raised.value.__cause__
    assert re.search(said, f"{type(cause).__name__}: {cause}")
    if doing == "raises":
        assert "test_processes.py" in "".join(getattr(cause, "__notes__", [])), "the traceback of the peer"


def test_a_killed_peer_ends_the_evaluator_and_is_named(evaluation: Callable[[JobSpec], Evaluation]) -> None:
    made = evaluation(job(3))
    made.score()
    kill_peer("evaluator/2")
    with pytest.raises(PeerLost, match=r"^peer 2 of evaluator has ended \(killed by signal 9\), and with it the whole evaluator$"):
        made.score()


def test_a_peer_that_dies_while_it_scores_is_no_mistake_of_user_code(evaluation: Callable[[JobSpec], Evaluation]) -> None:
    with pytest.raises(PeerLost, match=r"^peer 1 of evaluator has ended \(killed by signal 9\)"):
        evaluation(job(2, doing="dies")).score()


def has_ended(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def shared_files(*processes: psutil.Process) -> set[str]:
    return {each.path for one in processes for each in one.memory_maps() if each.path.startswith("/dev/shm/")}


def test_peers_end_with_a_killed_lead_and_leave_nothing() -> None:
    pid = os.fork()
    if not pid:
        try:
            Evaluation(job(3)).score()
            threading.Event().wait(60)
        finally:
            os._exit(1)
    lead = psutil.Process(pid)
    peers = eventually(lambda: found if len(found := lead.children()) == 2 else None, "both peers")
    files = shared_files(lead, *peers) - shared_files(psutil.Process())  # libraries of other tests have locks there
    assert not files, "their memory has no name, so it goes with them"
    lead.kill()
    os.waitpid(pid, 0)
    eventually(lambda: all(map(has_ended, peers)), "their end")


def test_tables_are_refused_with_a_remedy() -> None:
    tables = {"tables": {"ads": {}}, "evaluate": {"processes": 2}}
    with pytest.raises(ValueError, match=r"evaluate\.processes: rows of embedding tables.*set it to 1, or remove tables"):
        JobSpec.model_validate(job().model_dump(mode="json") | tables)
