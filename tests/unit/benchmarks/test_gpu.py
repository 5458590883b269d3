"""The ratios that the benchmark of one GPU prints, from figures of its sides."""

from __future__ import annotations

import pytest
import torch

from benchmarks import gpu
from benchmarks.peers import ours
from benchmarks.peers.system import Told
from benchmarks.peers.systems import SYSTEMS
from gradstream.local.training.gpus import assign

TIMES = {"on the GPU": 0.3, "two copies and an addition": 0.2, "through the host": 0.5, "a copy each way": 0.25}


def test_times_are_to_stay_below_a_ratio_and_rates_above_one() -> None:
    rates = {
        "single mlp": 1000.0,
        "gradstream-adag12-alone mlp": 960.0,
        "single-bf16 mlp": 1500.0,
        "gradstream-adag12-alone-bf16 mlp": 1200.0,
        "gradstream-async mlp": 900.0,
        "ddp mlp": 1000.0,
    }
    found = {row["figure"]: (row["got"], row["reached"]) for row in gpu.rows_of(TIMES, rates, ["mlp"])}
    assert found == {
        "exchange of 80 MB on one GPU, to two copies and an addition": (pytest.approx(1.5), True),
        "exchange of 80 MB with a server on the CPU, to a copy each way": (pytest.approx(2.0), False),
        "async on mlp, to DDP over gloo": (pytest.approx(0.9), False),
        "adag 12 on mlp, one worker, to plain PyTorch": (pytest.approx(0.96), True),
        "gain by bf16 on mlp, to that of plain PyTorch": (pytest.approx((1200 / 960) / 1.5), False),
    }


def test_each_figure_names_sides_that_are_measured() -> None:
    sides = {*gpu._sides(list(gpu.ITEMS)), *TIMES}
    assert {side for figure in (*gpu.EXCHANGES, *gpu.TRAININGS) for side in (figure.ours, figure.peer)} <= sides


@pytest.mark.parametrize("side", [side for side in gpu._sides(list(gpu.ITEMS)) if side.startswith("gradstream")])
def test_its_jobs_have_their_workers_and_servers_on_one_gpu(side: str) -> None:
    system, item = side.split()
    spec = ours.job(Told(item, "", "", device="cuda", options=dict(SYSTEMS[system].options)))
    found = assign(spec, len(ours.FIRST_GPU))
    assert len(found) == spec.roles.worker.count + spec.roles.server.shards
    assert set(ours.FIRST_GPU) == {0}


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU, which would be measured")
def test_without_a_gpu_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu.main([]) == 0
    assert "NO CUDA DEVICE" in capsys.readouterr().out
