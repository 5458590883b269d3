"""The embedding tables of `run --local`."""

from __future__ import annotations

import pytest
import torch

from gradstream.errors import InvalidJob, InvalidWorkload
from gradstream.local_run import train
from gradstream.local_run.rows import LocalRows
from gradstream.sim.workload import Workloads
from tests.unit.sim.test_tables import FOLDER, KEPT, job
from tests.userland.planted_clicks import Clicks


def test_tables_shrink_at_the_intervals_of_the_job_with_its_clicks() -> None:
    spec = job("sync", workers=1, tables=KEPT)
    model = Clicks().model()
    rows = LocalRows(model, spec, Workloads(spec, FOLDER)._code, length=2000)
    batches = torch.utils.data.DataLoader(Clicks().dataset("train"), batch_size=32)
    for step, batch in enumerate(batches):
        rows.begin(batch)
        rows.use_clicks(batch)
        model(batch[0]).sum().backward()
        rows.step(32 * step, 32, 1.0)
        if step == 19:  # 640 samples
            break
    state = rows._optimizer.state_dict()["tables"]
    assert {name: table["time"] for name, table in state.items()} == {"wide": 2, "deep": 1}
    assert state["wide"]["events"][:, 1].sum() > 0
    assert rows._optimizer.summary()["wide"].evicted > 0


def test_a_shrink_by_epochs_needs_their_length() -> None:
    spec = job("sync", workers=1, tables=KEPT)
    with pytest.raises(
        InvalidWorkload, match=r"table .deep. shrinks by epochs, .* is not known; set data.length, or write its shrink"
    ):
        LocalRows(Clicks().model(), spec, Workloads(spec, FOLDER)._code, length=None)


def test_what_the_workload_observes_is_in_each_report() -> None:
    spec = job("sync", workers=1, args={"observes": True}, evaluate={"every": "500 samples"})
    reports = list(train(spec, FOLDER))
    assert len(reports) == 4
    assert all(report.observed["auc"] > 0.5 for report in reports)
    assert reports[-1].evaluation["log_loss"] == pytest.approx(reports[-1].evaluation["loss"], rel=1e-5)
    assert list(train(job("sync", workers=1, stop={"steps": 2}), FOLDER))[-1].observed == {}


def test_a_job_without_an_end_has_no_baseline() -> None:
    with pytest.raises(InvalidJob, match=r"write --set 'stop=\{steps: 1000\}'"):
        next(train(job("sync", stop={"never": True}), FOLDER))
