"""The GPUs that `gradstream train` hands out: never more than there are, all of a role or none, as the job file says."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from gradstream.errors import InvalidJob
from gradstream.local.training.gpus import assign, note_on
from gradstream.spec import JobSpec
from gradstream.spec.values import GPU_SHARES, GPU_TICKS


def job(worker: dict[str, Any], server: dict[str, Any]) -> JobSpec:
    given = {"workload": {"entrypoint": "work:Work"}, "strategy": {"name": "async"}, "stop": {"steps": 1}}
    return JobSpec.model_validate({"name": "job", "roles": {"worker": worker, "server": server}, **given})


@pytest.mark.parametrize(
    ("worker", "server", "count", "found"),
    [
        ({}, {}, 0, {}),
        ({}, {}, 1, {"worker-0": [0]}),
        ({"device": "cpu"}, {}, 4, {}),
        ({"count": 2}, {}, 1, {}),
        ({"count": 2}, {}, 3, {"worker-0": [0], "worker-1": [1]}),
        ({}, {"device": "auto"}, 1, {"worker-0": [0]}),
        ({}, {"device": "auto"}, 2, {"server-0": [0], "worker-0": [1]}),
        ({"gpu": 0.5}, {"device": "auto"}, 1, {"server-0": [0], "worker-0": [0]}),
        ({"count": 2, "gpu": 0.333}, {"device": "cuda"}, 1, {"server-0": [0], "worker-0": [0], "worker-1": [0]}),
        ({"count": 2, "gpu": 0.5}, {"device": "auto"}, 1, {"worker-0": [0], "worker-1": [0]}),
        ({"count": 2, "gpu": 0.5}, {"device": "auto", "gpu": 0.25}, 2, {"server-0": [0], "worker-0": [0], "worker-1": [1]}),
        ({"count": 2, "gpu": 0.333}, {"device": "cuda", "gpu": 0.5}, 2, {"server-0": [0], "worker-0": [0], "worker-1": [1]}),
        ({"count": 2}, {"device": "auto"}, 1, {}),
        ({"count": 1, "device": "auto"}, {"device": "cuda"}, 1, {"server-0": [0]}),
        ({"device": "cpu"}, {"device": "auto"}, 1, {"server-0": [0]}),
        ({"device": "cuda", "group": 3, "gpu": 0.5}, {}, 2, {"worker-0": [0, 0, 1]}),
        ({"count": 2, "group": 2}, {}, 4, {"worker-0": [0, 1], "worker-1": [2, 3]}),
        ({"count": 2, "group": 2}, {}, 3, {}),
        ({"hogwild": 2}, {"device": "auto", "gpu": 0.25}, 1, {"server-0": [0]}),
    ],
)
def test_who_gets_which_gpu(worker: dict[str, Any], server: dict[str, Any], count: int, found: dict[str, list[int]]) -> None:
    assert assign(job(worker, server), count) == found


@pytest.mark.parametrize(
    ("worker", "server", "count", "obstacle", "message"),
    [
        (
            {"device": "cuda"},
            {},
            0,
            "",
            "roles.worker.device: 1 worker takes 1 GPU, and this machine has none that torch can use; set auto or cpu",
        ),
        (
            {"device": "cuda"},
            {},
            0,
            "torch 2+cpu has no CUDA; install a torch with CUDA",
            "roles.worker.device: 1 worker takes 1 GPU, and this machine has none that torch can use (torch 2+cpu has no CUDA; "
            "install a torch with CUDA); set auto or cpu",
        ),
        (
            {"device": "cuda", "count": 5, "gpu": 0.5},
            {"device": "auto"},
            1,
            "",
            "roles.worker.device: 5 workers take 3 GPUs, and this machine has 1 that torch can use; set a smaller share "
            "(roles.worker.gpu), fewer workers (roles.worker.count), or auto",
        ),
        (
            {"device": "cuda", "group": 4},
            {},
            2,
            "",
            "roles.worker.device: 1 worker takes 4 GPUs, and this machine has 2 that torch can use; set a smaller share "
            "(roles.worker.gpu), fewer workers (roles.worker.count), or auto",
        ),
        (
            {"device": "cuda"},
            {"device": "cuda"},
            1,
            "",
            "roles.server.device: 1 worker and 1 shard take 2 GPUs, and this machine has 1 that torch can use; set smaller shares "
            "(roles.worker.gpu, roles.server.gpu), or auto",
        ),
        (
            {},
            {"device": "cuda", "count": 2},
            1,
            "",
            "roles.server.device: 2 shards take 2 GPUs, and this machine has 1 that torch can use; set smaller shares "
            "(roles.worker.gpu, roles.server.gpu), or auto",
        ),
    ],
)
def test_too_few_gpus_are_said_with_a_remedy(
    worker: dict[str, Any], server: dict[str, Any], count: int, obstacle: str, message: str
) -> None:
    with pytest.raises(InvalidJob) as error:
        assign(job(worker, server), count, obstacle)
    assert error.value.message == message


def test_workers_that_stay_on_cpus_beside_gpus_are_said() -> None:
    assert note_on(job({"count": 3}, {}), 2) == (
        "roles.worker.device: auto. 3 workers take 3 GPUs, and this machine has 2, so all workers compute on CPUs. To use GPUs, "
        "set a smaller share (roles.worker.gpu) or fewer workers (roles.worker.count)."
    )
    assert note_on(job({"count": 3}, {}), 0) is None
    assert note_on(job({"count": 2}, {}), 2) is None
    assert note_on(job({"device": "cpu"}, {}), 2) is None


@pytest.mark.parametrize("seed", range(3))
def test_no_gpu_is_more_than_full_and_auto_gives_all_of_a_role_or_none(seed: int) -> None:
    draw, found = random.Random(seed), Counter[str]()
    for _ in range(300):
        spec, count = draw_job(draw), draw.randint(0, 5)
        worker, server, roles = spec.roles.worker, spec.roles.server, spec.roles
        try:
            given = assign(spec, count)
        except InvalidJob:
            assert "cuda" in (worker.device, server.device)
            found["refused"] += 1
            continue
        used = Counter[int]()
        for name, gpus in given.items():
            is_shard = name.startswith("server")
            assert len(gpus) == (1 if is_shard else worker.gpu_processes)
            share = roles.shard_gpu_share if is_shard else worker.gpu_share
            for gpu in gpus:
                used[gpu] += GPU_TICKS // share
        assert not used or (max(used.values()) <= GPU_TICKS and set(used) <= set(range(count)))
        ranks = Counter(name.partition("-")[0] for name in given)
        assert ranks["worker"] in ({"cuda": [worker.count], "cpu": [0], "auto": [0, worker.count]}[worker.effective_device])
        assert ranks["server"] in ({"cuda": [server.count], "cpu": [0], "auto": [0, server.count]}[server.device])
        more = assign(spec, count + 1)
        assert len(more) >= len(given), "no process loses its GPU by one more"
        found.update(ranks)
    assert all(found[name] for name in ("refused", "worker", "server"))


def draw_job(draw: random.Random) -> JobSpec:
    parts = [round(1 / k, 3) for k in GPU_SHARES]
    device, on = draw.choice(["cuda", "auto", "cpu"]), draw.choice(["cuda", "auto", "cpu"])
    worker: dict[str, Any] = {"count": draw.randint(1, 5), "device": device}
    server: dict[str, Any] = {"count": draw.randint(1, 3), "device": on}
    if device != "cpu":
        worker |= {"gpu": draw.choice(parts), "group": draw.choice([1, 1, 2, 3])}
    if on != "cpu" and draw.random() < 0.5:
        server["gpu"] = draw.choice(parts)
    return job(worker, server)
