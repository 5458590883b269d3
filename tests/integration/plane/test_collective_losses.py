"""A job without servers over gloo that goes on when a worker is lost has the numbers of one with servers and the same losses."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tests.integration.plane.cluster import Cluster
from tests.integration.plane.test_collective import ALLOWED, Uneven, spec_of
from tests.integration.plane.test_serverless import CASES


@pytest.mark.few(4)
@pytest.mark.parametrize("workers", [3, 1])
@pytest.mark.parametrize("case", ALLOWED)
def test_an_undisturbed_job_has_the_bits_of_one_that_restarts(case: str, workers: int, cluster: Callable[..., Cluster]) -> None:
    expected = cluster(spec_of(CASES[case], workers), Uneven, gloo=True).run()
    attempt = cluster(spec_of(CASES[case] | {"on_worker_loss": "continue"}, workers), Uneven, gloo=True)
    assert torch.equal(attempt.run(), expected)
    for rank in range(workers):
        assert torch.equal(attempt.ports[rank].shard.center.theta, expected), "all workers hold the same bits"
