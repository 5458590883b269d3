"""Update samples of a whole job: each push is measured once, with the staleness that the servers reported for it."""

from __future__ import annotations

from collections import Counter

from gradstream.api.model.updates import UpdateHistograms
from tests.platforms import Lab


def total(found: UpdateHistograms) -> int:
    return sum(group.count for group in found.groups)


def test_samples_of_two_workers_have_the_staleness_of_the_ledger_and_are_served(lab: Lab) -> None:
    job = lab.submit("sampled", strategy={"name": "async", "lr": 0.01}, stop={"epochs": 2}, update_histograms={"every": 1})
    job = lab.ended(job)
    assert job.status == "succeeded", job.message
    stored = list(lab.client.update_samples(job.id))
    for rank in range(2):
        of_ledger = Counter(int(point.value) for point in lab.points(job, "train/staleness") if point.rank == rank)
        mine = [one.sample for one in stored if one.rank == rank]
        of_samples = Counter(one.staleness for one in mine)
        assert of_samples <= of_ledger
        assert (of_ledger - of_samples).total() <= 1, "a worker leaves without the response to its last push"
        assert [one.step for one in mine] == list(range(1, len(mine) + 1)), "one for each push"
    for one in stored:
        assert one.sample.pushes_gradient
        for layer in one.sample.update:
            assert sum(layer.counts) + layer.zeros + layer.not_finite == layer.elements

    found = lab.client.update_histograms(job.id)
    assert (found.every, found.ranks, found.count, found.used, found.lost, found.full) == (
        1,
        [0, 1],
        len(stored),
        len(stored),
        0,
        False,
    )
    elements = sum(layer.elements for layer in found.layers)
    for group in found.groups:
        members = [one for one in stored if group.low <= one.sample.staleness <= group.high]
        assert (group.count, group.elements) == (len(members), len(members) * elements)
        assert sum(group.counts) + group.zeros + group.not_finite == group.elements
    assert total(found) == len(stored)

    layer = found.layers[0]
    of_one = lab.client.update_histograms(job.id, layer.name, what="gradient", ranks=[1], by="samples")
    assert total(of_one) == len([one for one in stored if one.rank == 1])
    assert all(group.elements == group.count * layer.elements for group in of_one.groups)
