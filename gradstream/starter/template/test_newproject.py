"""Tests without a platform: the job file is valid, and the model learns. Run `pytest`."""

from pathlib import Path
from statistics import mean

from gradstream import jobfile, local_run, sim
from gradstream.sim.workload import Workloads
from gradstream.workload_source import check_workload, read_folder

HERE = Path(__file__).parent
JOB = HERE / "job.yaml"
SHORT = "stop={steps: 200}"  # mini-batches of each worker; fewer for a slow model


def test_the_job_file_is_valid_and_fits_the_workload() -> None:
    found = check_workload(read_folder(HERE, whole=True), jobfile.load(JOB))
    assert not found.errors
    assert not found.warnings


def test_the_loss_falls_in_one_process() -> None:
    """Plain PyTorch, as `gradstream run --local`. If this fails, look at the workload and the learning rate."""
    [untrained] = local_run.train(jobfile.load(JOB, ["stop={steps: 1}"]), HERE)
    *_, trained = local_run.train(jobfile.load(JOB, [SHORT]), HERE)
    assert trained.loss < 0.9 * untrained.loss


def test_the_loss_falls_with_the_strategy_of_the_job() -> None:
    """The job's workers and servers in the simulator. If only this fails, look at the strategy's settings."""
    spec = jobfile.load(JOB, [SHORT])
    result = sim.run(spec, Workloads(spec, HERE))
    for losses in result.losses.values():  # one list for each worker, one loss for each of its mini-batches
        assert mean(losses[-20:]) < 0.9 * losses[0]
