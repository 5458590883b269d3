"""Shares of a GPU in job files."""

from __future__ import annotations

import pytest

from gradstream import jobfile
from gradstream.spec.values import GPU_SHARES, GPU_TICKS
from tests.unit.jobfile.test_jobfile import JOB, problems


def role(**worker: object) -> str:
    return JOB + f"roles: {{worker: {{{', '.join(f'{key}: {value}' for key, value in worker.items())}}}}}\n"


@pytest.mark.parametrize(
    ("part", "share"), [(1, 1), (0.5, 2), (0.33, 3), (0.3333, 3), (0.25, 4), (0.2, 5), (0.167, 6), (0.1, 10), (0.083, 12)]
)
def test_a_part_is_one_of_k(part: float, share: int) -> None:
    assert jobfile.load(role(gpu=part)).roles.worker.gpu_share == share


def test_each_share_is_a_whole_number_of_ticks() -> None:
    assert [GPU_TICKS % share for share in GPU_SHARES] == [0] * len(GPU_SHARES)


@pytest.mark.parametrize("part", [0.4, 0.7, 0.01, 0.9, 0.143])
def test_another_part_is_refused_with_place_line_and_remedy(part: float) -> None:
    [(place, message)] = problems(role(gpu=part)).items()
    assert place == "/roles/worker/gpu"
    assert f"not by parts of {part:g}; set 1, 0.5, 0.333" in message
    assert message.endswith("(line 9)")


@pytest.mark.parametrize(
    ("worker", "server", "share"), [(0.5, "", 2), (0.5, "gpu: 0.25, ", 4), (1, "gpu: 0.5, ", 2), (0.5, "gpu: 1, ", 1), (1, "", 1)]
)
def test_a_shard_takes_as_much_as_a_worker_unless_the_file_says_its_share(worker: float, server: str, share: int) -> None:
    roles = f"roles: {{worker: {{gpu: {worker}}}, server: {{{server}device: auto}}}}\n"
    assert jobfile.load(JOB + roles).roles.shard_gpu_share == share


def test_shards_on_cpus_take_no_share() -> None:
    [(place, message)] = problems(JOB + "roles: {server: {gpu: 0.5}}\n").items()
    assert place == "/roles/server/gpu"
    assert "set roles.server.device: cuda or auto, or remove gpu" in message


@pytest.mark.parametrize("part", [0, -0.5, 2])
def test_a_gpu_has_no_more_than_itself_to_give(part: float) -> None:
    assert list(problems(role(gpu=part))) == ["/roles/worker/gpu"]


@pytest.mark.parametrize(
    ("worker", "remedy"),
    [({"device": "cpu"}, "set roles.worker.device: cuda or auto, or remove gpu"), ({"hogwild": 2}, "remove gpu, or hogwild")],
    ids=str,
)
def test_workers_on_cpus_take_no_share(worker: dict[str, object], remedy: str) -> None:
    [(place, message)] = problems(role(gpu=0.5, **worker)).items()
    assert place == "/roles/worker/gpu"
    assert f"these workers compute on CPUs; {remedy}" in message
