"""The processes of a group: what their user code sees, and how they end."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from gradstream import Workload
from gradstream.errors import InvalidWorkload
from gradstream.group import peers
from gradstream.group.peer import PeerProblem, wait_for_end
from gradstream.group.peers import PeerFailed, PeerLost
from gradstream.group.problem import GroupProblem
from gradstream.group.requests import LoadState, Request, TakeState, Train, Trained
from gradstream.optim.spec import Adam
from gradstream.process.exits import UserError
from gradstream.spec import JobSpec
from gradstream.workload import Split
from tests.support import TIMEOUT, eventually
from tests.unit.group.conftest import GroupProblems, kill_peer


class Peering(Workload):
    """`doing` says what its loss does besides."""

    doing: str = ""

    def __post_init__(self) -> None:
        self.epoch = -1

    def model(self) -> nn.Module:
        return nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 1))

    def dataset(self, split: Split) -> TensorDataset:
        return TensorDataset(torch.arange(16.0), torch.ones(16, 4))

    def on_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        numbers, ones = batch
        in_peer = os.getpid() != int(os.environ["GROUP_TEST_LEAD"])
        match self.doing:
            case "raises" if in_peer:
                raise ValueError("a peer does not like this")
            case "exits" if in_peer:
                raise SystemExit(3)
            case "sleeps" if in_peer:
                time.sleep(1.0)  # so that the lead, which computes meanwhile, has to wait also on a busy machine
            case "lead sleeps" if not in_peer:
                time.sleep(0.5)
            case "dies" if in_peer and model.training:
                os.kill(os.getpid(), signal.SIGKILL)
            case "dies in backward" if in_peer and model.training:
                loss = model(ones).mean()
                loss.register_hook(lambda _: os.kill(os.getpid(), signal.SIGKILL))
                return loss
            case "observes":
                self.observe(numbers, torch.ones(len(numbers)))
            case "logs":
                self.log("numbers", numbers.mean())
                self.log("largest", numbers.max(), reduce="max")
            case "epochs":
                return model(ones).mean() * 0 + self.epoch
        return model(ones).mean()


class Nameless(Peering):
    """Its mini-batches cannot be split."""

    def collate_fn(self, examples: list[Any]) -> dict[str, Tensor]:
        return {"sum": torch.stack([ones for _, ones in examples]).sum(0)}


@pytest.fixture(autouse=True)
def lead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUP_TEST_LEAD", str(os.getpid()))


def job(doing: str = "", kind: str = "Peering", peers: int = 2, workers: int = 1, **more: Any) -> JobSpec:
    return JobSpec.model_validate(
        {
            "name": "peering",
            "workload": {"entrypoint": f"tests.unit.group.test_peers:{kind}", "args": {"doing": doing}},
            "batch_size": 8,
            "strategy": {"name": "sync", "lr": 0.1},
            "stop": {"epochs": 2},
            "roles": {"worker": {"count": workers, "group": peers, "device": "cpu"}},
            **more,
        }
    )


def test_a_killed_peer_ends_the_group_and_is_named(grouped: GroupProblems) -> None:
    problem = grouped(job(peers=3), 0)
    kill_peer("worker-0/2")
    with pytest.raises(PeerLost, match=r"^peer 2 of worker-0 has ended \(killed by signal 9\), and with it the whole worker$"):
        problem.gradient(0)


def test_a_peer_that_dies_while_it_computes_is_noticed_at_once(grouped: GroupProblems) -> None:
    with pytest.raises(PeerLost, match=r"^peer 1 of worker-0 has ended \(killed by signal 9\)"):
        grouped(job("dies"), 0).gradient(0)


@pytest.mark.few(2)
@pytest.mark.usefixtures("small_buckets")
@pytest.mark.parametrize("more", [{}, {"recompute": "blocks"}], ids=str)
@pytest.mark.parametrize("doing", ["dies", "dies in backward"])
@pytest.mark.parametrize(
    "group",
    [{"fsdp": 2}, {"fsdp": 2, "stages": 2}, {"tensor": 2}, {"stages": 2}, {"fsdp": 2, "tensor": 2}],
    ids=str,
)
def test_a_peer_that_dies_while_the_lead_is_in_user_code_is_no_error_of_it(
    group: dict[str, Any], doing: str, more: dict[str, Any], grouped: GroupProblems
) -> None:
    """With fsdp, the backward of the lead's second part waits until the peer has added the part before."""
    problem = grouped(job(doing, accumulate=2, roles={"worker": {"count": 1, "device": "cpu", "group": group}}, **more), 0)
    with pytest.raises(PeerLost, match=r"^peer \d of worker-0 has ended \(killed by signal 9\)"):
        problem.gradient(0)


@contextmanager
def stopped(problem: GroupProblem, seconds: float | None = None) -> Iterator[Request]:
    """Stop peer 1, for so many seconds or the whole time, and give a request that fills its pipe."""
    [state] = problem._others.ask_all(TakeState())
    [peer] = (each for each in psutil.Process().children() if "gradstream worker-0/1 of " in " ".join(each.cmdline()))
    peer.suspend()
    timer = threading.Timer(seconds or TIMEOUT, peer.resume)
    timer.start()
    try:
        yield LoadState({**state, "more": torch.ones(2**20)})
    finally:
        timer.cancel()
        timer.join()


def test_a_frozen_peer_that_takes_no_request_is_named_and_ends_the_group(
    grouped: GroupProblems, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(peers, "_FROZEN_LOOK", 1)
    monkeypatch.setattr(peers, "_FROZEN_AFTER", 2)
    problem = grouped(job(), 0)
    told = r"^peer 1 of worker-0 is frozen: for 2 s it did not take a request; with it the whole worker ends$"
    with stopped(problem) as request, pytest.raises(PeerLost, match=told):
        problem._others.ask(1, request)
    assert "waiting for peer 1 of worker-0 to take a request for 1 s" in caplog.messages


def test_a_peer_that_goes_on_in_time_gets_the_whole_request(grouped: GroupProblems) -> None:
    problem = grouped(job(), 0)
    with stopped(problem, 0.5) as request:
        problem._others.ask(1, request)
        assert problem._others.answer(1) is None
    assert problem.gradient(0).examples == 8


def test_a_peer_that_waits_for_its_end_waits_on_after_a_signal() -> None:
    """User code may handle signals. The peer is a child of this test, which ends it."""
    read, write = os.pipe()
    peer = os.fork()
    if peer == 0:
        signal.signal(signal.SIGUSR1, lambda *_: os.write(write, b"handled"))
        os.write(write, b"waiting")
        try:
            wait_for_end()
        finally:
            os.write(write, b"went on")
            os._exit(1)
    try:
        assert os.read(read, 7) == b"waiting"
        for _ in range(2):
            eventually(lambda: psutil.Process(peer).status() != psutil.STATUS_RUNNING, "its wait")
            os.kill(peer, signal.SIGUSR1)
            assert os.read(read, 7) == b"handled"
    finally:
        os.kill(peer, signal.SIGKILL)
        os.waitpid(peer, 0)
        os.close(read)
        os.close(write)


def test_the_peers_end_with_their_lead(grouped: GroupProblems) -> None:
    """The lead is a child of this test, so that it can be killed."""
    read, write = os.pipe()
    lead = os.fork()
    if lead == 0:
        os.environ["GROUP_TEST_LEAD"] = str(os.getpid())
        grouped(job(peers=3), 0)
        os.write(write, b"forked")
        time.sleep(60)
        os._exit(1)
    assert os.read(read, 6) == b"forked"
    peers = psutil.Process(lead).children()
    assert len(peers) == 2
    os.kill(lead, signal.SIGKILL)
    os.waitpid(lead, 0)
    eventually(lambda: not any(peer.is_running() for peer in peers), "the end of the peers")
    os.close(read)
    os.close(write)


@pytest.mark.usefixtures("small_buckets")
@pytest.mark.parametrize("group", [{"fsdp": 2}, {"stages": 2}], ids=str)
def test_an_error_of_the_platform_in_a_peer_is_none_of_the_user_code_that_the_lead_is_in(
    group: dict[str, int], grouped: GroupProblems, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The backward of the lead waits for this peer."""

    def fail(self: PeerProblem, request: Train) -> Trained:
        raise KeyError("of the platform")

    monkeypatch.setattr(PeerProblem, "train", fail)  # before the fork
    problem = grouped(job(accumulate=2, roles={"worker": {"count": 1, "device": "cpu", "group": group}}), 0)
    with pytest.raises(PeerFailed, match=r"^peer 1 of worker-0 failed: KeyError: 'of the platform'$") as caught:
        problem.gradient(0)
    assert isinstance(caught.value.__cause__, KeyError)
    assert "in peer 1:\n" in caught.value.__cause__.__notes__[0]


@pytest.mark.parametrize(("doing", "cause"), [("raises", ValueError), ("exits", SystemExit)])
def test_an_error_of_user_code_in_a_peer_is_raised_by_its_lead(
    doing: str, cause: type[BaseException], grouped: GroupProblems
) -> None:
    with pytest.raises(UserError, match=r"the workload failed in loss\(\)") as caught:
        grouped(job(doing), 0).gradient(0)
    assert isinstance(caught.value.__cause__, cause)
    assert "in peer 1:\n" in "".join(caught.value.__cause__.__notes__)
    assert "test_peers.py" in "".join(caught.value.__cause__.__notes__)


def test_each_peer_draws_random_numbers_of_its_own(grouped: GroupProblems) -> None:
    """So dropout differs between them, and it is repeated when a job is."""
    problems = [grouped(job(peers=3, workers=2), rank) for rank in (0, 1, 0)]
    groups = [[state["rng"]["torch"] for state in problem._others.ask_all(TakeState())] for problem in problems]
    assert len({bytes(state.numpy().data) for state in [torch.get_rng_state(), *groups[0], *groups[1]]}) == 5
    assert all(map(torch.equal, groups[0], groups[2]))


def test_observations_of_all_peers_add_up(grouped: GroupProblems) -> None:
    problem = grouped(job("observes", peers=3), 0)
    problem.gradient(0)
    observed = problem.take_observations()
    assert observed is not None
    assert observed.examples == 8
    assert problem.take_observations() is None


@pytest.mark.few(1)
@pytest.mark.parametrize("roles", [{"group": 2}, {"group": {"stages": 2}}], ids=str)
def test_the_lead_counts_what_it_waits_for_its_peers(roles: dict[str, Any], grouped: GroupProblems) -> None:
    problem = grouped(job("sleeps", accumulate=2, roles={"worker": {"count": 1, "device": "cpu", **roles}}), 0)
    problem.gradient(0)
    assert 0.1 < problem.take_peer_wait() < TIMEOUT
    assert problem.take_peer_wait() == 0


@pytest.mark.parametrize("roles", [{"group": 2}, {"group": {"fsdp": 2}}], ids=str)
def test_waits_for_peers_outside_of_gradients_are_no_compute_time(roles: dict[str, Any], grouped: GroupProblems) -> None:
    """As the first one, for peers that begin, which may be longer than the lead computes on a busy machine."""
    problem = grouped(job(roles={"worker": {"count": 1, "device": "cpu", **roles}}), 0)
    optimizer = problem.make_optimizer(Adam(), 0.1)
    problem.buffers()
    problem.load(problem.state())
    optimizer.step(torch.ones_like(problem.theta))
    assert problem._others.wait_seconds > 0
    assert problem.take_peer_wait() == 0


@pytest.mark.more
@pytest.mark.parametrize(
    "roles", [{"group": 2}, {"group": {"stages": 2}}, {"group": {"fsdp": 2}}, {"group": {"tensor": 2}}], ids=str
)
def test_a_peer_says_how_long_it_computed_and_what_it_took(roles: dict[str, Any], grouped: GroupProblems) -> None:
    """Time for which it waits for the other peers is none of it: the second stage sleeps, and the lead is the first."""
    problem = grouped(job("sleeps", accumulate=2, roles={"worker": {"count": 1, "device": "cpu", **roles}}), 0)
    began = time.perf_counter()
    problem.gradient(0)
    elapsed = time.perf_counter() - began
    [use] = problem.take_peer_uses()
    assert 1.0 <= use.computed <= elapsed
    assert 0 < use.cpu < elapsed + TIMEOUT
    assert 2**20 < use.memory < psutil.Process().memory_info().rss
    [again] = problem.take_peer_uses()
    assert (again.computed, again.cpu >= use.cpu) == (0.0, True)


@pytest.mark.few(1)
@pytest.mark.parametrize("axis", ["stages", "tensor"])
def test_a_peer_that_waits_for_another_does_not_compute(axis: str, grouped: GroupProblems) -> None:
    problem = grouped(job("lead sleeps", accumulate=2, roles={"worker": {"count": 1, "device": "cpu", "group": {axis: 2}}}), 0)
    problem.gradient(0)
    problem.take_peer_uses()
    problem.gradient(1)
    [use] = problem.take_peer_uses()
    assert use.computed < 0.9, "the lead slept for a second, and this peer waited for it"


def test_values_that_peers_log_are_reported_with_those_of_the_lead(grouped: GroupProblems) -> None:
    problem = grouped(job("logs", accumulate=2), 0)
    numbers = [problem.take(0).shares[part].batch[0] for part in range(4)]
    problem.gradient(0)
    expected = {"numbers": float(torch.cat(numbers).mean()), "largest": float(torch.cat(numbers).max())}
    assert problem.logged.take() == expected


def test_on_epoch_is_called_in_each_peer(grouped: GroupProblems) -> None:
    problem = grouped(job("epochs"), 0)
    assert [problem.gradient(position).loss for position in range(4)] == [0.0, 0.0, 1.0, 1.0]


def test_a_mini_batch_that_cannot_be_split_is_refused_by_name(grouped: GroupProblems) -> None:
    with pytest.raises(UserError) as caught:
        grouped(job(kind="Nameless"), 0).gradient(0)
    assert isinstance(caught.value.__cause__, InvalidWorkload)
    assert str(caught.value.__cause__).startswith("accumulate, roles.worker.group: a mini-batch of 8 examples holds")


@pytest.mark.parametrize(
    ("more", "remedy"),
    [
        ({"roles": {"worker": {"group": 2, "hogwild": 2}}, "strategy": {"name": "adag", "lr": 0.1}}, "remove one of the two"),
        ({"accumulate": 8}, "a batch_size of 8 has no 16 parts"),
        ({"roles": {"worker": {"group": 65}}}, "less than or equal to 64"),
        ({"roles": {"worker": {"group": {"rows": 2}}}}, "Extra inputs"),
        ({"roles": {"worker": {"group": {"fsdp": 4}}}, "accumulate": 4}, "a batch_size of 8 has no 16 parts"),
    ],
    ids=str,
)
def test_what_a_group_cannot_do_is_refused_with_a_remedy(more: dict[str, Any], remedy: str) -> None:
    with pytest.raises(ValueError, match=remedy):
        job(**more)


@pytest.mark.parametrize("group", [{"stages": 4}, {"stages": 2, "replicate": 3}, {"stages": 8, "fsdp": 2}], ids=str)
@pytest.mark.parametrize("batch_size", [8, 12, 200])
def test_the_number_of_micro_batches_that_stages_are_refused_with_is_one_that_works(group: dict[str, int], batch_size: int) -> None:
    roles = {"worker": {"group": group}}
    with pytest.raises(ValueError, match="need as many parts of a mini-batch") as refused:
        job(roles=roles, batch_size=batch_size)
    found = {name: int(number) for name, number in re.findall(r"(batch_size to|accumulate:) (\d+)", str(refused.value))}
    remedied = job(roles=roles, batch_size=found.get("batch_size to", batch_size), accumulate=found["accumulate:"])
    assert remedied.accumulate >= group["stages"]
