"""`gradstream.submit` and `gradstream.train`: a job in one call, from a script or a notebook."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradstream.client import Client, Job
from gradstream.jobfile.source import JobSource, ResolvedJob, resolve_job

if TYPE_CHECKING:
    from torch import Tensor

    from gradstream.workload import Workload


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """The end of a training run on this machine."""

    status: str
    """succeeded, failed, or cancelled by Ctrl-C."""
    reason: str | None
    """Why it failed, as `gradstream train` says it."""
    evaluation: dict[str, float]
    """The last evaluation, by metric name."""
    model: Path | None
    """The trained parameters and buffers, as safetensors; of a large model, the index of its parts."""
    summary: dict[str, Any] = field(repr=False)
    """Samples, rates, staleness and costs, as `gradstream train --json` prints them."""

    def weights(self) -> dict[str, Tensor]:
        """The trained model for `load_state_dict`. Raises: FileNotFoundError: the run left no model."""
        from gradstream.model.weights.stored import TensorsOfModel

        if self.model is None:
            raise FileNotFoundError(f"the run left no model: it {self.status}{f', {self.reason}' if self.reason else ''}")
        return dict(TensorsOfModel(self.model))


def submit(
    job: JobSource,
    *,
    code: Path | str | None = None,
    workload: type[Workload] | None = None,
    overrides: list[str] | None = None,
    wait: bool = False,
) -> Job:
    """Submit a job to the platform that `Client()` finds, and return it; with `wait`, as it ended.

    `job` is a dict with the keys of a job file, a path, or a `JobSpec`. `Client.submit` says more, and what it raises.
    """
    with Client() as client:
        made = client.submit(job, code=code, workload=workload, overrides=overrides or ())
        return client.wait(made) if wait else made


def train(
    job: JobSource,
    *,
    code: Path | str | None = None,
    workload: type[Workload] | None = None,
    overrides: list[str] | None = None,
    into: Path | str | None = None,
) -> TrainingResult:
    """Train a job with all its processes on this machine, without a platform, and wait for its end.

    `into`: a new or empty folder for the model, checkpoints and logs; default: the next number in `<job name>.out`. Progress
    goes to stderr. Ctrl-C stops the workers and keeps the model so far.

    Raises: InvalidJob, InvalidWorkload, InvalidBundle before anything starts. Conflict: `into` is not empty.
    """
    from gradstream.local.training import runs
    from gradstream.local.training.trainer import Trainer

    found = resolve_job(job, code=code, workload=workload, overrides=overrides or ())
    folder = Path(into) if into is not None else runs.next_run(Path(f"{found.spec.name}.out"))
    with tempfile.TemporaryDirectory() as temporary:
        home = _code_folder(found, Path(temporary))
        try:
            with Trainer(found.spec, home, folder, talk=sys.stderr) as trainer:
                result = trainer.run()
        finally:
            if into is None:
                runs.drop_if_unused(folder)
    model = Path(result["model_path"]) if "model_path" in result else None
    return TrainingResult(result["status"], result.get("reason"), result.get("eval", {}), model, result)


def _code_folder(found: ResolvedJob, temporary: Path) -> Path:
    """The folder from which workers import: the user's own, unless a class without a module has to be added to it."""
    if found.class_text is not None or found.code is None:
        found.write_code(temporary)
        return temporary
    return found.code if found.code.is_dir() else found.code.parent
