"""The formulas of `gradstream.advise.forecast` against the simulator and the codecs."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest
import torch

from gradstream.advise.forecast import memory, rhythm, shard_on_gpu, staleness, traffic, worker_on_gpu
from gradstream.advise.group.activations import filled_parameters
from gradstream.advise.outlook import Machines, outlook
from gradstream.api.plan import MeasuredSize, Memory, Size
from gradstream.codecs import CODECS
from gradstream.sim.times.speeds import parse
from gradstream.sim.toys import job
from gradstream.spec import JobSpec
from gradstream.strategies import STRATEGIES

NEAR = Machines(step=0.01, bandwidth=1e15, latency=1e-9, speeds=parse("lognormal:0.1"))
WINDOW = {"name": "adag", "window": 4}

JOBS = [
    *[job({"name": name}, workers=strategy.workers or 4) for name, strategy in STRATEGIES.items()],
    job(WINDOW, workers=3, gate="bsp"),
    job(WINDOW, workers=4, gate={"ssp": 0}),
    job(WINDOW, workers=4, gate={"ssp": 3}),
    job(WINDOW, workers=4, gate={"mode": "bsp", "quorum": 2}),
    job(WINDOW, workers=4, gate={"mode": "asp", "max_staleness": 2}),
    job({"name": "async"}, workers=4, pipeline=1),
    job({"name": "async"}),
    job({"name": "async"}, pipeline=1),
    job({"name": "dynsgd"}, workers=4, pipeline=1, gate={"mode": "asp", "max_staleness": 3}),
    job({"name": "delayed_diloco", "window": 4}, workers=4, pipeline=1),
    job({"name": "delayed_diloco", "window": 4, "k": 2}, workers=4),
    *[job({"name": "downpour", "n_push": push, "n_fetch": fetch}, workers=4) for push, fetch in ((4, 2), (2, 4), (3, 2))],
    job({"name": "geo", "window": 6, "delay": 2}, workers=4),
]


@pytest.mark.few(12)
@pytest.mark.parametrize("spec", JOBS, ids=str)
def test_staleness_and_rhythm_are_what_the_simulator_finds(spec: JobSpec) -> None:
    seen = outlook(spec, NEAR, payload=4e6, per_epoch=50, curvature=None)
    assert staleness(spec).mean == pytest.approx(seen.staleness, rel=0.06, abs=0.02)
    if beat := rhythm(spec):
        assert beat == pytest.approx((seen.pushed, seen.pulled), rel=0.02)
    else:
        assert spec.strategy.name in ("fedavg", "fedprox"), "only an epoch is as long as the data"


@pytest.mark.parametrize("codec", CODECS)
def test_bytes_are_those_of_the_codec_on_every_shard(codec: str) -> None:
    spec = job(WINDOW, workers=2, shards=3, codec={"name": codec})
    x, chosen = torch.randn(30_000), spec.codec
    whole = sum(len(chosen.encode(part)) for part in (x[:8192], x[8192:20480], x[20480:]))
    found = traffic(spec, Size(parameters=x.numel(), step=0.02))
    assert (found.push_bytes, found.pull_bytes) == (whole, x.nbytes)
    assert found.sent_per_second == pytest.approx(whole / 4 / 0.02)
    assert found.received_per_second == pytest.approx(x.nbytes / 4 / 0.02)


def test_a_group_on_several_machines_sends_theta_to_each() -> None:
    def on(machines: int) -> int | None:
        roles = {"worker": {"count": 1, "group": {"replicate": 4, "machines": machines}}}
        return traffic(job({"name": "sync"}, workers=1, roles=roles), Size(parameters=1000)).machine_bytes

    assert [on(1), on(2), on(4)] == [None, 4000, 4000]


def test_what_is_not_known_is_left_open() -> None:
    size = Size(parameters=1000)
    assert traffic(job(WINDOW), size).sent_per_second is None
    assert traffic(job({"name": "fedavg"}, workers=2), size.model_copy(update={"step": 0.1})).pushes is None


def test_averaged_optimizers_travel() -> None:
    size, adam = Size(parameters=1000), {"name": "adam"}
    kept, averaged = (job({"name": "local_sgd", "inner": inner}, optimizer=adam) for inner in ("keep", "average"))
    assert traffic(averaged, size).push_bytes == 3 * traffic(kept, size).push_bytes


def test_memory_grows_with_what_is_kept() -> None:
    def bytes_of(strategy: str, **more: Any) -> tuple[int, int]:
        found = memory(job({"name": strategy}, workers=4, **more), Size(parameters=1000))
        return found.worker // 4000, found.server // 4000

    worker, server = bytes_of("async")
    assert bytes_of("async", optimizer={"name": "adam"}) == (worker, server + 2 * 2 + 2), (
        "the server descends; checkpoints copy; a step makes two"
    )
    assert bytes_of("diloco") == (worker + 3, server - 1 + 2 + 2), (
        "what a round makes; the servers' momentum, a mean and a look-ahead"
    )
    assert bytes_of("adag", optimizer={"name": "adam"}) == (worker + 4 + 2, server), "the workers do"
    assert bytes_of("dc_asgd") == (worker, server - 1 + 2 * 4 + 1), (
        "what each worker pulled, and a direction, instead of one for a sample"
    )
    threads = {"worker": {"count": 4, "hogwild": 3}}
    assert bytes_of("async", roles=threads) == (worker + 2, server), "each thread has gradients of its own"
    assert bytes_of("adag", roles=threads, optimizer={"name": "adam"}) == (worker + 4 + 2 + 2 * 3, server), "and an optimizer"
    for group, vectors in ((3, 4), ({"tensor": 3}, 3)):
        in_groups = {"worker": {"count": 4, "group": group}}
        assert bytes_of("async", roles=in_groups) == (worker + vectors, server), "gradients of the other peers"
    assert bytes_of("async", codec={"name": "int8"}) == (worker + 1, server), "what a lossy codec has not sent yet"


def in_group(group: Any, size: Size | None = None, **more: Any) -> Memory:
    roles = {"worker": {"count": 4, "group": group}}
    accumulate = 4 if isinstance(group, dict) and "stages" in group else 1
    spec = job({"name": "adag"}, workers=4, roles=roles, optimizer={"name": "adam"}, **{"accumulate": accumulate, **more})
    return memory(spec, size or MeasuredSize(parameters=1000, largest_parameter=10, whole_parameters=0))


def test_a_peer_has_its_gradients_or_its_part_of_the_optimizer() -> None:
    def of_peer(group: Any, **more: Any) -> int | None:
        return in_group(group, **more).peer

    assert of_peer(1) is None
    assert of_peer(3) == 4000, "what backward leaves; the lead finds it in memory that both share"
    assert of_peer({"stages": 4}) == 1000 + 8 * 40, "those of its blocks, and holes for them"
    assert of_peer({"stages": 4}, size=Size(parameters=1000)) == 3000, "twice as much in holes, at most"
    assert of_peer({"tensor": 4}) == 1000, "those of its rows and columns"
    assert of_peer({"tensor": 4}, accumulate=2) == 1000 + 8 * 10, "and holes of their size"
    assert of_peer(3, accumulate=2) == 4000 + 8 * 40
    assert of_peer({"fsdp": 4}) == 2 * 1000 + 8 * 40, "a fourth of the means and of their squares, and buckets of gradients"
    assert of_peer({"fsdp": 3}) == math.ceil(2 * 4000 / 3 + 320)
    assert of_peer({"fsdp": 2, "tensor": 2}) == 2000 + 2 * 1000, "those of its rows and columns, and a fourth of both means"
    assert of_peer({"fsdp": 2, "stages": 4}) == 1000 + 2 * 8 * 40, "an eighth of both means, and buckets of its blocks"
    assert of_peer({"stages": 4, "tensor": 2}) == 500 + 8 * 20, "half of those of its blocks"
    assert of_peer({"fsdp": 4}, precision="bf16") == 2 * 1000 + 320 + 2000
    assert of_peer({"stages": 4}, precision="bf16") == 1320 + 500, "of the weights that it computes with"


@pytest.mark.parametrize(
    ("whole", "each"), [(0, 1000), (400, 4 * (600 // 4 + 400)), (1000, 4000), (None, 4000)], ids=["none", "some", "all", "unknown"]
)
def test_tensor_leaves_gradients_of_whole_parameters_in_each_process(whole: int | None, each: int) -> None:
    """Where it is not known what is split, the most counts."""
    found = in_group({"tensor": 4}, MeasuredSize(parameters=1000, whole_parameters=whole))
    assert found.peer == each
    assert found.lead == each + (2 + 4 + 2) * 4000, "with what travels, what a round makes, and the optimizer"
    assert found.worker == 4000 * (1 + 2 + 4 + 2 + 1) + 4 * each, "and with theta, and one vector that they share"


@pytest.mark.parametrize(
    "group",
    [
        3,
        {"fsdp": 4},
        {"stages": 4},
        {"replicate": 2, "stages": 4},
        {"fsdp": 4, "stages": 2},
        {"stages": 4, "tensor": 2},
        {"tensor": 4},
        {"fsdp": 2, "tensor": 2},
    ],
    ids=str,
)
def test_a_group_has_what_its_processes_have_and_what_they_share(group: Any) -> None:
    found, peers = in_group(group), group if isinstance(group, int) else math.prod(group.values())
    assert found.lead is not None
    assert found.peer is not None
    vectors = 2 if group in (3, {"replicate": 2, "stages": 4}) else 1
    shared = 1 + vectors
    assert found.worker == found.lead + (peers - 1) * found.peer + shared * 4000


def test_autocast_keeps_a_copy_of_the_weights_in_16_bits() -> None:
    size = Size(parameters=1000)
    plain, narrow = (job({"name": "async"}, workers=4, precision=name) for name in ("fp32", "bf16"))
    one, other = memory(plain, size), memory(narrow, size)
    assert (other.worker, other.evaluator, other.server) == (one.worker + 2000, one.evaluator + 2000, one.server)
    assert worker_on_gpu(narrow, size).gpu == worker_on_gpu(plain, size).gpu + 2000


def test_threads_of_a_worker_push_more_often_and_with_more_staleness() -> None:
    size = Size(parameters=1000, step=0.01)
    one, two = (job({"name": "async"}, workers=3, roles={"worker": {"count": 3, "hogwild": h}}) for h in (1, 2))
    assert (staleness(one).mean, staleness(two).mean) == (2, 2 * 2 + 0.5)
    assert traffic(two, size).sent_per_second == 2 * (traffic(one, size).sent_per_second or 0)


def test_needs_no_torch() -> None:
    job_file = "{name: a, workload: {entrypoint: a:B}, strategy: {name: async}, stop: {steps: 1}, codec: {name: int8}}"
    told = (
        "import sys; from gradstream import jobfile; from gradstream.advise.forecast import *; "
        f"traffic(jobfile.load({job_file!r}), Size(parameters=9)); sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", told], check=False, timeout=60).returncode == 0


def test_a_polyak_average_is_one_vector_more_of_the_shards_and_of_a_checkpoint() -> None:
    size, average = Size(parameters=1000), {"average": 0.01}
    assert memory(job(WINDOW, evaluate=average), size).server == memory(job(WINDOW), size).server + 2 * 4000


def test_each_further_machine_of_a_group_has_theta_and_its_gradients() -> None:
    one, two = in_group({"replicate": 2}), in_group({"replicate": 4, "machines": 2})
    assert one.machine is None
    assert two.machine == 4000 * (1 + 2 + 2), "theta; a sum for each replicate; what backward leaves in each"
    assert two.worker == one.worker + 4000, "the gradient of the other machine"
    assert in_group({"replicate": 6, "machines": 3}).worker == one.worker + 2 * 4000
    assert (two.lead, two.peer) == (one.lead, one.peer)
    assert in_group({"replicate": 2, "machines": 2}).machine == 4000 * (1 + 1 + 1)
    assert in_group({"replicate": 2, "tensor": 2, "machines": 2}).machine == 4000 * (1 + 1 + 1), "a half in each"


def test_a_shard_on_a_gpu_has_the_newest_push_of_each_worker_there() -> None:
    def vectors(strategy: str, shards: int = 1, **more: Any) -> tuple[float, float]:
        found = shard_on_gpu(job({"name": strategy}, workers=4, shards=shards, **more), Size(parameters=1024))
        return found.gpu / 4096, found.host / 4096

    assert vectors("async") == (2 + 1 + 4, 1)
    assert vectors("async", optimizer={"name": "adam"}) == (2 + 1 + 2 * 2 + 2 + 4, 1)
    assert vectors("async", shards=4) == ((2 + 1 + 4) / 4, 1 / 4)
    assert vectors("easgd", gate="bsp") == (2 + 4 + 4, 4), "each is answered with a vector of its own"


@pytest.mark.parametrize(
    ("worker", "more", "beside"),
    [
        ({"gpu": 0.5}, {}, 1),
        ({"gpu": 0.25}, {}, 3),
        ({"gpu": 0.25}, {"pipeline": 1}, 3),
        ({"gpu": 0.1}, {}, 4),
        ({"gpu": 0.25}, {"codec": {"name": "bf16"}}, 0),
        ({"gpu": 0.25, "group": 2}, {}, 0),
        ({"device": "cpu"}, {}, 0),
        ({}, {}, 0),
    ],
)
def test_a_shard_makes_the_centers_of_workers_on_its_gpu(worker: dict[str, Any], more: dict[str, Any], beside: int) -> None:
    roles = {"server": {"device": "cuda"}, "worker": {"count": 4, **worker}}
    spec = job({"name": "async"}, workers=4, roles=roles, **more)
    alone = job({"name": "async"}, workers=4, **more)
    size = Size(parameters=1024)
    centers = beside * (1 + spec.pipeline)
    assert shard_on_gpu(spec, size).gpu - shard_on_gpu(alone, size).gpu == 4096 * centers


def test_a_worker_on_a_gpu_keeps_on_the_host_what_travels() -> None:
    size = Size(parameters=1024)
    plain, heavy = (
        worker_on_gpu(spec, size)
        for spec in (job({"name": "adag"}), job({"name": "adag"}, optimizer={"name": "adam"}, codec={"name": "int8"}))
    )
    assert (plain.gpu, plain.host) == ((3 + 4) * 4096, 2 * 4096), "a round of adag makes four"
    assert (heavy.gpu, heavy.host) == ((5 + 4) * 4096, 3 * 4096)


@pytest.mark.parametrize(
    ("group", "gpu", "host"),
    [
        ({"replicate": 2}, 1 + 1 + 1, 1 + 1 + 1),
        ({"fsdp": 4}, 1 + 0.08, 1 + 1 + 4 * 0.08),
        ({"stages": 4}, 0.25 + 0.25 + 0.08, 1 + 1),
        ({"fsdp": 2, "stages": 4}, 0.25 + 2 * 0.08, 1 + 1 + 8 * 2 * 0.08),
        ({"tensor": 4}, 1 + 0.25, 1 + 1),
    ],
    ids=str,
)
def test_a_process_of_a_group_has_the_parameters_that_it_computes_with_on_its_gpu(
    group: dict[str, int], gpu: float, host: float
) -> None:
    """Gradients beside them; theta and the sums of gradients are on the host, and copies of buckets on their way."""
    size = MeasuredSize(parameters=1000, largest_parameter=10, whole_parameters=0)
    accumulate = 4 if "stages" in group else 1
    spec = job({"name": "sync"}, roles={"worker": {"count": 1, "device": "cuda", "group": group}}, accumulate=accumulate)
    found = worker_on_gpu(spec, size)
    assert (found.gpu, found.host) == (pytest.approx(4000 * gpu), pytest.approx(4000 * (host + 2))), "and what travels"


def test_a_stage_has_what_stands_outside_of_the_blocks_and_its_own_blocks() -> None:
    size = MeasuredSize(parameters=1000, largest_parameter=1, blocks=(100, 100, 300, 100))
    spec = job({"name": "sync"}, roles={"worker": {"count": 1, "device": "cuda", "group": {"stages": 2}}}, accumulate=2)
    parameters = 400 + 500
    assert worker_on_gpu(spec, size).gpu == 4 * (2 * parameters + 8), "and their gradients, with holes"
    assert worker_on_gpu(spec, Size(parameters=1000)).gpu == pytest.approx(4 * (2 * 500 + 500), abs=1), "half each, if not known"


OUTSIDE, BLOCK = 400, 100


@pytest.mark.parametrize(
    ("group", "more", "filled"),
    [
        ({"fsdp": 4}, {}, OUTSIDE + 2 * BLOCK),
        ({"fsdp": 2, "replicate": 2}, {}, OUTSIDE + 2 * BLOCK),
        ({"fsdp": 2, "stages": 2}, {"accumulate": 2}, OUTSIDE + 2 * BLOCK),
        ({"fsdp": 2, "stages": 6}, {"accumulate": 6}, OUTSIDE + BLOCK),
        ({"fsdp": 2, "tensor": 2}, {}, 1000),
        ({"fsdp": 4}, {"compile": True}, 1000),
        ({"replicate": 4}, {}, 1000),
    ],
    ids=str,
)
def test_with_fsdp_two_blocks_have_memory_on_a_gpu(group: dict[str, int], more: dict[str, Any], filled: int) -> None:
    size = MeasuredSize(parameters=1000, largest_parameter=1, blocks=(BLOCK,) * 6)
    spec = job({"name": "sync"}, roles={"worker": {"count": 1, "device": "cuda", "group": group}}, **more)
    assert filled_parameters(spec, size) == pytest.approx(filled / 1000)
    assert filled_parameters(spec, Size(parameters=1000)) == pytest.approx(1 / group.get("stages", 1)), "not known"


@pytest.mark.parametrize(
    ("group", "more", "filled"),
    [
        ({"fsdp": 4}, {}, 800 + 2 * 60),
        ({"stages": 3}, {"accumulate": 3}, 800 + 50 + 60),
        ({"fsdp": 2, "stages": 5}, {"accumulate": 5}, 800 + 60),
    ],
    ids=str,
)
def test_a_weight_that_blocks_share_is_on_each_gpu_all_the_time(group: dict[str, int], more: dict[str, Any], filled: int) -> None:
    """600 parameters that all blocks share, 200 outside of them, and 200 of the blocks alone; the last one is called twice."""
    size = MeasuredSize(parameters=1000, largest_parameter=1, blocks=(650, 660, 640, 650, 650), own_blocks=(50, 60, 40, 50, 0))
    spec = job({"name": "sync"}, roles={"worker": {"count": 1, "device": "cuda", "group": group}}, **more)
    assert filled_parameters(spec, size) == pytest.approx(filled / 1000)


def test_recompute_frees_the_narrow_copies_of_blocks() -> None:
    size = MeasuredSize(parameters=1000, largest_parameter=1, blocks=(BLOCK,) * 6)
    roles = {"worker": {"count": 1, "device": "cuda", "group": {"fsdp": 4}}}
    plain, narrow, both = (
        worker_on_gpu(job({"name": "sync"}, roles=roles, **more), size).gpu
        for more in ({}, {"precision": "bf16"}, {"precision": "bf16", "recompute": "blocks"})
    )
    assert (narrow - plain, both - plain) == (2 * 1000, 2 * (OUTSIDE + 2 * BLOCK))


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ({}, 32 * 1000),
        ({"accumulate": 4}, 8 * 1000),
        ({"precision": "bf16"}, 32 * 500),
        ({"recompute": "blocks"}, 32 * (4 * 20 + 250)),
        ({"roles": {"worker": {"group": {"fsdp": 2}}}}, 16 * 1000),
        ({"roles": {"worker": {"group": {"stages": 2}}}, "accumulate": 8}, 4 * 2 * 500),
        ({"roles": {"worker": {"group": {"stages": 2}}}, "accumulate": 8, "recompute": "blocks"}, 4 * 2 * (2 * 20 + 250)),
    ],
    ids=str,
)
def test_activations_are_those_of_the_examples_that_a_process_has_at_a_time(more: dict[str, Any], kept: int) -> None:
    size = MeasuredSize(parameters=1000, blocks=(250,) * 4, block_output=20, activations=1000)
    assert memory(job({"name": "sync"}, batch_size=32, **more), size).activations == kept
    assert memory(job({"name": "sync"}), Size(parameters=1000)).activations is None


def test_processes_of_an_evaluator_share_theta_and_have_a_mini_batch_each() -> None:
    size = MeasuredSize(parameters=1000, blocks=(400, 400), block_output=10, activations=100)
    one, by_samples = {"every": 1.0}, {"every": "64 samples"}
    several = {**by_samples, "processes": 3, "batch_size": 7}
    found = [memory(job({"name": "sync"}, evaluate=each), size).evaluator for each in (one, by_samples, several)]
    assert found == [8000, 4000, 8000 + 3 * 7 * 100]
    bf16 = memory(job({"name": "sync"}, evaluate=several, precision="bf16"), size).evaluator
    assert bf16 == 8000 + 3 * 2000 + 3 * 7 * 50
    deep = size.model_copy(update={"blocks": (10,) * 100})
    assert memory(job({"name": "sync"}, evaluate=several), deep).evaluator == 8000 + 3 * 7 * 4 * (1 + 10)
    assert memory(job({"name": "sync"}, evaluate=several), Size(parameters=1000)).evaluator == 8000


def test_with_nccl_a_worker_has_the_whole_shard_on_its_gpu() -> None:
    size, strategy = Size(parameters=1024), {"name": "sync"}
    roles = {"server": {"count": 0, "collective": "nccl"}, "worker": {"count": 2, "device": "cuda"}}
    plain, heavy = (worker_on_gpu(job(strategy, roles=roles, **more), size) for more in ({}, {"optimizer": {"name": "adam"}}))
    assert (plain.gpu, plain.host) == ((4 + 3) * 4096, 4096)
    assert (heavy.gpu, heavy.host) == ((4 + 3 + 2 * 2 + 2) * 4096, 4096)


@pytest.mark.parametrize(("push", "fetch"), [(1, 10**15), (10**15 - 1, 10**15), (10**15, 1)])
def test_windows_of_any_length_are_told_at_once(push: int, fetch: int) -> None:
    """A list of all moments would not fit into memory."""
    told = staleness(job({"name": "downpour", "n_push": push, "n_fetch": fetch}, workers=4))
    assert 0 <= told.mean <= 4 * 10**15
