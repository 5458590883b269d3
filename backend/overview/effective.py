"""The values that a job runs with, to compare jobs by. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradstream.spec import JobSpec


def effective_values(spec: JobSpec, argument_defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the job file with each value that applies, and without those that mean nothing to this job.

    Two jobs that do the same have the same values, however their job files say it."""
    strategy = spec.strategy.for_workers(spec.roles.worker.count)
    values = spec.model_copy(update={"strategy": strategy}).model_dump(mode="json", exclude_none=True)
    values["workload"]["args"] = {**argument_defaults, **spec.workload.args}
    values["gate"] = spec.effective_gate.settings
    values["on_worker_loss"] = spec.effective_on_worker_loss
    if spec.best:
        values["best"]["mode"] = "min" if spec.best.falls else "max"
    _fill_optimizers(values, spec)
    for label in ("tags", "note"):
        values.pop(label)
    return values


def _fill_optimizers(values: dict[str, Any], spec: JobSpec) -> None:
    """Each side's optimizer, if that side steps by one, and one rate where `optimizer.lr` stands in for the strategy's."""
    strategy, server = spec.strategy, values["roles"]["server"]
    if strategy.descends == "worker" and "server" in strategy.optimizers:
        server["optimizer"] = {"lr": 1.0, **spec.server_optimizer.model_dump(mode="json", exclude_none=True)}
    if not strategy.optimizers:
        del values["optimizer"]
    elif strategy.uses_lr_beside_optimizer:
        values["optimizer"].setdefault("lr", strategy.lr)
    elif spec.optimizer.lr is not None:
        values["strategy"]["lr"] = values["optimizer"].pop("lr")
