"""The model of the best evaluation, in the job's store, with the record of evaluations that the next evaluator resumes from."""

from __future__ import annotations

import logging
from pathlib import Path

from torch import Tensor

from gradstream.errors import Unavailable
from gradstream.evaluation.header import describe_model
from gradstream.evaluation.judge import BestEvaluation, JudgeState
from gradstream.process.order import ProcessOrder
from gradstream.process.saving.content import TextContent
from gradstream.process.saving.model_parts import files_of_model
from gradstream.process.store import BEST, EVALUATIONS, Store

log = logging.getLogger(__name__)


class BestModel:
    def __init__(self, store: Store, folder: Path, order: ProcessOrder) -> None:
        """`folder` gets copies of stored files."""
        self._store, self._folder, self._order = store, folder, order
        self._unsaved: tuple[BestEvaluation, dict[str, Tensor]] | None = None
        """The best model while it is not stored yet, for example since the API is away."""

    def load(self) -> JudgeState | None:
        """Return the state that earlier evaluators have stored, also in earlier attempts; None: there is none."""
        file = self._store.latest(EVALUATIONS, self._folder)
        return JudgeState.model_validate_json(file.read_text()) if file else None

    def keep(self, best: BestEvaluation, tensors: dict[str, Tensor]) -> None:
        """Keep this model as the best one. The next `note` stores it."""
        self._unsaved = best, tensors

    def note(self, state: JudgeState) -> None:
        """Store the best model and the state. If the API is away for too long, the next call tries again."""
        try:
            self._put_model()
            self._store.put(EVALUATIONS, TextContent(state.model_dump_json()))
        except Unavailable as error:
            log.error("the best model so far is not stored yet: %s", error)

    def finish(self) -> None:
        """Store the best model if it is not stored yet. Raises: Unavailable: that failed."""
        self._put_model()

    def _put_model(self) -> None:
        if self._unsaved is None:
            return
        best, tensors = self._unsaved
        for name, content in files_of_model(BEST, tensors, describe_model(self._order, best)):
            self._store.put(name, content)
        self._unsaved = None
