"""What one job takes in abundance costs no other job its node or an attempt."""

from __future__ import annotations

from pathlib import Path

from tests.platforms import Lab, slow_until


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
