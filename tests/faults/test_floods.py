"""What one job takes in abundance costs no other job its node or an attempt."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.platforms import Lab, slow_until
from tests.platforms import lab as make_lab


@pytest.mark.more
def test_output_of_one_job_costs_another_nothing(lab: Lab, tmp_path: Path) -> None:
    """Two processes print 150 MiB each while another job trains beside them."""
    go = tmp_path / "go"
    roles = {"worker": {"count": 1, "device": "cpu"}, "server": {"count": 1}}
    victim = lab.submit("victim", roles=roles, args=slow_until(go, pause=2.0))
    lab.trains(victim)
    chatty = lab.ended(lab.submit("chatty", args={"breaks": "flood"}))
    assert (chatty.status, chatty.attempt) == ("succeeded", 1)
    assert not lab.client.job(victim.id).ended, "it was there all the while"
    go.touch()
    ended = lab.ended(victim)
    assert (ended.status, ended.attempt) == ("succeeded", 1)
    assert "silent" not in lab.messages(victim)


@pytest.mark.more
def test_a_flood_of_the_data_plane_ends_its_job_only(tmp_path: Path) -> None:
    """A worker fills the data plane's Redis through the account of its attempt, while another job trains beside it."""
    go = tmp_path / "go"
    steady = {"strategy": {"name": "sync"}, "stop": {"epochs": 30}}  # with its pauses longer than any wait here
    with make_lab(tmp_path, slots=4, plane_memory="256mb") as lab:
        victim = lab.submit("victim", args=slow_until(go, pause=2.0), **steady)
        lab.trains(victim)
        flood = lab.submit(
            "flood",
            workload={"entrypoint": "troublemaker:Troublemaker", "args": {"kind": "floods_the_data_plane"}},
            roles={"worker": {"count": 1, "device": "cpu"}, "server": {"count": 1}},
            retries=0,
        )
        ended = lab.ended(flood)
        assert (ended.status, ended.reason) == ("failed", "plane_memory"), lab.messages(flood)
        assert "Its code must leave the data plane's Redis alone" in (ended.message or "")
        assert not lab.client.job(victim.id).ended, "it was there all the while"
        go.touch()
        after = lab.ended(victim)
        assert (after.status, after.attempt) == ("succeeded", 1), lab.messages(victim)
        assert {process.incarnation for process in lab.client.processes(victim.id)} == {0}
        assert "The job flood was ended" in lab.messages(victim)
        calm = lab.ended(lab.submit(**steady))
        expected, got = lab.weights(calm, tmp_path), lab.weights(after, tmp_path)
        assert all(torch.equal(expected[name], got[name]) for name in expected)
