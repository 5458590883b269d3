"""Lossy codecs over real Redis: the bits of the simulator, fewer bytes, and an evaluator that sees the center as it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from gradstream import sim
from gradstream.codecs import CODECS
from gradstream.sim.toys import Bowl, job
from gradstream.spec import JobSpec
from tests.integration.plane.cluster import Cluster

SIZE = 20_011
LOSSY = [name for name, cls in CODECS.items() if cls().lossy]


def bowl(spec: JobSpec, rank: int) -> Bowl:
    return Bowl(spec, rank, size=SIZE)


@pytest.mark.few(6)
@pytest.mark.parametrize("pull", ["raw", "bf16"])
@pytest.mark.parametrize("codec", LOSSY)
def test_the_bits_of_the_simulator(codec: str, pull: str, cluster: Callable[..., Cluster]) -> None:
    spec = job({"name": "sync", "lr": 0.1}, workers=3, shards=2, steps=7, codec={"name": codec}, pull_codec={"name": pull})
    assert torch.equal(cluster(spec, bowl).run(), sim.run(spec, bowl, align=4096).center)


@pytest.mark.parametrize("codec", ["bf16", "int8"])
def test_an_exchange_has_the_bits_of_the_simulator(codec: str, cluster: Callable[..., Cluster]) -> None:
    spec = job(
        {"name": "easgd", "lr": 0.1, "window": 2},
        workers=3,
        shards=2,
        steps=7,
        gate="bsp",
        codec={"name": codec},
        pull_codec={"name": "bf16"},
    )
    assert torch.equal(cluster(spec, bowl).run(), sim.run(spec, bowl, align=4096).center)
