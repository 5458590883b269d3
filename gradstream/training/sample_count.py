"""How many samples the center and this worker have trained: what the schedule of the learning rate goes by."""

from __future__ import annotations

from gradstream.training.problem import Problem


class SampleCount:
    def __init__(self, workers: int, problem: Problem) -> None:
        self._problem = problem
        self.workers = workers
        """Workers that take part, as of the last response."""
        self.center = 0
        """Samples that the center had seen, as of the last response."""
        self.unpushed = 0
        """Samples since this worker's last push."""
        self._posted = 0
        """Samples of pushes that are not answered yet."""
        self._last_batch = 0
        """Samples of the mini-batch taken last, along which a step is still to be made."""

    @property
    def run_length(self) -> tuple[int, int]:
        """Samples of all workers in an epoch (0: not known), and in the whole run."""
        return self._problem.epoch_samples or 0, self._problem.total_samples

    @property
    def seen(self) -> int:
        """Samples that theta was trained on: the center's as of the last response, and this worker's since then."""
        return self.center + self._posted + self.unpushed

    @property
    def before_last_batch(self) -> int:
        """Samples of all workers before the last mini-batch. It assumes that the others have trained as much as this worker since
        the last response."""
        return self.center + self.workers * (self._posted + self.unpushed - self._last_batch)

    def add_batch(self, samples: int) -> None:
        self.unpushed += samples
        self._last_batch = samples

    def post(self) -> int:
        """Count what is unpushed as posted, and return it."""
        samples, self.unpushed, self._last_batch = self.unpushed, 0, 0
        self._posted += samples
        return samples

    def answer(self, samples: int) -> None:
        """Note that a push of so many samples has its response, which counts them in `center`."""
        self._posted -= samples

    def note_center(self, samples: int, workers: int) -> None:
        """Note what a response says: the samples that the center has seen, and the workers that take part."""
        self.center, self.workers = samples, workers
