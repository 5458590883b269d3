"""The model of the best evaluation, kept in the job's store, and what the next evaluator has to know of the evaluations so far."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from torch import Tensor

from gradstream.errors import Unavailable
from gradstream.process.order import ProcessOrder
from gradstream.process.store import BEST, EVALUATIONS, Store
from gradstream.worker.header import describe_model
from gradstream.worker.judge import BestEvaluation, JudgeState

log = logging.getLogger(__name__)


class BestModel:
    def __init__(self, store: Store, folder: Path, order: ProcessOrder) -> None:
        """`folder` holds each file until it is stored."""
        self._store, self._folder, self._order = store, folder, order
        self._unsaved: tuple[BestEvaluation, dict[str, Tensor]] | None = None
        """The API was away when it was to be stored."""

    def load(self) -> JudgeState | None:
        """What the evaluators before this one have left, also those of earlier attempts; None: nothing."""
        file = self._store.latest(EVALUATIONS, self._folder)
        return JudgeState.model_validate_json(file.read_text()) if file else None

    def keep(self, best: BestEvaluation, tensors: dict[str, Tensor]) -> None:
        """From now on this is the best one. It is stored with the next `note`."""
        self._unsaved = best, tensors

    def note(self, state: JudgeState) -> None:
        """Returns when all is stored, or the API was away for too long: then the next call tries again."""
        try:
            self._put_model()
            self._put(EVALUATIONS, lambda file: file.write_text(state.model_dump_json()))
        except Unavailable as error:
            log.error("the best model so far is not stored yet: %s", error)

    def finish(self) -> None:
        """Raises: Unavailable: the best model could not be stored."""
        self._put_model()

    def _put_model(self) -> None:
        if self._unsaved is None:
            return
        from safetensors.torch import save_file

        best, tensors = self._unsaved
        about = describe_model(self._order, best)
        self._put(BEST, lambda file: save_file(tensors, file, metadata=about))
        self._unsaved = None

    def _put(self, name: str, write: Callable[[Path], object]) -> None:
        file = self._folder / f"{name}.new"
        try:
            write(file)
            self._store.put(name, file)
        finally:
            file.unlink(missing_ok=True)
